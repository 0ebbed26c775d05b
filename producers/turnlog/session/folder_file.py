"""One session's file in a folder: read it as far as it was acknowledged, and add to it.

A write of several events that are all or nothing is announced by a note beside the file. The note
is durable before the first byte of the write, and goes after its last; while the file does not hold
the write whole, the note hides what there is of it. So a note that is not whole must go, after
those bytes, before anything else is written: it would hide that, too.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from turnlog.events.errors import BrokenLog, StoreFailed
from turnlog.events.header import Header
from turnlog.events.jsonl import Damage, FileHeader, FileRow, scan_jsonl
from turnlog.events.rows import Row

from .failpoints import reach
from .folder_io import read_record, remove, write_whole

__all__ = ["FileEnd", "FileRead", "Group", "SessionFile", "make_file"]


class FileEnd(msgspec.Struct):
    """Where a file's acknowledged part ends: in bytes, in events, and the digest up to there.

    `needs_line_end` tells that the last line is whole but lacks its 0x0A; `torn_bytes` counts what
    stands behind the end: a write that was never acknowledged.
    """

    size: int
    next_seq: int
    digest: Any
    needs_line_end: bool = False
    torn_bytes: int = 0

    @property
    def hash(self) -> bytes:
        """SHA-256 of the file's bytes up to here."""
        value: bytes = self.digest.digest()
        return value


class Group(msgspec.Struct, frozen=True):
    """The note of a write that is all or nothing: the bytes `[start, start + size)`, their digest.

    A stored format: docs/format.md. A key may be added with a default; nothing else may change.
    """

    start: int
    size: int
    sha256: str

    def limit(self, data: bytes) -> int:
        """How far the file's bytes count: up to the announced write where that is not whole."""
        if not (self.start > 0 < self.size and b"\n" in data[: self.start + 1]):
            return len(data)  # no write begins before the header's end: the note is damaged
        end = self.start + self.size
        if len(data) > end or sha256(data[self.start : end]).hexdigest() == self.sha256:
            # What was written behind it says that the write was acknowledged, or cut: damage to it
            # is for the reader to find.
            return len(data)
        return min(self.start, len(data))


FileRead = tuple[Header, tuple[Row, ...], FileEnd]
"""What a file holds up to the end of what was acknowledged."""


def make_file(path: Path, line: bytes) -> FileEnd:
    """Make a session's file with its header line, whole or not at all; durable."""
    write_whole(path, line)
    return FileEnd(len(line), 0, sha256(line))


class SessionFile:
    """An open session file whose lock the caller holds, and the place of its group note."""

    def __init__(self, name: str, handle: int, note: Path) -> None:
        self._name = name
        self._handle = handle
        self._note = note

    @property
    def changed_ms(self) -> int:
        """The time of the last write, epoch milliseconds."""
        return os.fstat(self._handle).st_mtime_ns // 1_000_000

    def read(self) -> FileRead:
        """Read up to the end of what was acknowledged; a shared lock is enough.

        A torn last line and a group that is not whole are left out, and counted as `torn_bytes`.

        Raises OSError, and BrokenLog for other damage.
        """
        os.lseek(self._handle, 0, os.SEEK_SET)
        with os.fdopen(self._handle, "rb", closefd=False) as file:
            data = file.read()
        reach("folder.read-data")
        group = self._group()
        limit = len(data) if group is None else group.limit(data)
        rows: list[Row] = []
        header: Header | None = None
        end = 0
        next_seq = 0
        for item in scan_jsonl([data[:limit]]):
            if isinstance(item, Damage):
                if item.torn_tail and header is not None:
                    break
                raise BrokenLog(
                    f"{self._name}: bytes {item.start} to {item.end} (exclusive): {item.reason}"
                )
            if isinstance(item, FileHeader):
                header = item.header
            elif isinstance(item, FileRow):
                rows.append(item.row)
                next_seq = item.row.first_seq + item.row.count
            end = item.end
        if header is None:
            raise BrokenLog(f"{self._name}: no header line")
        line_end = data.find(b"\n", end, limit)
        needs_line_end = line_end < 0
        size = end if needs_line_end else line_end + 1
        digest = sha256(data[:size])
        return (
            header,
            tuple(rows),
            FileEnd(size, next_seq, digest, needs_line_end, len(data) - size),
        )

    def sync(self) -> None:
        """Make what the file holds durable; a shared lock is enough. Raises OSError."""
        reach("folder.read-sync")
        try:
            os.fsync(self._handle)
        except OSError as error:
            if error.errno != errno.EROFS:  # there nothing waits to be written
                raise

    def settle(self, end: FileEnd) -> None:
        """Make the file what `read` gave of it, and that durable: what is torn goes, then a note.

        Raises OSError; a later call goes on.
        """
        reach("folder.settle")
        os.ftruncate(self._handle, end.size)
        os.fsync(self._handle)  # also where nothing was cut: a dead writer may not have come to it
        reach("folder.settle-cut")
        remove(self._note)
        reach("folder.settled")
        end.torn_bytes = 0

    def add(self, end: FileEnd, rows: Sequence[Row], *, grouped: bool) -> None:
        """Add rows at the end and make them durable; moves `end`.

        On an OSError the file is cut back to where it ended, now or by the next call, and `end`
        stays. Raises StoreFailed where the file is shorter than what was acknowledged.
        """
        size = os.fstat(self._handle).st_size
        if size < end.size:
            reason = f"{self._name} has {size} of {end.size} acknowledged bytes"
            raise StoreFailed(reason, end.next_seq)
        if size > end.size:
            self._cut_back(end)
        block = b"".join(row.text + b"\n" for row in rows)
        if end.needs_line_end:
            block = b"\n" + block
        if grouped:
            note = Group(end.size, len(block), sha256(block).hexdigest())
            reach("folder.note")
            self._put_note(note)
            reach("folder.noted")
        else:
            remove(self._note)
        try:
            self._write(end.size, block)
        except OSError:
            try:
                self._cut_back(end)
            except OSError:
                # The next call does what can't be done now; till then no reader may see it.
                with suppress(OSError):
                    self._put_note(Group(end.size, len(block), sha256=""))
            raise
        reach("folder.written")
        if grouped:
            with suppress(OSError):  # the note of a whole write hides nothing
                self._note.unlink(missing_ok=True)
        reach("folder.note-gone")
        end.digest.update(block)
        end.size += len(block)
        end.needs_line_end = False
        end.next_seq = rows[-1].first_seq + rows[-1].count

    def _write(self, start: int, block: bytes) -> None:
        os.lseek(self._handle, start, os.SEEK_SET)
        view = memoryview(block)
        while view:
            reach("folder.write")
            view = view[os.write(self._handle, view) :]
        reach("folder.sync")
        os.fsync(self._handle)

    def _cut_back(self, end: FileEnd) -> None:
        reach("folder.cut-back")
        os.ftruncate(self._handle, end.size)
        os.fsync(self._handle)
        reach("folder.cut")
        remove(self._note)
        reach("folder.cut-note-gone")

    def _put_note(self, note: Group) -> None:
        write_whole(self._note, msgspec.json.encode(note))

    def _group(self) -> Group | None:
        try:
            return read_record(self._note, Group)
        except msgspec.MsgspecError:
            return None
