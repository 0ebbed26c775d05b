"""Files that several processes share: locks that follow a name, and changes that are whole."""

from __future__ import annotations

import fcntl
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from .failpoints import reach

__all__ = ["LockTimeout", "locked", "read_record", "remove", "sync_folder", "unlock", "write_whole"]

_RETRY_S = 0.005

_T = TypeVar("_T")


class LockTimeout(Exception):
    """Another process held a file's lock all the time that was given."""


@contextmanager
def locked(path: Path, timeout_s: float, *, shared: bool = False) -> Iterator[int]:
    """Hold the lock of the file that has this name now; gives its descriptor.

    Whoever replaces a file holds the old one's lock meanwhile, so one who waited for that lock
    begins again with the new file. All reading and writing goes through the descriptor.

    Raises LockTimeout, OSError.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        handle = os.open(path, os.O_RDONLY if shared else os.O_RDWR)
        try:
            reach("folder.locking")
            _lock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, deadline)
            if os.path.samestat(os.fstat(handle), path.stat()):
                yield handle
                return
        finally:
            unlock(handle)


def unlock(handle: int) -> None:
    """Let go of a file's lock and close it, also where a forked child has the descriptor, too."""
    try:
        fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


def write_whole(path: Path, data: bytes) -> None:
    """Write a small file so that it is there whole or as it was before, after any crash."""
    draft = path.with_name(f"{path.name[:200]}.{uuid.uuid4().hex}.new")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def read_record(path: Path, kind: type[_T]) -> _T | None:
    """Read a small JSON file; None where there is none.

    Raises OSError, and msgspec.MsgspecError for whatever else than such a record it holds.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except RecursionError:
        raise msgspec.DecodeError("JSON is nested too deeply") from None


def remove(path: Path) -> None:
    """Remove a file, if there is one; durable."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _lock(handle: int, kind: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise LockTimeout("another process holds the lock") from None
            time.sleep(_RETRY_S)
