"""The folder LogStore: one JSONL file a session, written and fsynced."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from turnlog.events.errors import (
    BrokerUnavailable,
    DataError,
    OutcomeUnknown,
    OwnedElsewhere,
    SessionExists,
    StoreFailed,
    Superseded,
    UnknownSession,
)
from turnlog.events.head import Head
from turnlog.events.header import Header
from turnlog.events.jsonl import header_line

from .folder_file import FileEnd, add_rows, cut_torn, make_file, read_file
from .folder_names import SUFFIX, file_name
from .folder_owners import Owner, Owners, sync_folder, write_whole
from .ports import ForkOrigin, LogWriter, Pending, SessionInfo, StoredLog

__all__ = ["FolderLogStore"]

_log = logging.getLogger(__name__)

_LOCK_TIMEOUT_S = 30.0


class _Birth(msgspec.Struct, frozen=True):
    """A marker beside an unborn child's file: of which parent and boundary it is."""

    session_id: str
    boundary: int | None


class FolderLogStore:
    """Keeps one `.jsonl` file a session in a folder; bookkeeping lies in its `.turnlog` folder.

    Several processes of one machine may share the folder.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._private = self._path / ".turnlog"
        try:
            self._owners = Owners(self._private)
        except OSError as error:
            raise BrokerUnavailable(f"can't keep sessions in {self._path}: {error}") from error

    @property
    def writer(self) -> str:
        """The id of this store object."""
        return self._owners.writer

    @property
    def durable(self) -> bool:
        """Always: a file outlives its session object."""
        return True

    def create(self, header: Header, origin: ForkOrigin | None) -> LogWriter:
        """Make a file with a header, or go on with an unborn child. Raises SessionExists."""
        name = file_name(header.id)
        with self._locked(self._private / "lock"):
            birth = self._birth(name)
            if (self._path / name).exists() and (
                birth is None or origin is None or birth != _birth_of(origin)
            ):
                raise SessionExists(header.id)
            try:
                if origin is None:
                    (self._private / "unborn" / name).unlink(missing_ok=True)
                else:
                    # The marker comes first: a child is never shown before it is complete.
                    born = msgspec.json.encode(_birth_of(origin))
                    write_whole(self._private / "unborn" / name, born)
                end = make_file(self._path / name, header_line(header))
                owner = self._owners.claim(name)
            except OSError as error:
                raise StoreFailed(str(error), 0) from error
        return _FolderWriter(self, name, owner, end)

    def claim(self, id: str, *, take_over: bool) -> tuple[StoredLog, LogWriter]:
        """Hold a file for writing; cuts a write that was never acknowledged, and says so.

        Raises UnknownSession, OwnedElsewhere, BrokenLog.
        """
        name = file_name(id)
        self._check_born(id, name)
        with self._locked(self._path / name):
            owner = self._owners.owner(name)
            if (
                owner is not None
                and not owner.released
                and not take_over
                and self._owners.is_alive(owner)
            ):
                raise OwnedElsewhere(owner.writer, owner.host, self._last_time_ms(name))
            header, rows, end = read_file(self._path / name, self._group_path(name))
            try:
                if end.torn_bytes:
                    _log.warning(
                        "%s: cut %d bytes that were never acknowledged", name, end.torn_bytes
                    )
                    cut_torn(self._path / name, self._group_path(name), end)
                owner = self._owners.claim(name)
            except OSError as error:
                raise StoreFailed(str(error), end.next_seq) from error
        writer = _FolderWriter(self, name, owner, end)
        return StoredLog(header, rows, writer.head), writer

    def read(self, id: str) -> StoredLog:
        """Read a file up to the end of what was acknowledged. Raises UnknownSession, BrokenLog."""
        name = file_name(id)
        self._check_born(id, name)
        header, rows, end = read_file(self._path / name, self._group_path(name))
        return StoredLog(header, rows, self._head(name, end))

    def sessions(self) -> Iterator[SessionInfo]:
        """The born sessions by file name; a file that can't be read is logged and passed over."""
        for path in sorted(self._path.glob(f"*{SUFFIX}")):
            if self._birth(path.name) is not None:
                continue
            try:
                header, _, end = read_file(path, self._group_path(path.name))
            except (DataError, FileNotFoundError) as error:
                _log.warning("%s is not listed: %s", path.name, error)
                continue
            head = self._head(path.name, end)
            yield SessionInfo(header.id, header, head.next_seq, head.released)

    def close(self) -> None:
        """Give up this store object's sign of life."""
        self._owners.close()

    def add(
        self, name: str, owner: Owner, end: FileEnd, pending: Pending, timeout_s: float
    ) -> Head:
        """Add rows for a writer whose claim still stands; durable. Raises as LogWriter.write."""
        try:
            with self._owners.locked(self._path / name, timeout_s):
                self._check_claim(name, owner)
                group_path = self._group_path(name)
                add_rows(self._path / name, group_path, end, pending.rows, bool(pending.groups))
        except TimeoutError:
            raise OutcomeUnknown(end.next_seq) from None
        except OSError as error:
            raise StoreFailed(str(error), end.next_seq) from error
        return Head(end.hash, end.next_seq, owner.writer, False)

    def release(self, name: str, owner: Owner) -> None:
        """Note that the owner gave the session up, unless it was taken over."""
        with self._locked(self._path / name):
            if self._owners.owner(name) == owner:
                try:
                    self._owners.put(name, msgspec.structs.replace(owner, released=True))
                except OSError as error:
                    raise StoreFailed(str(error), 0) from error

    def born(self, name: str) -> None:
        """Show a child to readers."""
        (self._private / "unborn" / name).unlink(missing_ok=True)
        sync_folder(self._private / "unborn")

    @contextmanager
    def _locked(self, path: Path) -> Iterator[None]:
        try:
            with self._owners.locked(path, _LOCK_TIMEOUT_S):
                yield
        except TimeoutError as error:
            raise BrokerUnavailable(f"{path}: {error}") from None

    def _check_claim(self, name: str, owner: Owner) -> None:
        if self._owners.owner(name) != owner:
            _, _, end = read_file(self._path / name, self._group_path(name))
            raise Superseded(self._head(name, end), ())

    def _check_born(self, id: str, name: str) -> None:
        if not (self._path / name).exists() or self._birth(name) is not None:
            raise UnknownSession(id)

    def _birth(self, name: str) -> _Birth | None:
        try:
            data = (self._private / "unborn" / name).read_bytes()
        except FileNotFoundError:
            return None
        return msgspec.json.decode(data, type=_Birth)

    def _group_path(self, name: str) -> Path:
        return self._private / "groups" / name

    def _head(self, name: str, end: FileEnd) -> Head:
        owner = self._owners.owner(name)
        if owner is None:
            return Head(end.hash, end.next_seq, "", True)
        return Head(end.hash, end.next_seq, owner.writer, owner.released)

    def _last_time_ms(self, name: str) -> int:
        return (self._path / name).stat().st_mtime_ns // 1_000_000


class _FolderWriter:
    """Writes one file while its claim stands."""

    def __init__(self, store: FolderLogStore, name: str, owner: Owner, end: FileEnd) -> None:
        self._store = store
        self._name = name
        self._owner = owner
        self._end = end
        self._head = Head(end.hash, end.next_seq, owner.writer, False)

    @property
    def head(self) -> Head:
        """The last durable head."""
        return self._head

    def write(self, pending: Pending, *, timeout_s: float) -> Head:
        """Add rows and fsync. Raises Superseded, OutcomeUnknown, StoreFailed."""
        self._head = self._store.add(self._name, self._owner, self._end, pending, timeout_s)
        return self._head

    def born(self) -> None:
        """Show the child to readers."""
        self._store.born(self._name)

    def release(self) -> None:
        """Give the file up."""
        self._store.release(self._name, self._owner)

    def abandon(self) -> None:
        """Stop writing; the record stays this store object's until it ends."""


def _birth_of(origin: ForkOrigin) -> _Birth:
    return _Birth(origin.session_id, origin.boundary)
