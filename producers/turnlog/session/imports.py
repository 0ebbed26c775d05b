"""Import of a whole log: bit for bit, idempotent, conflicts named."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from turnlog.events.errors import (
    DataError,
    ImportConflict,
    OwnedElsewhere,
    SessionExists,
    StoreFailed,
    UnknownSession,
)
from turnlog.events.header import Header
from turnlog.events.jsontext import deep_equal
from turnlog.events.rows import Row

from .checked import CheckedLog, check_log, first_difference
from .ports import LogStore, LogWriter, Pending, SessionReader

__all__ = ["ImportResult", "import_log", "plan_import"]

_TIMEOUT_S = 60.0

_SEND_BYTES = 4 * 1024 * 1024
"""Bytes of rows that are handed to a writer at once; twice as many are on their way."""


class ImportResult(NamedTuple):
    """What an import did: events `[first_added, next_seq)` were added, maybe none.

    `created` tells whether the session was not there before; it may be one without events.
    """

    session_id: str
    first_added: int
    next_seq: int
    created: bool = False

    @property
    def added(self) -> int:
        """The number of events added."""
        return self.next_seq - self.first_added


def import_log(
    logs: LogStore, header: Any, rows: Iterable[Row], is_live: Callable[[str], bool]
) -> ImportResult:
    """Check a log, then store it, or add what a stored one lacks at its end; then release it.

    `is_live` tells whether a session is open in this very store, which holds it then. Rows that are
    read again each time, as `check_log` says, are never in memory whole; a stored log is.

    After any failure it may be called again: of what was stored it adds what is missing.

    Raises as `check_log`, ImportConflict naming the first difference, OwnedElsewhere (nothing is
    then changed), and as LogWriter's `send` and `wait`.
    """
    log = check_log(header, rows)
    try:
        writer = logs.create(log.header, None)
    except SessionExists:
        return _add_missing(logs, log, is_live)
    _write_from(writer, log, 0)
    return ImportResult(log.header.id, 0, log.next_seq, created=True)


def plan_import(reader: SessionReader, header: Any, rows: Iterable[Row]) -> ImportResult:
    """Say what `import_log` would do; nothing is changed. Raises as it does, and as `read`."""
    log = check_log(header, rows)
    id, end = log.header.id, log.next_seq
    try:
        stored = reader.read(id)
    except UnknownSession:
        return ImportResult(id, 0, end, created=True)
    _compare(log, stored.header, stored.rows)
    return ImportResult(id, min(stored.next_seq, end), end)


def _add_missing(logs: LogStore, log: CheckedLog, is_live: Callable[[str], bool]) -> ImportResult:
    id, end = log.header.id, log.next_seq
    stored = logs.read(id)
    _compare(log, stored.header, stored.rows)
    if stored.head.next_seq >= end:
        return ImportResult(id, end, end)
    if is_live(id):
        raise OwnedElsewhere(logs.writer, socket.gethostname(), None, here=True)
    claimed, writer = logs.claim(id, take_over=False)
    start = claimed.head.next_seq
    try:
        if start > stored.head.next_seq:  # whoever wrote meanwhile may have written something else
            _compare(log, claimed.header, claimed.rows)
    except BaseException:
        writer.release()
        raise
    if start < end:
        _write_from(writer, log, start)
    else:
        writer.release()
    return ImportResult(id, min(start, end), end)


def _write_from(writer: LogWriter, log: CheckedLog, start: int) -> None:
    """Write what is missing, two stretches at once at most, and release the session."""
    try:
        sent = start
        for rows in _stretches(log.rows(start)):
            before, sent = sent, rows[-1].first_seq + rows[-1].count
            writer.send(Pending(rows, ()), timeout_s=_TIMEOUT_S)
            writer.wait(before, timeout_s=_TIMEOUT_S)
        writer.wait(log.next_seq, timeout_s=_TIMEOUT_S)
    except (StoreFailed, DataError):
        writer.release()  # what was written is whole, so anyone may go on from what is there
        raise
    except BaseException:
        writer.abandon()
        raise
    writer.release()


def _stretches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    held: list[Row] = []
    size = 0
    for row in rows:
        if held and size + len(row.text) > _SEND_BYTES:
            yield held
            held, size = [], 0
        held.append(row)
        size += len(row.text)
    if held:
        yield held


def _compare(log: CheckedLog, header: Header, rows: Iterable[Row]) -> None:
    """Raise ImportConflict where a stored log differs, as far as both go."""
    _compare_headers(header, log.header)
    seq = first_difference(log.rows(), rows)
    if seq is not None:
        raise ImportConflict(log.header.id, seq)


def _compare_headers(stored: Header, imported: Header) -> None:
    # The JSONL form writes a depth of 0 where the header has none: the two say the same.
    one, other = stored.value, imported.value
    one.setdefault("delegationDepth", 0)
    other.setdefault("delegationDepth", 0)
    if not deep_equal(one, other):
        raise ImportConflict(stored.id, None)
