"""The recovering reading of a session's file: every whole record, and all that is wrong."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from turnlog.events.errors import RestoreRefused
from turnlog.events.header import Header
from turnlog.events.jsonl import Damage, FileHeader, FileRow, scan_jsonl
from turnlog.events.rows import Row
from turnlog.kernel.restore import RestoreFold

from .file_blocks import MAX_LISTED, FileBlocks, opened
from .frames import Frame, FrameDamage
from .strict import frame_text, item_text, place_text

__all__ = [
    "MAX_LISTED",
    "Candidate",
    "DamagedRange",
    "Double",
    "Gap",
    "Recovered",
    "prefix",
    "records",
    "recover",
]

T = TypeVar("T")


class DamagedRange(NamedTuple):
    """Bytes `[start, end)` of the JSONL that are no whole record, and the frame they begin in."""

    start: int
    end: int
    line: int
    reason: str
    torn_tail: bool
    frame: Frame | None


class Candidate(NamedTuple):
    """A row that says what the events `[first_seq, end_seq)` are, and where it stands.

    `frame` is the number of the Zstandard frame that it begins in, 0 in a plain file.
    """

    first_seq: int
    end_seq: int
    line: int
    start: int
    end: int
    frame: int


class Double(NamedTuple):
    """Two rows that both have the events `[first_seq, end_seq)`; both are kept."""

    first_seq: int
    end_seq: int
    earlier: Candidate
    later: Candidate


class Gap(NamedTuple):
    """Events `[first_seq, end_seq)` that no row before this place has."""

    first_seq: int
    end_seq: int
    line: int


class Recovered(NamedTuple):
    """What a file holds. Byte ranges are of its JSONL, those of `frames` of the file itself.

    `stop` says where the strict reading stops and why, None where it does not. `sound_rows` are the
    first rows that are sound, `sound_events` the events in them. At most MAX_LISTED of each kind of
    finding are listed; the counts are of all.
    """

    path: Path
    header: Header | None
    row_count: int
    event_count: int
    damage: tuple[DamagedRange, ...]
    damage_count: int
    frames: tuple[FrameDamage, ...]
    frame_count: int
    doubles: tuple[Double, ...]
    double_count: int
    gaps: tuple[Gap, ...]
    gap_count: int
    stop: str | None
    sound_rows: int
    sound_events: int
    is_compressed: bool


def recover(path: Path) -> Recovered:
    """Read a whole file, whatever it holds; memory follows the number of rows, 56 bytes each.

    Raises FileUnreadable.
    """
    reading = _Reading()
    with opened(path) as blocks:
        for item in scan_jsonl(blocks):
            if blocks.damage:
                reading.stop(frame_text(blocks.damage[0]))
            frame = blocks.frame_at(item.start)
            if isinstance(item, FileRow):
                reading.row(item, frame)
            elif isinstance(item, FileHeader) and reading.header is None:
                reading.header = item.header
            else:
                reading.other(item, frame)
        if blocks.damage:
            reading.stop(frame_text(blocks.damage[0]))
        return reading.result(path, blocks)


def records(path: Path) -> Iterator[FileRow]:
    """Give every whole record of a file with its bytes, in file order. Raises FileUnreadable."""
    with opened(path) as blocks:
        for item in scan_jsonl(blocks):
            if isinstance(item, FileRow):
                yield item


def prefix(recovered: Recovered) -> Iterable[Row]:
    """Give the sound rows at the beginning of a file, read anew each time they are asked for.

    Raises FileUnreadable while they are read.
    """
    return _Prefix(recovered)


class _Prefix:
    def __init__(self, recovered: Recovered) -> None:
        self._path = recovered.path
        self._count = recovered.sound_rows

    def __iter__(self) -> Iterator[Row]:
        for record in islice(records(self._path), self._count):
            yield record.row


class _Listed(Generic[T]):
    """The first of many things, and how many there were."""

    def __init__(self) -> None:
        self.first: list[T] = []
        self.count = 0

    def add(self, thing: T) -> None:
        self.count += 1
        if len(self.first) < MAX_LISTED:
            self.first.append(thing)


class _Reading:
    """A file, item by item; of each row that went on where the log ended its place is kept."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.count = 0
        self._damage: _Listed[DamagedRange] = _Listed()
        self._events = 0
        self._doubles: _Listed[Double] = _Listed()
        self._gaps: _Listed[Gap] = _Listed()
        self._stop: str | None = None
        self._fold = RestoreFold()
        self._sound_rows = 0
        self._end_seq = 0
        self._places = [array("q") for _ in Candidate._fields]
        self._keys = array("q")  # ascending: no row from an index on begins below its key

    def stop(self, reason: str) -> None:
        """Say where the strict reading stops, the first time."""
        if self._stop is None:
            self._stop = reason

    def other(self, item: FileHeader | Damage, frame: Frame | None) -> None:
        """Take what is neither a row nor the first header."""
        at = f"row {self.count}, " if self.count or self.header is not None else ""
        self.stop(at + item_text(item, frame))
        if isinstance(item, Damage):
            start, end, line = item.start, item.end, item.line
            self._damage.add(DamagedRange(start, end, line, item.reason, item.torn_tail, frame))

    def row(self, found: FileRow, frame: Frame | None) -> None:
        """Take the next row."""
        row = found.row
        if self._stop is None:
            try:
                self._fold.fold(row)
                self._sound_rows += 1
            except RestoreRefused as error:
                where = place_text(found.start, found.end, found.line, frame)
                self.stop(f"row {self.count}, {where}: {error.reason}")
        self.count += 1
        self._events += row.count
        number = 0 if frame is None else frame.number
        end_seq = row.first_seq + row.count
        self._place(Candidate(row.first_seq, end_seq, found.line, found.start, found.end, number))

    def result(self, path: Path, blocks: FileBlocks) -> Recovered:
        """What was found."""
        return Recovered(
            path,
            self.header,
            self.count,
            self._events,
            tuple(self._damage.first),
            self._damage.count,
            tuple(blocks.damage),
            blocks.damage_count,
            tuple(self._doubles.first),
            self._doubles.count,
            tuple(self._gaps.first),
            self._gaps.count,
            self._stop,
            self._sound_rows,
            self._fold.state.next_seq,
            blocks.is_compressed,
        )

    def _place(self, new: Candidate) -> None:
        """Look where a row stands among those before it."""
        if new.first_seq > self._end_seq:
            self._gaps.add(Gap(self._end_seq, new.first_seq, new.line))
        elif new.first_seq < self._end_seq:
            for old in self._overlapped(new):
                first, end = max(old.first_seq, new.first_seq), min(old.end_seq, new.end_seq)
                self._doubles.add(Double(first, end, old, new))
        if new.end_seq > self._end_seq:
            self._end_seq = new.end_seq
            last_key = self._keys[-1] if self._keys else 0
            self._keys.append(max(last_key, new.first_seq))
            for column, value in zip(self._places, new, strict=True):
                column.append(value)

    def _overlapped(self, new: Candidate) -> Iterator[Candidate]:
        """The kept rows that share an event with this one."""
        at = max(bisect_right(self._keys, new.first_seq) - 1, 0)
        while at < len(self._keys) and self._keys[at] < new.end_seq:
            old = Candidate(*(column[at] for column in self._places))
            if old.end_seq > new.first_seq:
                yield old
            at += 1
