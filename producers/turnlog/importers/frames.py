"""Zstandard frames of a file: found by their structure, checked, and decoded in bounded memory.

The layout of frames and blocks is that of RFC 8878. Where a frame ends is read off its block
headers, so a frame whose content is damaged does not hide those behind it, and bytes inside a
payload that look like a frame are none.
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
_RAW, _RLE, _COMPRESSED = range(3)


class Frame(NamedTuple):
    """Bytes `[start, end)` of a file that are one frame; `number` counts from 1."""

    number: int
    start: int
    end: int


class FrameDamage(NamedTuple):
    """Bytes `[start, end)` of a file that are no whole frame.

    `torn_tail` tells that the file ends inside them: a write that was never acknowledged.
    """

    number: int
    start: int
    end: int
    reason: str
    torn_tail: bool = False


def is_zstandard(file: BinaryIO) -> bool:
    """Whether a file begins as a Zstandard frame does; reads from its start."""
    file.seek(0)
    begin = file.read(4)
    file.seek(0)
    return begin == _MAGIC or _is_skippable(begin)


def walk(file: BinaryIO) -> Iterator[Frame | FrameDamage]:
    """Find the frames of a seekable file, by their structure alone; skippable ones are left out."""
    file.seek(0, 2)
    size = file.tell()
    start = number = 0
    while start < size:
        file.seek(start)
        head = file.read(_HEADER_BYTES)
        if _is_skippable(head[:4]):
            end = start + 8 + int.from_bytes(head[4:8], "little")
            if len(head) < 8 or end > size:
                yield FrameDamage(number + 1, start, size, "a frame that was not finished", True)
                return
            start = end
            continue
        number += 1
        found = _measured(file, number, start, size, head)
        yield found
        if isinstance(found, FrameDamage):
            return
        start = found.end


def decoded(file: BinaryIO, frame: Frame) -> Iterator[bytes] | FrameDamage:
    """Give the content of a frame, or what is wrong with it; nothing of a damaged one is given.

    A large one is decoded twice, so that it never is in memory whole.
    """
    kept: list[bytes] | None = []
    size = 0
    try:
        for block in _blocks(file, frame):
            size += len(block)
            if kept is not None:
                kept.append(block)
                if size > _KEPT_BYTES:
                    kept = None
    except zstandard.ZstdError as error:
        return FrameDamage(frame.number, frame.start, frame.end, f"a damaged frame: {error}")
    return iter(kept) if kept is not None else _blocks(file, frame)


def _blocks(file: BinaryIO, frame: Frame) -> Iterator[bytes]:
    decoder = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES).decompressobj()
    position = frame.start
    while position < frame.end:
        file.seek(position)
        data = file.read(min(_READ_BYTES, frame.end - position))
        if not data:
            raise zstandard.ZstdError("the file became shorter")
        position += len(data)
        block = decoder.decompress(data)
        if block:
            yield block
    if not decoder.eof:
        raise zstandard.ZstdError("it does not end where its blocks do")


def _measured(
    file: BinaryIO, number: int, start: int, size: int, head: bytes
) -> Frame | FrameDamage:
    """Follow the blocks of a frame to its end."""
    torn = FrameDamage(number, start, size, "a frame that was not finished", torn_tail=True)
    if not head.startswith(_MAGIC):
        if _MAGIC.startswith(head[:4]):
            return torn
        return FrameDamage(number, start, size, "no frame begins here")
    try:
        position = start + zstandard.frame_header_size(head)
        has_checksum = zstandard.get_frame_parameters(head).has_checksum
    except zstandard.ZstdError as error:
        if len(head) < _HEADER_BYTES:
            return torn
        return FrameDamage(number, start, size, f"a damaged frame: {error}")
    while True:
        file.seek(position)
        block = file.read(3)
        if len(block) < 3:
            return torn
        header = int.from_bytes(block, "little")
        is_last, kind, length = header & 1, header >> 1 & 3, header >> 3
        if kind > _COMPRESSED:
            return FrameDamage(number, start, size, "a damaged frame: a block of no known kind")
        position += 3 + (1 if kind == _RLE else length)
        if position > size:
            return torn
        if is_last:
            break
    position += 4 if has_checksum else 0
    return torn if position > size else Frame(number, start, position)


def _is_skippable(begin: bytes) -> bool:
    return len(begin) == 4 and int.from_bytes(begin, "little") in _SKIPPABLE
