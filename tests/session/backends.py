"""The backends that run the store contract: each makes stores that share one kept set of logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from turnlog.broker import ensure_topics
from turnlog.log import KafkaSettings, KafkaStore
from turnlog.session import FolderStore, MemoryLogs, MemoryStore, SessionStore

__all__ = ["BACKENDS", "Backend"]


class Backend:
    """Makes stores over the same logs, as processes that follow or race each other would."""

    def __init__(self, make: Callable[..., SessionStore]) -> None:
        self._make = make
        self._stores: list[SessionStore] = []

    def store(self, **options: Any) -> SessionStore:
        """A further store over the same logs; closed at the end of the test."""
        store = self._make(**options)
        self._stores.append(store)
        return store

    def close(self) -> None:
        """Close all stores; a session that was taken over or stuck does not matter here."""
        for store in self._stores:
            for session in store.live():
                session.detach()
            store.close()


def memory(tmp_path: Path, request: Any) -> Backend:
    logs = MemoryLogs()
    return Backend(lambda **options: MemoryStore(logs, **options))


def folder(tmp_path: Path, request: Any) -> Backend:
    return Backend(lambda **options: FolderStore(tmp_path / "sessions", **options))


def kafka(tmp_path: Path, request: Any) -> Backend:
    settings = KafkaSettings(
        bootstrap=request.getfixturevalue("kafka"), namespace=request.getfixturevalue("namespace")
    )
    ensure_topics(settings.bootstrap, settings.namespace)
    return Backend(lambda **options: KafkaStore(settings, **options))


BACKENDS = {"memory": memory, "folder": folder, "kafka": kafka}
