"""The bytes of a session's JSONL, of a plain file or a Zstandard one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .errors import FileUnreadable
from .frames import FrameDamage, decoded, is_zstandard, walk

__all__ = ["FileBlocks", "opened"]

_BLOCK_BYTES = 256 * 1024


class FileBlocks:
    """Blocks of JSONL, once through; `damage` grows with the frames that give none.

    `is_compressed` tells that ranges in the JSONL are not ranges in the file.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.is_compressed = is_zstandard(file)
        self.damage: list[FrameDamage] = []

    def __iter__(self) -> Iterator[bytes]:
        if self.is_compressed:
            yield from self._frames()
            return
        self._file.seek(0)
        while block := self._file.read(_BLOCK_BYTES):
            yield block

    def _frames(self) -> Iterator[bytes]:
        for frame in walk(self._file):
            content = frame if isinstance(frame, FrameDamage) else decoded(self._file, frame)
            if isinstance(content, FrameDamage):
                self.damage.append(content)
            else:
                yield from content


@contextmanager
def opened(path: Path) -> Iterator[FileBlocks]:
    """Open a session's file. Raises FileUnreadable, also while it is read."""
    try:
        with path.open("rb") as file:
            yield FileBlocks(file)
    except OSError as error:
        raise FileUnreadable(path, error.strerror or str(error)) from error
