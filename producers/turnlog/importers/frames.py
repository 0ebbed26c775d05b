"""Zstandard frames of a file: found by their structure, checked, and decoded in bounded memory.

The layout of frames and blocks is that of RFC 8878. Where a frame ends is read off its block
headers, so a frame whose content is damaged does not hide those behind it, and bytes inside a
payload that look like a frame are none. Where the headers are damaged themselves, the file is
searched for the next bytes that are a whole frame and pass its checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import zstandard

__all__ = ["Frame", "FrameDamage", "decoded", "is_zstandard", "walk"]

_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_HEADER_BYTES = 18  # of a frame at most
_READ_BYTES = 2 * 1024  # decodes to at most 64 MiB, however it is made
_KEPT_BYTES = 4 * 1024 * 1024
_MAX_WINDOW_BYTES = 128 * 1024 * 1024
_SEARCH_BYTES = 1024 * 1024
_MAX_TRIES = 1000  # bytes that look like a frame and are none, before the rest is given up
_RLE, _COMPRESSED = 1, 2


class Frame(NamedTuple):
    """Bytes `[start, end)` of a file that are one frame and passed its checks.

    `number` counts from 1. `content` is what a small one holds, None for a large one.
    """

    number: int
    start: int
    end: int
    content: tuple[bytes, ...] | None = None


class FrameDamage(NamedTuple):
    """Bytes `[start, end)` of a file that are no whole frame; `number` counts as that of a frame.

    `torn_tail` tells that the file ends inside them: a write that was never acknowledged.
    """

    number: int
    start: int
    end: int
    reason: str
    torn_tail: bool = False


class _Fault(NamedTuple):
    """Why a frame can't be followed to its end; `is_cut` tells that the file ends before."""

    reason: str
    is_cut: bool


_CUT = _Fault("a frame that was not finished", is_cut=True)


def is_zstandard(file: BinaryIO) -> bool:
    """Whether a file begins as a Zstandard frame does; reads from its start."""
    file.seek(0)
    begin = file.read(4)
    file.seek(0)
    return begin == _MAGIC or _is_skippable(begin)


def walk(file: BinaryIO) -> Iterator[Frame | FrameDamage]:
    """Find and check the frames of a seekable file; skippable ones are left out.

    Nothing of a damaged frame is given, for what of it is sound can't be told.
    """
    size = file.seek(0, 2)
    start = number = 0
    while start < size:
        skipped = _skipped(file, start, size)
        if skipped is not None:
            start = skipped
            continue
        number += 1
        end = _end_of(file, start, size)
        frame = _checked(file, number, start, end) if isinstance(end, int) else end
        if isinstance(frame, Frame):
            yield frame
            start = frame.end
            continue
        following = end if isinstance(end, int) and _may_follow(file, end, size) else None
        if following is None:
            following = _search(file, start + 1, size)
        torn = frame.is_cut and following == size
        reason = frame.reason if torn or not frame.is_cut else "a damaged frame: it has no end"
        yield FrameDamage(number, start, following, reason, torn)
        start = following


def decoded(file: BinaryIO, frame: Frame) -> Iterator[bytes]:
    """Give the content of a checked frame; a large one is decoded again, never in memory whole.

    Raises OSError where the file was changed meanwhile.
    """
    if frame.content is not None:
        yield from frame.content
        return
    try:
        yield from _blocks(file, frame.start, frame.end)
    except zstandard.ZstdError as error:
        raise OSError(f"the file changed while it was read: {error}") from error


def _checked(file: BinaryIO, number: int, start: int, end: int) -> Frame | _Fault:
    """Decode a frame to see whether it is sound, and keep what it holds if that is little."""
    kept: list[bytes] | None = []
    size = 0
    try:
        for block in _blocks(file, start, end):
            size += len(block)
            if size > _KEPT_BYTES:
                kept = None
            if kept is not None:
                kept.append(block)
    except zstandard.ZstdError as error:
        return _Fault(f"a damaged frame: {error}", is_cut=False)
    return Frame(number, start, end, None if kept is None else tuple(kept))


def _blocks(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    decoder = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES).decompressobj()
    position = start
    while position < end:
        file.seek(position)
        data = file.read(min(_READ_BYTES, end - position))
        if not data:
            raise zstandard.ZstdError("the file became shorter")
        position += len(data)
        block = decoder.decompress(data)
        if block:
            yield block
    if not decoder.eof:
        raise zstandard.ZstdError("it does not end where its blocks do")


def _end_of(file: BinaryIO, start: int, size: int) -> int | _Fault:
    """Follow the blocks of a frame to its end; the declared size of its content is not asked."""
    file.seek(start)
    head = file.read(_HEADER_BYTES)
    if not head.startswith(_MAGIC):
        is_cut = _MAGIC.startswith(head) or _is_skippable(head[:4])
        return _CUT if is_cut else _Fault("no frame begins here", is_cut=False)
    try:
        position = start + zstandard.frame_header_size(head)
        has_checksum = zstandard.get_frame_parameters(head).has_checksum
    except zstandard.ZstdError as error:
        is_cut = len(head) < _HEADER_BYTES
        return _CUT if is_cut else _Fault(f"a damaged frame: {error}", is_cut=False)
    while True:
        file.seek(position)
        block = file.read(3)
        if len(block) < 3:
            return _CUT
        header = int.from_bytes(block, "little")
        is_last, kind, length = header & 1, header >> 1 & 3, header >> 3
        if kind > _COMPRESSED:
            return _Fault("a damaged frame: a block of no known kind", is_cut=False)
        position += 3 + (1 if kind == _RLE else length)
        if position > size:
            return _CUT
        if is_last:
            break
    position += 4 if has_checksum else 0
    return _CUT if position > size else position


def _may_follow(file: BinaryIO, position: int, size: int) -> bool:
    """Whether the file ends here, or a frame begins or is cut here."""
    file.seek(position)
    begin = file.read(4)
    return position == size or _is_skippable(begin) or begin == _MAGIC[: len(begin)]


def _search(file: BinaryIO, start: int, size: int) -> int:
    """Find the next whole and sound frame; the file's end where there is none."""
    tries = 0
    while start < size and tries < _MAX_TRIES:
        file.seek(start)
        data = file.read(_SEARCH_BYTES)
        place = data.find(_MAGIC)
        while place >= 0 and tries < _MAX_TRIES:
            end = _end_of(file, start + place, size)
            if isinstance(end, int) and isinstance(_checked(file, 0, start + place, end), Frame):
                return start + place
            tries += 1
            place = data.find(_MAGIC, place + 1)
        start += max(len(data) - len(_MAGIC) + 1, 1)
    return size


def _skipped(file: BinaryIO, start: int, size: int) -> int | None:
    """Where the skippable frame ends that begins here; None where no whole one does."""
    file.seek(start)
    head = file.read(8)
    end = start + 8 + int.from_bytes(head[4:8], "little")
    return end if len(head) == 8 and _is_skippable(head[:4]) and end <= size else None


def _is_skippable(begin: bytes) -> bool:
    return len(begin) == 4 and int.from_bytes(begin, "little") in _SKIPPABLE
