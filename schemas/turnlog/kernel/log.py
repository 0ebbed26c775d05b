"""A session's log in memory: packed rows, and events as lazy views."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from turnlog.events.event import Event
from turnlog.events.header import Header
from turnlog.events.rows import ChunkRun, Row

__all__ = ["Log", "RowLog"]


# A row is never cut, so a growing run ends before its row could fill a commit: after about 1,024
# members, or 128 Ki characters of text.
_RUN_ROOM = 128 * 1024
_MEMBER_COST = 128


class Log(msgspec.Struct, frozen=True):
    """A header and packed rows: one session as it stood at one moment; immutable.

    Views take a Log, also one that restore would refuse; `event` needs dense seqs.
    """

    header: Header
    rows: tuple[Row, ...]

    @property
    def next_seq(self) -> int:
        """The number of events, which is the seq of the next one where the log is dense."""
        return sum(row.count for row in self.rows)

    def events(self, start: int = 0, end: int | None = None) -> Iterator[Event]:
        """Give the events from `start` (inclusive) to `end` (exclusive), in order, as new views.

        Without bounds every row is read as it stands; with bounds the log must be dense.
        """
        if start == 0 and end is None:
            for row in self.rows:
                yield from row.events()
            return
        yield from events_between(self.rows, start, end)

    def __iter__(self) -> Iterator[Event]:
        """All events in seq order, as `events` gives them."""
        return self.events()

    def event(self, seq: int) -> Event | None:
        """The event of a dense log at a seq, found without a scan; None beyond the log."""
        return next(events_between(self.rows, seq, seq + 1), None)

    def prefix(self, end: int) -> Log:
        """The log of the events below `end` (exclusive), of a dense log."""
        whole = bisect_right(self.rows, end, key=_last_seq_exclusive)
        rows = RowLog(self.rows[:whole])
        for event in events_between(self.rows[whole:], 0, end):
            rows.append(event)
        return Log(self.header, rows.rows())


class RowLog:
    """A growing dense log as packed rows: append-only, runs of delta chunks packed as they come."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._rows = list(rows)
        self._run: ChunkRun | None = None
        self._room = 0
        last = self._rows[-1] if self._rows else None
        self._ended_seq = 0 if last is None else last.first_seq + last.count

    @property
    def next_seq(self) -> int:
        """The seq of the next event."""
        return self._ended_seq if self._run is None else self._run.next_seq

    def append(self, event: Event) -> None:
        """Add the next event; the caller has checked its seq."""
        run, chunk = self._run, event.chunk
        if run is not None:
            if chunk is not None and self._room > 0 and run.take(event):
                self._room -= len(chunk.text) + _MEMBER_COST
                return
            self.end_run()
        if chunk is not None:
            self._run = ChunkRun(chunk.run_key, event.seq, event.time_ms, chunk.text)
            self._room = _RUN_ROOM - len(chunk.text) - _MEMBER_COST
        else:
            self._rows.append(Row(event.text, event.seq))
            self._ended_seq = event.seq + 1

    def extend(self, events: Sequence[Event]) -> None:
        """Add the next events as a group of rows of its own; the caller has checked their seqs."""
        self.end_run()
        index = 0
        while index < len(events):
            self.append(events[index])
            index += 1
            if self._run is not None:
                index = self._run.take_from(events, index)
        self.end_run()

    def extend_rows(self, rows: Iterable[Row]) -> None:
        """Add rows that go on where the log ends; the caller has checked their seqs."""
        self.end_run()
        for row in rows:
            self._rows.append(row)
            self._ended_seq = row.first_seq + row.count

    def end_run(self) -> None:
        """End the open run: the next chunk starts a row of its own."""
        if self._run is not None:
            self._rows.extend(self._run.rows())
            self._ended_seq = self._run.next_seq
            self._run = None

    def rows(self, start: int = 0) -> tuple[Row, ...]:
        """The rows from the event at `start` on; a row that begins before it is split there."""
        open_rows = [] if self._run is None else self._run.rows()
        if start == 0:
            return (*self._rows, *open_rows)
        begin = bisect_right(self._rows, start, key=_last_seq_exclusive)
        rows = [*self._rows[begin:], *open_rows]
        if not rows or rows[0].first_seq >= start:
            return tuple(rows)
        tail = RowLog()
        tail._ended_seq = start
        for event in events_between(rows, start, None):
            tail.append(event)
        return tail.rows()

    def event(self, seq: int) -> Event | None:
        """The event at a seq, found without a scan; None beyond the log."""
        rows = self._rows
        if seq >= self._ended_seq:
            rows = [] if self._run is None else self._run.rows()
        return next(events_between(rows, seq, seq + 1), None)

    def log(self, header: Header) -> Log:
        """The log as it stands now."""
        return Log(header, self.rows())


def events_between(
    rows: list[Row] | tuple[Row, ...], start: int, end: int | None
) -> Iterator[Event]:
    """Give the events of dense rows from `start` (inclusive) to `end` (exclusive)."""
    begin = bisect_right(rows, start, key=_last_seq_exclusive)
    for index in range(begin, len(rows)):
        row = rows[index]
        if end is not None and row.first_seq >= end:
            return
        for event in row.events():
            if event.seq >= start and (end is None or event.seq < end):
                yield event


def _last_seq_exclusive(row: Row) -> int:
    return row.first_seq + row.count
