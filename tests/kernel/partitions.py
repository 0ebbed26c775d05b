"""Records of a partition, written as writers would, for the tests of what reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from turnlog.events.avro import encode_commit
from turnlog.events.body import (
    CONTENT_TYPE,
    ClaimBody,
    ClaimReason,
    Fork,
    StoredBody,
    claim_body,
    open_body,
    release_body,
    rows_body,
)
from turnlog.events.chain import make_commit
from turnlog.events.commit import NO_HASH, NONCE_BYTES, Commit, Kind
from turnlog.events.header import Header
from turnlog.events.rows import Row
from turnlog.kernel.log import Log

__all__ = ["NAMESPACE", "Record", "SessionWriter", "record"]

NAMESPACE = "test"

Record = tuple[bytes | None, bytes | None]


def record(commit: Commit) -> Record:
    return commit.session_id.encode(), encode_commit(commit)


class SessionWriter:
    """Makes the commits of one session, each on the one before; `hash` may be set to fork off."""

    def __init__(self, session_id: str = "s", *, namespace: str = NAMESPACE) -> None:
        self.session_id = session_id
        self.namespace = namespace
        self.hash = NO_HASH
        self.next_seq = 0
        self._nonces = 0

    def open(
        self, body: StoredBody | None = None, *, fork: Fork | None = None, **header: Any
    ) -> Commit:
        """The `open`; its header is one of the session's id unless a body is given."""
        own = Header.new(self.session_id, 1, **header)
        return self._control(Kind.OPEN, body or open_body(own, fork))

    def claim(self, body: StoredBody | None = None) -> Commit:
        fact = ClaimBody(ClaimReason.TAKE_OVER, "w", False)
        return self._control(Kind.CLAIM, body or claim_body(fact))

    def release(self) -> Commit:
        return self._control(Kind.RELEASE, release_body())

    def events(self, rows: Iterable[Row], **fields: Any) -> Commit:
        """The commit of rows; `fields` stand in the place of what the envelope should say."""
        rows = list(rows)
        all_events = [event for row in rows for event in row.events()]
        body = rows_body(rows)
        sealed: dict[str, Any] = {
            "event_count": len(all_events),
            "first_time_ms": all_events[0].time_ms,
            "last_time_ms": all_events[-1].time_ms,
            "content_encoding": body.encoding,
            "body": body.data,
        }
        return self._seal(Kind.EVENTS, **(sealed | fields))

    def log(self, log: Log, per_commit: int = 3) -> list[Commit]:
        """The commits of a log's rows, `per_commit` rows each."""
        starts = range(0, len(log.rows), per_commit)
        return [self.events(log.rows[start : start + per_commit]) for start in starts]

    def _control(self, kind: Kind, body: StoredBody) -> Commit:
        self._nonces += 1
        return self._seal(
            kind,
            event_count=0,
            first_time_ms=1,
            last_time_ms=1,
            content_encoding=body.encoding,
            body=body.data,
            nonce=self._nonces.to_bytes(NONCE_BYTES, "big"),
        )

    def _seal(self, kind: Kind, **fields: Any) -> Commit:
        common: dict[str, Any] = {
            "namespace": self.namespace,
            "session_id": self.session_id,
            "kind": kind,
            "first_seq": self.next_seq,
            "content_type": CONTENT_TYPE,
            "writer": "w",
            "prev_hash": self.hash,
        }
        commit = make_commit(**(common | fields))
        self.hash, self.next_seq = commit.hash, commit.next_seq
        return commit
