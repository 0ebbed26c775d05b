"""Doubles of the LogStore port for tests of what a session does when its store fails or is slow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from turnlog.events import Head, Header, StoreFailed, Superseded
from turnlog.session import (
    ForkOrigin,
    LogStore,
    LogWriter,
    MemoryLogs,
    MemoryLogStore,
    Pending,
    SessionInfo,
    StoredLog,
)

__all__ = ["UnreliableLogStore"]


class UnreliableLogStore:
    """A memory LogStore whose writes fail or wait when told to.

    `before` is called with the name of each operation, before it is done; what it raises is the
    operation's answer. `sent` is given what was written.
    """

    def __init__(self, logs: MemoryLogs | None = None) -> None:
        self._logs: LogStore = MemoryLogStore(logs or MemoryLogs())
        self.before: Callable[[str], object] = lambda name: None
        self.sent: Callable[[Pending], object] = lambda pending: None
        self.failures = 0
        self.attempts = 0
        self.gate = threading.Event()
        self.gate.set()
        self.writing = threading.Event()

    @property
    def writer(self) -> str:
        return self._logs.writer

    def new_id(self) -> str:
        return self._logs.new_id()

    @property
    def durable(self) -> bool:
        return True

    def create(self, header: Header, origin: ForkOrigin | None) -> LogWriter:
        self.before("create")
        return _UnreliableWriter(self, self._logs.create(header, origin))

    def claim(self, id: str, *, take_over: bool) -> tuple[StoredLog, LogWriter]:
        self.before("claim")
        stored, writer = self._logs.claim(id, take_over=take_over)
        return stored, _UnreliableWriter(self, writer)

    def read(self, id: str) -> StoredLog:
        return self._logs.read(id)

    def sessions(self) -> Iterator[SessionInfo]:
        return self._logs.sessions()

    def close(self) -> None:
        self.before("close")
        self._logs.close()


class _UnreliableWriter:
    def __init__(self, store: UnreliableLogStore, writer: LogWriter) -> None:
        self._store = store
        self._writer = writer

    @property
    def head(self) -> Head:
        return self._writer.head

    @property
    def sent_seq(self) -> int:
        return self._writer.sent_seq

    def watch(
        self, durable: Callable[[Head], object], lost: Callable[[Superseded], object]
    ) -> None:
        self._store.before("watch")
        self._writer.watch(durable, lost)

    def send(self, pending: Pending, *, timeout_s: float) -> None:
        self._store.attempts += 1
        self._store.before("send")
        self._store.writing.set()
        self._store.gate.wait()
        if self._store.failures:
            self._store.failures -= 1
            raise StoreFailed("no space left", self.head.next_seq)
        self._writer.send(pending, timeout_s=timeout_s)
        self._store.sent(pending)

    def wait(self, seq: int, *, timeout_s: float) -> Head:
        self._store.before("wait")
        return self._writer.wait(seq, timeout_s=timeout_s)

    def born(self) -> None:
        self._store.before("born")
        self._writer.born()

    def release(self) -> None:
        self._store.before("release")
        self._writer.release()

    def abandon(self) -> None:
        self._writer.abandon()
