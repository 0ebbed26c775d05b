"""The folder LogStore: one JSONL file a session, written and fsynced."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from turnlog.events.errors import (
    BrokenLog,
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

from .failpoints import reach
from .folder_file import FileEnd, FileRead, SessionFile, make_file
from .folder_io import LockTimeout, locked, read_record, remove, write_whole
from .folder_names import SUFFIX, file_name
from .folder_owners import Owner, Owners
from .ports import ForkOrigin, LogWriter, Pending, SessionInfo, StoredLog

__all__ = ["FolderLogStore"]

_log = logging.getLogger(__name__)

_LOCK_TIMEOUT_S = 30.0


class _Birth(msgspec.Struct, frozen=True):
    """A marker beside an unborn child's file: of which parent and boundary it is.

    A stored format: docs/format.md. A key may be added with a default; nothing else may change.
    """

    session_id: str
    boundary: int | None


class FolderLogStore:
    """Keeps one `.jsonl` file a session in a folder; bookkeeping lies in its `.turnlog` folder.

    Several processes of one machine may share the folder. An answer of the file system that is no
    typed refusal is BrokerUnavailable where something was to be read or locked, and StoreFailed
    where something was to be written.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._private = self._path / ".turnlog"
        with _reading(str(self._path)):
            self._owners = Owners(self._private)

    @property
    def writer(self) -> str:
        """The id of this store object."""
        return self._owners.writer

    def new_id(self) -> str:
        """A random id."""
        return uuid.uuid4().hex

    @property
    def durable(self) -> bool:
        """Always: a file outlives its session object."""
        return True

    def create(self, header: Header, origin: ForkOrigin | None) -> LogWriter:
        """Make a file with a header, or begin an unborn child again. Raises SessionExists."""
        name = file_name(header.id)
        path = self._path / name
        with _reading(name), locked(self._private / "lock", _LOCK_TIMEOUT_S):
            if not path.exists():
                return self._make(name, header, origin)
            self._check_unborn(name, header.id, origin)
            with locked(path, _LOCK_TIMEOUT_S):
                # Another writer of the child may have finished it meanwhile.
                self._check_unborn(name, header.id, origin)
                return self._make(name, header, origin)

    def claim(self, id: str, *, take_over: bool) -> tuple[StoredLog, LogWriter]:
        """Hold a file for writing; cuts a write that was never acknowledged, and says so.

        Raises UnknownSession, OwnedElsewhere, BrokenLog.
        """
        name = file_name(id)
        with self._session_file(id) as file:
            owner = self._owners.owner(name)
            if (
                owner is not None
                and not owner.released
                and not take_over
                and self._owners.is_alive(owner)
            ):
                raise OwnedElsewhere(owner.writer, owner.host, file.changed_ms)
            header, rows, end = file.read()
            with _writing(end.next_seq):
                if end.torn_bytes:
                    _log.warning(
                        "%s: cut %d bytes that were never acknowledged", name, end.torn_bytes
                    )
                file.settle(end)
                writer = _FolderWriter(self, name, self._owners.claim(name), end)
        return StoredLog(header, rows, writer.head), writer

    def read(self, id: str) -> StoredLog:
        """Read a file up to the end of what is durable. Raises UnknownSession, BrokenLog.

        Waits for a write that is under way.
        """
        name = file_name(id)
        with self._session_file(id, shared=True) as file:
            header, rows, end = self._read_durable(name, file)
            return StoredLog(header, rows, self._head(name, end))

    def sessions(self) -> Iterator[SessionInfo]:
        """The born sessions by file name; a file that can't be read is logged and passed over."""
        for path in sorted(self._path.glob(f"*{SUFFIX}")):
            name = path.name
            try:
                with _reading(name), locked(path, _LOCK_TIMEOUT_S, shared=True) as handle:
                    if self._birth(name) is not None:
                        continue
                    header, _, end = self._read_durable(name, self._open_file(name, handle))
                    head = self._head(name, end)
            except (DataError, BrokerUnavailable) as error:
                _log.warning("%s is not listed: %s", name, error)
                continue
            yield SessionInfo(header.id, header, head.next_seq, head.released)

    def close(self) -> None:
        """Give up this store object's sign of life."""
        self._owners.close()

    def add(
        self, name: str, owner: Owner, end: FileEnd, pending: Pending, timeout_s: float
    ) -> Head:
        """Add rows for a writer whose claim still stands; durable. Raises as LogWriter.send."""
        try:
            with _writing(end.next_seq), locked(self._path / name, timeout_s) as handle:
                file = self._open_file(name, handle)
                self._check_claim(name, owner, end, file)
                file.add(end, pending.rows, grouped=bool(pending.groups))
        except LockTimeout:
            raise OutcomeUnknown(end.next_seq) from None
        return Head(end.hash, end.next_seq, owner.writer, False)

    def check(self, name: str, owner: Owner, end: FileEnd, timeout_s: float) -> None:
        """Check that a claim still stands. Raises Superseded, OutcomeUnknown, BrokerUnavailable."""
        with _reading(name):
            if self._owners.owner(name) == owner:
                return
            try:
                with locked(self._path / name, timeout_s, shared=True) as handle:
                    self._check_claim(name, owner, end, self._open_file(name, handle))
            except LockTimeout:
                raise OutcomeUnknown(end.next_seq) from None

    def release(self, name: str, owner: Owner) -> None:
        """Note that the owner gave the session up, unless it was taken over.

        Where that can't be noted it is logged: the session then is as after `let_go`.
        """
        try:
            with locked(self._path / name, _LOCK_TIMEOUT_S):
                reach("folder.release")
                self._owners.release(name, owner)
        except (OSError, LockTimeout) as error:
            _log.warning("%s stays held while this process lives: no release: %s", name, error)
        self._owners.let_go(owner)

    def let_go(self, owner: Owner) -> None:
        """Stop writing by a claim: others take it for alive, this store object does not."""
        self._owners.let_go(owner)

    def born(self, name: str, owner: Owner, end: FileEnd) -> None:
        """Show a child to readers, if the claim still stands. Raises Superseded."""
        with _reading(name), locked(self._path / name, _LOCK_TIMEOUT_S) as handle:
            self._check_claim(name, owner, end, self._open_file(name, handle))
            reach("folder.born")
            remove(self._marker(name))

    def _make(self, name: str, header: Header, origin: ForkOrigin | None) -> LogWriter:
        """Make a file that nobody else can take meanwhile; under its lock where there is one."""
        with _writing(0):
            # The claim comes first: a writer of the file that is replaced then writes no more.
            owner = self._owners.claim(name)
            try:
                reach("folder.make-claimed")
                # A note or marker of a file that was taken away would hide what is written now.
                remove(self._note(name))
                if origin is None:
                    remove(self._marker(name))
                else:
                    # Before the file: a child is never shown before it is complete.
                    write_whole(self._marker(name), msgspec.json.encode(_birth_of(origin)))
                reach("folder.make-marked")
                end = make_file(self._path / name, header_line(header))
                reach("folder.made")
            except BaseException:
                self._owners.let_go(owner)
                raise
        return _FolderWriter(self, name, owner, end)

    @contextmanager
    def _session_file(self, id: str, *, shared: bool = False) -> Iterator[SessionFile]:
        """The locked file of a born session. Raises UnknownSession, BrokerUnavailable."""
        name = file_name(id)
        with _reading(name), ExitStack() as stack:
            try:
                handle = stack.enter_context(
                    locked(self._path / name, _LOCK_TIMEOUT_S, shared=shared)
                )
            except FileNotFoundError:
                raise UnknownSession(id) from None
            if self._birth(name) is not None:
                raise UnknownSession(id)
            yield self._open_file(name, handle)

    def _read_durable(self, name: str, file: SessionFile) -> FileRead:
        """Read a locked file; what a writer that died left there is first made durable."""
        owner = self._owners.owner(name)
        try:
            # Whoever lives or released has come to the end of its last write, or cut it.
            is_settled = owner is not None and (owner.released or self._owners.is_alive(owner))
        except PermissionError:  # another user's sign of life
            is_settled = False
        if not is_settled:
            file.sync()
        return file.read()

    def _open_file(self, name: str, handle: int) -> SessionFile:
        return SessionFile(name, handle, self._note(name))

    def _check_claim(self, name: str, owner: Owner, end: FileEnd, file: SessionFile) -> None:
        if self._owners.owner(name) == owner:
            return
        try:
            _, _, end = file.read()
        except DataError as error:
            _log.warning("%s was taken over, and is broken: %s", name, error)
        raise Superseded(self._head(name, end), ())

    def _check_unborn(self, name: str, id: str, origin: ForkOrigin | None) -> None:
        birth = self._birth(name)
        if birth is None or origin is None or birth != _birth_of(origin):
            raise SessionExists(id)

    def _birth(self, name: str) -> _Birth | None:
        try:
            return read_record(self._marker(name), _Birth)
        except msgspec.MsgspecError as error:
            raise BrokenLog(f"{name}: its marker of an unborn child: {error}") from None

    def _marker(self, name: str) -> Path:
        return self._private / "unborn" / name

    def _note(self, name: str) -> Path:
        return self._private / "groups" / name

    def _head(self, name: str, end: FileEnd) -> Head:
        owner = self._owners.owner(name)
        if owner is None:
            return Head(end.hash, end.next_seq, "", True)
        return Head(end.hash, end.next_seq, owner.writer, owner.released)


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

    @property
    def sent_seq(self) -> int:
        """The end of the durable rows."""
        return self._head.next_seq

    def watch(
        self, durable: Callable[[Head], object], lost: Callable[[Superseded], object]
    ) -> None:
        """Nothing to tell: `send` does it all."""

    def send(self, pending: Pending, *, timeout_s: float) -> None:
        """Add rows and fsync. Raises Superseded, OutcomeUnknown, StoreFailed."""
        self._head = self._store.add(self._name, self._owner, self._end, pending, timeout_s)

    def wait(self, seq: int, *, timeout_s: float) -> Head:
        """The rows became durable in `send`. Raises Superseded, OutcomeUnknown."""
        self._store.check(self._name, self._owner, self._end, timeout_s)
        return self._head

    def born(self) -> None:
        """Show the child to readers. Raises Superseded."""
        self._store.born(self._name, self._owner, self._end)

    def release(self) -> None:
        """Give the file up."""
        self._store.release(self._name, self._owner)

    def abandon(self) -> None:
        """Stop writing; for others the record stays this store object's until it ends."""
        self._store.let_go(self._owner)


def _birth_of(origin: ForkOrigin) -> _Birth:
    return _Birth(origin.session_id, origin.boundary)


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Translate what the file system says to a reader or to one who asks for a lock."""
    try:
        yield
    except (OSError, LockTimeout) as error:
        raise BrokerUnavailable(f"can't use {what}: {error}") from error


@contextmanager
def _writing(first_seq: int) -> Iterator[None]:
    """Translate what the file system says to a writer."""
    try:
        yield
    except OSError as error:
        raise StoreFailed(str(error), first_seq) from error
