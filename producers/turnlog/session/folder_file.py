"""One session's file in a folder: read it as far as it was acknowledged, and add to it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from turnlog.events.errors import BrokenLog
from turnlog.events.header import Header
from turnlog.events.jsonl import Damage, FileHeader, FileRow, scan_jsonl
from turnlog.events.rows import Row

from .folder_owners import sync_folder, write_whole

__all__ = ["FileEnd", "Group", "add_rows", "make_file", "read_file"]


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
    """A write of several events that are all or nothing: announced before, forgotten after it."""

    start: int
    size: int
    sha256: str


def read_file(path: Path, group_path: Path) -> tuple[Header, tuple[Row, ...], FileEnd]:
    """Read a session's file up to the end of what was acknowledged.

    A torn last line and a group that is not whole are left out, and counted as `torn_bytes`.

    Raises FileNotFoundError, and BrokenLog for other damage.
    """
    data = path.read_bytes()
    limit = _before_torn_group(data, group_path)
    rows: list[Row] = []
    header: Header | None = None
    end = 0
    next_seq = 0
    for item in scan_jsonl([data[:limit]]):
        if isinstance(item, Damage):
            if item.torn_tail and header is not None:
                break
            raise BrokenLog(
                f"{path.name}: bytes {item.start} to {item.end} (exclusive): {item.reason}"
            )
        if isinstance(item, FileHeader):
            header = item.header
        elif isinstance(item, FileRow):
            rows.append(item.row)
            next_seq = item.row.first_seq + item.row.count
        end = item.end
    if header is None:
        raise BrokenLog(f"{path.name}: no header line")
    line_end = data.find(b"\n", end, limit)
    needs_line_end = line_end < 0
    size = end if needs_line_end else line_end + 1
    digest = sha256(data[:size])
    return (
        header,
        tuple(rows),
        FileEnd(size, next_seq, digest, needs_line_end, len(data) - size),
    )


def make_file(path: Path, line: bytes) -> FileEnd:
    """Make a session's file with its header line, whole or not at all; durable."""
    write_whole(path, line)
    return FileEnd(len(line), 0, sha256(line))


def add_rows(
    path: Path, group_path: Path, end: FileEnd, rows: Sequence[Row], grouped: bool
) -> None:
    """Add rows at the end and make them durable; moves `end`.

    On an OSError the file is cut back to where it ended, and `end` stays.
    """
    block = b"".join(row.text + b"\n" for row in rows)
    if end.needs_line_end:
        block = b"\n" + block
    if grouped:
        note = Group(end.size, len(block), sha256(block).hexdigest())
        write_whole(group_path, msgspec.json.encode(note))
    with path.open("r+b", buffering=0) as file:
        try:
            file.seek(end.size)
            view = memoryview(block)
            while view:
                view = view[file.write(view) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(end.size)
            raise
    if grouped:
        group_path.unlink(missing_ok=True)
    end.digest.update(block)
    end.size += len(block)
    end.needs_line_end = False
    end.next_seq = rows[-1].first_seq + rows[-1].count


def cut_torn(path: Path, group_path: Path, end: FileEnd) -> None:
    """Cut off what was never acknowledged; durable."""
    with path.open("r+b") as file:
        file.truncate(end.size)
        os.fsync(file.fileno())
    group_path.unlink(missing_ok=True)
    sync_folder(path.parent)
    end.torn_bytes = 0


def _before_torn_group(data: bytes, group_path: Path) -> int:
    """The length of the data, or the start of an announced group that is not whole in it."""
    try:
        group = msgspec.json.decode(group_path.read_bytes(), type=Group)
    except (FileNotFoundError, msgspec.MsgspecError):
        return len(data)
    block = data[group.start : group.start + group.size]
    if len(block) == group.size and sha256(block).hexdigest() == group.sha256:
        return len(data)
    return min(group.start, len(data))
