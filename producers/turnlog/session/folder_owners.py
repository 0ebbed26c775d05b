"""Who may write a session's file: owner records, and a lock that tells live from dead.

Each store object holds an advisory lock on a file of its own while it lives; the system lets go of
it when the process ends, however it ends. An owner record names that writer and a fresh nonce for
each claim. A write checks its nonce under the file's lock, so a writer that was taken over is told
and writes nothing.
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import uuid
from pathlib import Path

import msgspec

from .folder_io import read_record, remove, unlock, write_whole
from .process_fork import tell_after_fork

__all__ = ["Owner", "Owners"]

_log = logging.getLogger(__name__)


class Owner(msgspec.Struct, frozen=True):
    """An owner record: which claim of which writer holds a session.

    A stored format: docs/format.md. A key may be added with a default; nothing else may change.
    """

    writer: str
    nonce: str
    host: str
    pid: int
    released: bool = False


class Owners:
    """The owner records of one folder, and this store object's sign of life."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: set[str] = set()
        self.writer = uuid.uuid4().hex
        for name in ("owners", "writers", "unborn", "groups"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "lock").touch()
        alive = os.open(self._writer_file(self.writer), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(alive, fcntl.LOCK_EX)
        self._alive: int | None = alive
        tell_after_fork(self)

    def owner(self, name: str) -> Owner | None:
        """The owner record of a file; None where there is none or it can't be read."""
        try:
            return read_record(self._folder / "owners" / name, Owner)
        except msgspec.MsgspecError:
            return None

    def claim(self, name: str) -> Owner:
        """Make this store object the owner; the caller holds the file's lock, if there is one."""
        owner = Owner(self.writer, uuid.uuid4().hex, socket.gethostname(), os.getpid())
        self._put(name, owner)
        self._held.add(owner.nonce)
        return owner

    def release(self, name: str, owner: Owner) -> None:
        """Note that the owner gave the file up, unless it was taken over; under the file's lock."""
        if self.owner(name) != owner:
            return
        try:
            self._put(name, msgspec.structs.replace(owner, released=True))
        except OSError:
            # A full disk has no room for a record, but room to remove one: then nobody owns it.
            remove(self._folder / "owners" / name)

    def let_go(self, owner: Owner) -> None:
        """Forget a claim: this store object won't write by it any more."""
        self._held.discard(owner.nonce)

    def is_alive(self, owner: Owner) -> bool:
        """Tell whether whoever made this claim may still write by it."""
        if owner.writer == self.writer:
            return owner.nonce in self._held
        try:
            handle = os.open(self._writer_file(owner.writer), os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            # Shared: two who ask at once must not take each other for the owner.
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            return False
        finally:
            os.close(handle)

    def close(self) -> None:
        """Give the sign of life up; once. Nothing in a forked child: it is the parent's."""
        if self._alive is None:
            return
        try:
            self._writer_file(self.writer).unlink(missing_ok=True)
        except OSError as error:
            _log.warning("the file of writer %s stays behind: %s", self.writer, error)
        finally:
            unlock(self._alive)
            self._alive = None

    def forked(self) -> None:
        """Hear, in a forked child, that it must not keep the parent's sign of life up."""
        if self._alive is not None:
            os.close(self._alive)
            self._alive = None

    def _put(self, name: str, owner: Owner) -> None:
        write_whole(self._folder / "owners" / name, msgspec.json.encode(owner))

    def _writer_file(self, writer: str) -> Path:
        return self._folder / "writers" / writer
