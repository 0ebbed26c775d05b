"""The two stores that need no broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .folder import FolderLogStore
from .memory import MemoryLogs, MemoryLogStore
from .store import SessionStore

__all__ = ["FolderStore", "MemoryStore"]


class MemoryStore(SessionStore):
    """Sessions in this process's memory; nothing is durable.

    With `logs`, stores of one process share them and can resume each other's sessions; without,
    nothing outlives its session, and `open` raises NotDurable.
    """

    def __init__(self, logs: MemoryLogs | None = None, **options: Any) -> None:
        super().__init__(MemoryLogStore(logs), **options)


class FolderStore(SessionStore):
    """Sessions as one JSONL file each in a folder; durable means written and fsynced.

    `options` are those of SessionStore. Raises BrokerUnavailable where the folder can't be used.
    """

    def __init__(self, path: Path | str, **options: Any) -> None:
        super().__init__(FolderLogStore(path), **options)
