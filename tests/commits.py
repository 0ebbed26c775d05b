"""Commits for tests: one with keyword defaults, a session's records in a row, and random ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import fastavro
from hypothesis import strategies as st

from turnlog.events import chain
from turnlog.events.avro import SCHEMAS, encode_commit
from turnlog.events.body import (
    CONTENT_TYPE,
    ClaimBody,
    ClaimReason,
    StoredBody,
    claim_body,
    open_body,
    release_body,
    rows_body,
)
from turnlog.events.commit import NO_HASH, NONCE_BYTES, Commit, Kind
from turnlog.events.gate import MAX_SAFE_INTEGER
from turnlog.events.head import Head
from turnlog.events.header import Header
from turnlog.events.rows import Row, event_row

__all__ = [
    "Record",
    "SessionLine",
    "commits",
    "forged",
    "make_commit",
    "plain_rows",
    "record_of",
]

Record = tuple[bytes | None, bytes | None]


def make_commit(kind: Kind = Kind.EVENTS, **fields: Any) -> Commit:
    """A sealed commit; `fields` replace what it has by default."""
    has_events = kind is Kind.EVENTS
    defaults: dict[str, Any] = {
        "namespace": "turnlog",
        "session_id": "s1",
        "first_seq": 0 if kind is Kind.OPEN else 7,
        "event_count": 2 if has_events else 0,
        "first_time_ms": 1_700_000_000_000,
        "last_time_ms": 1_700_000_000_000,
        "content_type": CONTENT_TYPE,
        "content_encoding": "identity",
        "writer": "w1",
        "prev_hash": NO_HASH if kind is Kind.OPEN else b"p" * 32,
        "body": b"[]" if has_events else b"{}",
        "nonce": b"" if has_events else b"n" * NONCE_BYTES,
    }
    return chain.make_commit(kind=kind, **(defaults | fields))


def record_of(commit: Commit) -> Record:
    """Key and value of the record that holds a commit."""
    return commit.session_id.encode(), encode_commit(commit)


def plain_rows(first_seq: int, count: int, *, time_ms: int = 1_000, text: str = "") -> list[Row]:
    """Rows of events without meaning, a millisecond apart."""
    return [
        event_row(
            {"type": "plan/mode", "seq": seq, "time": time_ms + seq - first_seq, "data": text}
        )
        for seq in range(first_seq, first_seq + count)
    ]


class SessionLine:
    """Writes the records of one session, each on the one before, as a single writer would."""

    def __init__(self, session_id: str = "s1", *, writer: str = "w1", **fields: Any) -> None:
        self.session_id = session_id
        self.writer = writer
        self._fields = fields
        self.head = Head(NO_HASH, 0, writer, False)
        self._nonces = 0

    def fork(self, writer: str) -> SessionLine:
        """Another writer that saw the same head."""
        other = SessionLine(self.session_id, writer=writer, **self._fields)
        other.head = self.head
        return other

    def open(self) -> Commit:
        """The record that begins the session."""
        return self._mark(Kind.OPEN, open_body(Header.new(self.session_id, 1)))

    def claim(self, reason: ClaimReason = ClaimReason.TAKE_OVER) -> Commit:
        """A claim by this writer."""
        body = claim_body(ClaimBody(reason, self.head.writer, self.head.released))
        return self._mark(Kind.CLAIM, body)

    def release(self) -> Commit:
        """The owner's last record."""
        return self._mark(Kind.RELEASE, release_body())

    def events(self, count: int = 1, *, text: str = "") -> Commit:
        """Events without meaning."""
        rows = plain_rows(self.head.next_seq, count, text=text)
        body = rows_body(rows)
        return self._next(
            make_commit(
                Kind.EVENTS,
                session_id=self.session_id,
                first_seq=self.head.next_seq,
                event_count=count,
                first_time_ms=1_000,
                last_time_ms=1_000 + count - 1,
                writer=self.writer,
                prev_hash=self.head.hash,
                content_encoding=body.encoding,
                body=body.data,
                **self._fields,
            )
        )

    def _mark(self, kind: Kind, body: StoredBody) -> Commit:
        self._nonces += 1
        nonce = f"{self.writer} {self._nonces}".encode()[:NONCE_BYTES].ljust(NONCE_BYTES, b".")
        return self._next(
            make_commit(
                kind,
                session_id=self.session_id,
                first_seq=self.head.next_seq,
                writer=self.writer,
                prev_hash=self.head.hash,
                content_encoding=body.encoding,
                body=body.data,
                nonce=nonce,
                **self._fields,
            )
        )

    def _next(self, commit: Commit) -> Commit:
        owner = self.writer if commit.kind in (Kind.OPEN, Kind.CLAIM) else self.head.writer
        self.head = Head(commit.hash, commit.next_seq, owner, commit.kind is Kind.RELEASE)
        return commit


# --- random commits, and values that no constructor would make -----------------------------------

_text = st.one_of(
    st.sampled_from(["", "a", "ß", "\0", "\U0001f600", "\ue000"]), st.text(max_size=8)
)
_times = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)


@st.composite
def commits(draw: st.DrawFn) -> Commit:
    """Any commit that fits the format, sealed; its body is any bytes."""
    kind = draw(st.sampled_from(list(Kind)))
    first_seq = draw(st.one_of(st.integers(0, 3), st.integers(0, MAX_SAFE_INTEGER)))
    first_time = draw(_times)
    most = MAX_SAFE_INTEGER + 1 - first_seq
    has_events = kind is Kind.EVENTS
    return make_commit(
        kind,
        namespace=draw(_text),
        session_id=draw(
            st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]), min_size=1).map(
                lambda text: text[:255]
            )
        ),
        first_seq=first_seq,
        event_count=draw(st.integers(1, most)) if has_events else 0,
        first_time_ms=first_time,
        last_time_ms=draw(_times) if has_events else first_time,
        content_type=draw(_text),
        content_encoding=draw(_text),
        writer=draw(_text),
        prev_hash=draw(st.binary(min_size=32, max_size=32)),
        body=draw(st.one_of(st.binary(max_size=40), st.just(b"x" * 300))),
        nonce=b"" if has_events else draw(st.binary(min_size=16, max_size=16)),
        key_id=draw(st.none() | _text),
        writer_info=draw(st.dictionaries(_text, _text, max_size=3)),
        actor=draw(st.none() | _text),
        traceparent=draw(st.none() | _text),
        ext=draw(st.dictionaries(_text, st.binary(max_size=5), max_size=3)),
    )


def forged(commit: Commit, **fields: Any) -> bytes:
    """The value of a commit with Avro fields put in past its constructor; the hash stays.

    Written by the codec library with the published schema, and so also a second opinion on ours.
    """
    ((fingerprint, text),) = SCHEMAS.items()
    schema = json.loads(text)
    names: Sequence[str] = [field["name"] for field in schema["fields"]]
    renamed = {"first_time": "first_time_ms", "last_time": "last_time_ms"}
    record = {name: getattr(commit, renamed.get(name, name)) for name in names}
    stream = BytesIO()
    stream.write(b"\xc3\x01" + fingerprint)
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), record | fields)
    return stream.getvalue()
