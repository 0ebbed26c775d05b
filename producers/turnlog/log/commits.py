"""Commits of a writer: how rows are cut into records, and how each hangs on the one before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from turnlog.events.body import (
    CONTENT_TYPE,
    ClaimBody,
    Fork,
    StoredBody,
    claim_body,
    open_body,
    release_body,
    rows_body,
)
from turnlog.events.chain import make_commit
from turnlog.events.commit import MAX_COMMIT_EVENTS, NO_HASH, Commit, Kind
from turnlog.events.head import Head
from turnlog.events.header import Header
from turnlog.events.rows import Row

__all__ = ["MAX_COMMIT_BYTES", "CommitMaker", "cut"]

MAX_COMMIT_BYTES = 768 * 1024
"""Bytes of rows in a commit at most, one event or group excepted."""


def cut(rows: Sequence[Row], groups: Iterable[tuple[int, int]]) -> Iterator[list[Row]]:
    """Cut rows into the rows of one commit each.

    At most 1,024 events and 768 KiB, but no cut inside a row, nor inside a group `[first, end)`.
    """
    inside = sorted(groups)
    commit: list[Row] = []
    size = events = group = 0
    for row in rows:
        while group < len(inside) and inside[group][1] <= row.first_seq:
            group += 1
        in_group = group < len(inside) and inside[group][0] < row.first_seq
        if (
            commit
            and not in_group
            and (size + len(row.text) > MAX_COMMIT_BYTES or events + row.count > MAX_COMMIT_EVENTS)
        ):
            yield commit
            commit, size, events = [], 0, 0
        commit.append(row)
        size += len(row.text)
        events += row.count
    if commit:
        yield commit


class CommitMaker:
    """Makes the commits of one session for one writer; pure: the nonce and the clock are given."""

    def __init__(
        self, namespace: str, session_id: str, writer: str, writer_info: Mapping[str, str]
    ) -> None:
        self._namespace = namespace
        self._session_id = session_id
        self._writer = writer
        self._writer_info = writer_info

    def open(self, header: Header, fork: Fork | None, nonce: bytes, now_ms: int) -> Commit:
        """The first commit of a session."""
        return self._mark(Kind.OPEN, open_body(header, fork), NO_HASH, 0, nonce, now_ms)

    def claim(self, head: Head, body: ClaimBody, nonce: bytes, now_ms: int) -> Commit:
        """A take-over, a seal or a resume on a head."""
        return self._mark(Kind.CLAIM, claim_body(body), head.hash, head.next_seq, nonce, now_ms)

    def release(self, head: Head, nonce: bytes, now_ms: int) -> Commit:
        """The owner's last commit on a head."""
        return self._mark(Kind.RELEASE, release_body(), head.hash, head.next_seq, nonce, now_ms)

    def events(self, prev_hash: bytes, rows: Sequence[Row]) -> Commit:
        """A commit of consecutive rows. Whose it is, the `open` or `claim` before it says."""
        return self._seal(
            Kind.EVENTS,
            rows_body(rows),
            prev_hash,
            rows[0].first_seq,
            sum(row.count for row in rows),
            rows[0].times_ms()[0],
            rows[-1].times_ms()[1],
            b"",
            "",
            {},
        )

    def _mark(
        self, kind: Kind, body: StoredBody, prev_hash: bytes, seq: int, nonce: bytes, now_ms: int
    ) -> Commit:
        return self._seal(
            kind, body, prev_hash, seq, 0, now_ms, now_ms, nonce, self._writer, self._writer_info
        )

    def _seal(
        self,
        kind: Kind,
        body: StoredBody,
        prev_hash: bytes,
        first_seq: int,
        event_count: int,
        first_time_ms: int,
        last_time_ms: int,
        nonce: bytes,
        writer: str,
        writer_info: Mapping[str, str],
    ) -> Commit:
        return make_commit(
            namespace=self._namespace,
            session_id=self._session_id,
            kind=kind,
            first_seq=first_seq,
            event_count=event_count,
            first_time_ms=first_time_ms,
            last_time_ms=last_time_ms,
            content_type=CONTENT_TYPE,
            content_encoding=body.encoding,
            writer=writer,
            writer_info=writer_info,
            nonce=nonce,
            prev_hash=prev_hash,
            body=body.data,
        )
