"""The bytes of a session's JSONL, of a plain file or a Zstandard one."""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .errors import FileUnreadable
from .frames import Frame, FrameDamage, decoded, is_zstandard, walk

__all__ = ["MAX_LISTED", "FileBlocks", "opened"]

MAX_LISTED = 1000
"""Damaged ranges that are listed at most; all are counted."""

_BLOCK_BYTES = 256 * 1024


class FileBlocks:
    """Blocks of JSONL, once through; raises FileUnreadable.

    `damage` grows with the frames that give none, of which the first are listed and all counted.
    `is_compressed` tells that ranges in the JSONL are not ranges in the file.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self.is_compressed = is_zstandard(file)
        self.damage: list[FrameDamage] = []
        self.damage_count = 0
        self._given: deque[tuple[int, Frame]] = deque()  # where each begins in the JSONL
        self._size = 0

    def __iter__(self) -> Iterator[bytes]:
        with _translated(self._path):
            if self.is_compressed:
                yield from self._frames()
                return
            self._file.seek(0)
            while block := self._file.read(_BLOCK_BYTES):
                yield block

    def frame_at(self, position: int) -> Frame | None:
        """The frame that a byte of the JSONL stands in, None for a plain file.

        What is before is forgotten: positions must not go back.
        """
        given = self._given
        while len(given) > 1 and given[1][0] <= position:
            given.popleft()
        return given[0][1] if given else None

    def _frames(self) -> Iterator[bytes]:
        for frame in walk(self._file):
            if isinstance(frame, FrameDamage):
                self.damage_count += 1
                if len(self.damage) < MAX_LISTED:
                    self.damage.append(frame)
                continue
            self._given.append((self._size, frame._replace(content=None)))
            for block in decoded(self._file, frame):
                self._size += len(block)
                yield block


@contextmanager
def opened(path: Path) -> Iterator[FileBlocks]:
    """Open a session's file. Raises FileUnreadable, as reading the blocks does."""
    with _translated(path):
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):  # to open a pipe would wait for whoever writes it
            raise FileUnreadable(path, "it is no regular file")
        file = path.open("rb")
    with file:
        with _translated(path):
            blocks = FileBlocks(path, file)
        yield blocks


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileUnreadable(path, error.strerror or str(error)) from error
    except ValueError as error:  # a name that no file can have
        raise FileUnreadable(path, str(error)) from error
