"""Doubles of the LogStore port for tests of what a session does when its store fails or is slow."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from turnlog.events import Head, Header, StoreFailed
from turnlog.session import (
    ForkOrigin,
    LogWriter,
    MemoryLogs,
    MemoryLogStore,
    Pending,
    SessionInfo,
    StoredLog,
)

__all__ = ["UnreliableLogStore"]


class UnreliableLogStore:
    """A memory LogStore whose writes fail or wait when told to."""

    def __init__(self) -> None:
        self._logs = MemoryLogStore(MemoryLogs())
        self.failures = 0
        self.attempts = 0
        self.gate = threading.Event()
        self.gate.set()
        self.writing = threading.Event()

    @property
    def writer(self) -> str:
        return self._logs.writer

    @property
    def durable(self) -> bool:
        return True

    def create(self, header: Header, origin: ForkOrigin | None) -> LogWriter:
        return _UnreliableWriter(self, self._logs.create(header, origin))

    def claim(self, id: str, *, take_over: bool) -> tuple[StoredLog, LogWriter]:
        stored, writer = self._logs.claim(id, take_over=take_over)
        return stored, _UnreliableWriter(self, writer)

    def read(self, id: str) -> StoredLog:
        return self._logs.read(id)

    def sessions(self) -> Iterator[SessionInfo]:
        return self._logs.sessions()

    def close(self) -> None:
        self._logs.close()


class _UnreliableWriter:
    def __init__(self, store: UnreliableLogStore, writer: LogWriter) -> None:
        self._store = store
        self._writer = writer

    @property
    def head(self) -> Head:
        return self._writer.head

    def write(self, pending: Pending, *, timeout_s: float) -> Head:
        self._store.attempts += 1
        self._store.writing.set()
        self._store.gate.wait()
        if self._store.failures:
            self._store.failures -= 1
            raise StoreFailed("no space left", self.head.next_seq)
        return self._writer.write(pending, timeout_s=timeout_s)

    def born(self) -> None:
        self._writer.born()

    def release(self) -> None:
        self._writer.release()

    def abandon(self) -> None:
        self._writer.abandon()
