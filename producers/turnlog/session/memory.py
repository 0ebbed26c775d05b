"""The reference LogStore: logs in this process's memory, with the same rules as the real ones."""

from __future__ import annotations

import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from hashlib import sha256

from turnlog.events.errors import (
    OwnedElsewhere,
    SessionExists,
    Superseded,
    UnknownSession,
)
from turnlog.events.head import Head
from turnlog.events.header import Header
from turnlog.events.rows import Row

from .clock import clock_ms
from .ports import ForkOrigin, LogWriter, Pending, SessionInfo, StoredLog

__all__ = ["MemoryLogStore", "MemoryLogs"]


class _Entry:
    """One kept log, and who may write it."""

    def __init__(self, header: Header, origin: ForkOrigin | None, writer: str) -> None:
        self.host = socket.gethostname()
        self.begin(header, origin, writer)

    def begin(self, header: Header, origin: ForkOrigin | None, writer: str) -> None:
        """Be an empty log of this writer's."""
        self.header = header
        self.origin = origin
        self.rows: list[Row] = []
        self.last_time_ms = clock_ms()
        self.take(Head(sha256(header.text).digest(), 0, writer, False))

    def take(self, head: Head) -> None:
        """Have a new claim, which supersedes the writer of an older one; `head` names its owner."""
        self.head = head
        self.claim = object()
        self.is_written = True  # until the claim's writer stops

    @property
    def born(self) -> bool:
        return self.origin is None

    def is_unborn(self, origin: ForkOrigin | None) -> bool:
        """Whether this is the unborn child of the same parent and boundary."""
        mine = self.origin
        return mine is not None and origin is not None and mine[:2] == origin[:2]


class MemoryLogs:
    """The logs that several store objects of one process share; outlives each of them."""

    def __init__(self) -> None:
        self.entries: dict[str, _Entry] = {}
        self.lock = threading.RLock()


class MemoryLogStore:
    """A LogStore over MemoryLogs; without logs of its own to share it keeps nothing."""

    def __init__(self, logs: MemoryLogs | None = None) -> None:
        self._durable = logs is not None
        self._logs = logs or MemoryLogs()
        self._writer = uuid.uuid4().hex

    @property
    def writer(self) -> str:
        """The id of this store object."""
        return self._writer

    def new_id(self) -> str:
        """A random id."""
        return uuid.uuid4().hex

    @property
    def durable(self) -> bool:
        """Whether the logs outlive this store object."""
        return self._durable

    def create(self, header: Header, origin: ForkOrigin | None) -> LogWriter:
        """Make an empty log, or begin an unborn child again. Raises SessionExists."""
        with self._logs.lock:
            entry = self._logs.entries.get(header.id)
            if entry is None:
                entry = _Entry(header, origin, self._writer)
                self._logs.entries[header.id] = entry
            elif entry.is_unborn(origin):
                # The same entry, so that a writer that began it is told.
                entry.begin(header, origin, self._writer)
            else:
                raise SessionExists(header.id)
            return _MemoryWriter(self._logs, entry, forget=not self._durable)

    def claim(self, id: str, *, take_over: bool) -> tuple[StoredLog, LogWriter]:
        """Hold a kept log. Raises UnknownSession, OwnedElsewhere."""
        with self._logs.lock:
            entry = self._born(id)
            head = entry.head
            held = not head.released and (entry.is_written or head.writer != self._writer)
            if held and not take_over:
                raise OwnedElsewhere(head.writer, entry.host, entry.last_time_ms)
            entry.take(head._replace(writer=self._writer, released=False))
            stored = StoredLog(entry.header, tuple(entry.rows), entry.head)
            return stored, _MemoryWriter(self._logs, entry, forget=False)

    def read(self, id: str) -> StoredLog:
        """Read a kept log. Raises UnknownSession."""
        with self._logs.lock:
            entry = self._born(id)
            return StoredLog(entry.header, tuple(entry.rows), entry.head)

    def sessions(self) -> Iterator[SessionInfo]:
        """The born sessions, in the order of their creation."""
        with self._logs.lock:
            infos = [
                SessionInfo(id, entry.header, entry.head.next_seq, entry.head.released)
                for id, entry in self._logs.entries.items()
                if entry.born
            ]
        return iter(infos)

    def close(self) -> None:
        """Hold nothing any more."""

    def _born(self, id: str) -> _Entry:
        entry = self._logs.entries.get(id)
        if entry is None or not entry.born:
            raise UnknownSession(id)
        return entry


class _MemoryWriter:
    """Writes one kept log while its claim is the latest."""

    def __init__(self, logs: MemoryLogs, entry: _Entry, *, forget: bool) -> None:
        self._logs = logs
        self._entry = entry
        self._claim = entry.claim
        self._forget = forget
        self._head = entry.head

    @property
    def head(self) -> Head:
        """The last head of this claim."""
        return self._head

    @property
    def sent_seq(self) -> int:
        """The end of the kept rows."""
        return self._head.next_seq

    def watch(
        self, durable: Callable[[Head], object], lost: Callable[[Superseded], object]
    ) -> None:
        """Nothing to tell: `send` does it all."""

    def send(self, pending: Pending, *, timeout_s: float) -> None:
        """Add the rows. Raises Superseded."""
        with self._logs.lock:
            self._check_claim()
            entry = self._entry
            digest = sha256(entry.head.hash)
            for row in pending.rows:
                digest.update(row.text + b"\n")
            entry.rows.extend(pending.rows)
            last = pending.rows[-1]
            entry.last_time_ms = clock_ms()
            self._set_head(
                entry.head._replace(hash=digest.digest(), next_seq=last.first_seq + last.count)
            )

    def wait(self, seq: int, *, timeout_s: float) -> Head:
        """The rows were added by `send`. Raises Superseded."""
        with self._logs.lock:
            self._check_claim()
        return self._head

    def born(self) -> None:
        """Show the child to readers. Raises Superseded."""
        with self._logs.lock:
            self._check_claim()
            self._entry.origin = None

    def release(self) -> None:
        """Give the log up, unless it was taken over; a log that nobody keeps goes."""
        with self._logs.lock:
            if self._entry.claim is not self._claim:
                return
            self._set_head(self._entry.head._replace(released=True))
            if self._forget:
                self._logs.entries.pop(self._entry.header.id, None)

    def abandon(self) -> None:
        """Stop writing; for other stores the log stays held by this one."""
        with self._logs.lock:
            if self._entry.claim is self._claim:
                self._entry.is_written = False

    def _check_claim(self) -> None:
        if self._entry.claim is not self._claim:
            raise Superseded(self._entry.head, ())

    def _set_head(self, head: Head) -> None:
        self._entry.head = self._head = head
