"""Who may write a session's file: owner records, and a lock that tells live from dead.

Each store object holds an advisory lock on a file of its own while it lives; the system lets go of
it when the process ends, however it ends. An owner record names that writer and a fresh nonce for
each claim. A write checks its nonce under the file's lock, so a writer that was taken over is told
and writes nothing.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

__all__ = ["Owner", "Owners"]

_RETRY_S = 0.005


class Owner(msgspec.Struct, frozen=True):
    """An owner record: which claim of which writer holds a session."""

    writer: str
    nonce: str
    host: str
    pid: int
    released: bool = False


class Owners:
    """The owner records of one folder, and this store object's sign of life."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.writer = uuid.uuid4().hex
        for name in ("owners", "writers", "unborn", "groups"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "lock").touch()
        self._alive = os.open(self._writer_file(self.writer), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._alive, fcntl.LOCK_EX)

    @contextmanager
    def locked(self, path: Path, timeout_s: float) -> Iterator[None]:
        """Hold a file's lock, which every claim of it and every write to it takes for a moment.

        Raises TimeoutError when the time is up.
        """
        handle = os.open(path, os.O_RDWR)
        try:
            deadline = time.monotonic() + timeout_s
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise TimeoutError("another process holds the lock") from None
                    time.sleep(_RETRY_S)
            yield
        finally:
            os.close(handle)

    def owner(self, name: str) -> Owner | None:
        """The owner record of a file; None where there is none or it can't be read."""
        try:
            return msgspec.json.decode((self._folder / "owners" / name).read_bytes(), type=Owner)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def claim(self, name: str) -> Owner:
        """Make this store object the owner; the caller holds the file's lock."""
        owner = Owner(self.writer, uuid.uuid4().hex, socket.gethostname(), os.getpid())
        self.put(name, owner)
        return owner

    def put(self, name: str, owner: Owner) -> None:
        """Write an owner record, whole or not at all."""
        write_whole(self._folder / "owners" / name, msgspec.json.encode(owner))

    def is_alive(self, owner: Owner) -> bool:
        """Tell whether the owner's store object still lives."""
        if owner.writer == self.writer:
            return True
        try:
            handle = os.open(self._writer_file(owner.writer), os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            return False
        finally:
            os.close(handle)

    def close(self) -> None:
        """Give the sign of life up; once."""
        self._writer_file(self.writer).unlink(missing_ok=True)
        os.close(self._alive)

    def _writer_file(self, writer: str) -> Path:
        return self._folder / "writers" / writer


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


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
