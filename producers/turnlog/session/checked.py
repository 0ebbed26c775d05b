"""A whole log to be imported: checked before anything is written, then given row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from turnlog.events.errors import BadRow, BrokenLog, RestoreRefused, TooLarge
from turnlog.events.event import Event
from turnlog.events.header import Header, check_new_header
from turnlog.events.jsonl import MAX_LINE_BYTES
from turnlog.events.jsontext import deep_equal
from turnlog.events.rows import Row, expand, pack
from turnlog.kernel.restore import RestoreFold, restore

__all__ = ["CheckedLog", "check_log", "first_difference"]


class CheckedLog(Protocol):
    """A log of `next_seq` events that passed the checks of restore."""

    header: Header
    next_seq: int

    def rows(self, start: int = 0) -> Iterator[Row]:
        """Give the rows from the event at `start` on; a row that begins before it is split.

        Raises RestoreRefused where they are no longer what was checked.
        """
        ...


def check_log(header: Any, rows: Iterable[Row]) -> CheckedLog:
    """Check a log that is to be imported in full, before anything of it is written.

    Rows that can be iterated again and are no sequence, as those of a file, are not kept: they are
    read once now and once each time they are asked for.

    Raises RestoreRefused, BadSessionId, TooLarge for a header or a row that no reader of a file
    takes back, BadShape for a header that JSONL can't hold.
    """
    if isinstance(rows, (Iterator, Sequence)):
        return _Kept(header, rows)
    return _Streamed(header, rows)


def first_difference(ours: Iterable[Row], theirs: Iterable[Row]) -> int | None:
    """Give the first seq at which two logs differ, as far as both go; packed or not is the same."""
    one, other = iter(ours), iter(theirs)
    for mine, its in zip(one, other, strict=False):
        if mine.first_seq != its.first_seq or mine.text != its.text:
            break
    else:
        return None
    for event, stored in zip(_events_from(mine, one), _events_from(its, other), strict=False):
        if not deep_equal(event.to_json(), stored.to_json()):
            return event.seq
    return None


class _Kept:
    """Rows that are in memory, or can be read once only."""

    def __init__(self, header: Any, rows: Iterable[Row]) -> None:
        restored = restore(header, map(_sized, rows))
        self.header = check_new_header(restored.header)
        self.next_seq = restored.first_live_seq
        self._rows = restored.rows

    def rows(self, start: int = 0) -> Iterator[Row]:
        return iter(self._rows.rows(start))


class _Streamed:
    """Rows that are read again each time, and checked again: they may have changed meanwhile."""

    def __init__(self, header: Any, rows: Iterable[Row]) -> None:
        self.header = check_new_header(restore(header, ()).header)
        self._source = rows
        self.next_seq = 0
        for row in self._checked():
            self.next_seq = row.first_seq + row.count

    def rows(self, start: int = 0) -> Iterator[Row]:
        end = 0
        for row in self._checked():
            end = row.first_seq + row.count
            if end > self.next_seq:
                break
            if row.first_seq >= start:
                yield row
            elif end > start:
                yield from pack(event for event in row.events() if event.seq >= start)
        if end != self.next_seq:
            raise RestoreRefused(min(end, self.next_seq), "the log changed while it was imported")

    def _checked(self) -> Iterator[Row]:
        fold = RestoreFold()
        try:
            for row in self._source:
                fold.fold(_sized(row))
                yield row
        except (BadRow, BrokenLog) as error:  # by whoever reads the rows
            raise RestoreRefused(fold.state.next_seq, str(error)) from error


def _sized(row: Row) -> Row:
    if len(row.text) > MAX_LINE_BYTES:  # no reader of a file takes it back
        raise TooLarge(len(row.text), MAX_LINE_BYTES)
    return row


def _events_from(row: Row, more: Iterator[Row]) -> Iterator[Event]:
    yield from row.events()
    yield from expand(more)
