"""Sessions and the stores that own them, over the port LogStore."""

from .folder import FolderLogStore
from .imports import ImportResult, plan_import
from .memory import MemoryLogs, MemoryLogStore
from .ports import (
    ForkOrigin,
    LogStore,
    LogWriter,
    Pending,
    SessionInfo,
    SessionReader,
    StoredLog,
)
from .session import Session
from .store import Prepared, SessionStore
from .stores import FolderStore, MemoryStore

__all__ = [
    "FolderLogStore",
    "FolderStore",
    "ForkOrigin",
    "ImportResult",
    "LogStore",
    "LogWriter",
    "MemoryLogStore",
    "MemoryLogs",
    "MemoryStore",
    "Pending",
    "Prepared",
    "Session",
    "SessionInfo",
    "SessionReader",
    "SessionStore",
    "StoredLog",
    "plan_import",
]
