"""The strict reading of a session's file: whole and sound, or refused with row and bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlog.events.header import Header
from turnlog.events.jsonl import Damage, FileHeader, FileRow, Item, scan_jsonl
from turnlog.events.rows import Row

from .errors import FileRefused
from .file_blocks import FileBlocks, opened
from .frames import Frame, FrameDamage

__all__ = ["frame_text", "item_text", "open_strict", "place_text", "read_header"]


@contextmanager
def open_strict(path: Path) -> Iterator[tuple[Header, Iterator[Row]]]:
    """Read a file that must be whole: its header, and its rows as they are asked for.

    Whether the rows follow on each other, and are sound by the rules of restore, is not looked at.
    A block and a line are all that is in memory.

    Raises FileRefused at the first damage, here or from the rows, which give all before it;
    FileUnreadable.
    """
    with opened(path) as blocks:
        items = scan_jsonl(blocks)
        yield _header(path, blocks, next(items)), _rows(path, blocks, items)


def read_header(path: Path) -> Header:
    """Read the header of a file, and no more than that. Raises FileRefused, FileUnreadable."""
    with open_strict(path) as (header, _):
        return header


def place_text(start: int, end: int, line: int, frame: Frame | None) -> str:
    """Say where in a file bytes `[start, end)` of its JSONL stand."""
    where = f"line {line}, bytes {start} to {end} (exclusive)"
    if frame is None:
        return where
    return (
        f"{where} of the decoded JSONL, in frame {frame.number}, "
        f"bytes {frame.start} to {frame.end} of the file"
    )


def item_text(item: Item, frame: Frame | None) -> str:
    """Say where something of a file is that is no row, and what is wrong with it."""
    reason = item.reason if isinstance(item, Damage) else "a second header"
    return f"{place_text(item.start, item.end, item.line, frame)}: {reason}"


def frame_text(damage: FrameDamage) -> str:
    """Say which frame of a file is damaged, and how."""
    return (
        f"frame {damage.number}, bytes {damage.start} to {damage.end} (exclusive): {damage.reason}"
    )


def _header(path: Path, blocks: FileBlocks, first: Item) -> Header:
    _check_frames(path, blocks)
    if not isinstance(first, FileHeader):
        raise FileRefused(path, item_text(first, blocks.frame_at(first.start)))
    return first.header


def _rows(path: Path, blocks: FileBlocks, items: Iterator[Item]) -> Iterator[Row]:
    for number, item in enumerate(items):
        _check_frames(path, blocks)
        if not isinstance(item, FileRow):
            where = item_text(item, blocks.frame_at(item.start))
            raise FileRefused(path, f"row {number}, {where}")
        if blocks.is_compressed:
            blocks.frame_at(item.start)  # so that what is before is forgotten
        yield item.row
    _check_frames(path, blocks)


def _check_frames(path: Path, blocks: FileBlocks) -> None:
    if blocks.damage:
        raise FileRefused(path, frame_text(blocks.damage[0]))
