"""Import of a whole log: bit for bit, idempotent, conflicts named."""

from __future__ import annotations

import socket
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from turnlog.events.errors import (
    ImportConflict,
    OwnedElsewhere,
    SessionExists,
    StoreFailed,
    TooLarge,
)
from turnlog.events.header import Header, check_new_header
from turnlog.events.jsonl import MAX_LINE_BYTES
from turnlog.events.jsontext import deep_equal
from turnlog.events.rows import expand
from turnlog.kernel.restore import Restored

from .ports import LogStore, LogWriter, Pending

__all__ = ["ImportResult", "import_log"]

_TIMEOUT_S = 60.0


class ImportResult(NamedTuple):
    """What an import did: events `[first_added, next_seq)` were added, maybe none."""

    session_id: str
    first_added: int
    next_seq: int

    @property
    def added(self) -> int:
        """The number of events added."""
        return self.next_seq - self.first_added


def import_log(logs: LogStore, restored: Restored, is_live: Callable[[str], bool]) -> ImportResult:
    """Store a checked log, or add what a stored one lacks at its end; then release it.

    `is_live` tells whether a session is open in this very store, which holds it then.

    After any failure it may be called again: of what was stored it adds what is missing.

    Raises TooLarge for a header or a row that no reader would take back, BadShape for a header that
    JSONL can't hold, ImportConflict naming the first difference, OwnedElsewhere (nothing is then
    changed), and as LogWriter's `send` and `wait`.
    """
    header, end = check_new_header(restored.header), restored.first_live_seq
    for row in restored.rows.rows():
        if len(row.text) > MAX_LINE_BYTES:  # no reader of a file takes it back
            raise TooLarge(len(row.text), MAX_LINE_BYTES)
    try:
        writer = logs.create(header, None)
    except SessionExists:
        return _add_missing(logs, restored, is_live)
    _write_from(writer, restored, 0)
    return ImportResult(header.id, 0, end)


def _add_missing(
    logs: LogStore, restored: Restored, is_live: Callable[[str], bool]
) -> ImportResult:
    id, end = restored.header.id, restored.first_live_seq
    stored = logs.read(id)
    _compare_headers(stored.header, restored.header)
    ours, theirs = expand(restored.rows.rows()), expand(stored.rows)
    for mine, other in zip(ours, theirs, strict=False):
        if not deep_equal(mine.to_json(), other.to_json()):
            raise ImportConflict(id, mine.seq)
    if stored.head.next_seq >= end:
        return ImportResult(id, end, end)
    if is_live(id):
        raise OwnedElsewhere(logs.writer, socket.gethostname(), None, here=True)
    claimed, writer = logs.claim(id, take_over=False)
    start = claimed.head.next_seq
    try:
        # Whoever wrote between the read and the claim may have written something else.
        moved = islice(expand(claimed.rows), stored.head.next_seq, None)
        for other in moved:
            mine_now = restored.rows.event(other.seq)
            if mine_now is not None and not deep_equal(mine_now.to_json(), other.to_json()):
                raise ImportConflict(id, other.seq)
    except BaseException:
        writer.release()
        raise
    _write_from(writer, restored, start)
    return ImportResult(id, min(start, end), end)


def _write_from(writer: LogWriter, restored: Restored, start: int) -> None:
    try:
        rows = restored.rows.rows(start)
        if rows:
            writer.send(Pending(rows, ()), timeout_s=_TIMEOUT_S)
            writer.wait(restored.first_live_seq, timeout_s=_TIMEOUT_S)
    except StoreFailed:
        writer.release()  # it has taken nothing, so anyone may go on from what is there
        raise
    except BaseException:
        writer.abandon()
        raise
    writer.release()


def _compare_headers(stored: Header, imported: Header) -> None:
    # The JSONL form writes a depth of 0 where the header has none: the two say the same.
    one, other = stored.value, imported.value
    one.setdefault("delegationDepth", 0)
    other.setdefault("delegationDepth", 0)
    if not deep_equal(one, other):
        raise ImportConflict(stored.id, None)
