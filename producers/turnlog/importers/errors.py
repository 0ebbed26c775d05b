"""What can be wrong with a session's file.

::

    TurnlogError
    ├── CallerError
    │   └── FileUnreadable(path, reason)
    └── DataError
        ├── FileRefused(path, reason)
        └── ExportIncomplete(session_id, missing)
"""

from __future__ import annotations

from pathlib import Path

from turnlog.events.errors import CallerError, DataError

__all__ = ["ExportIncomplete", "FileRefused", "FileUnreadable"]


class FileUnreadable(CallerError):
    """A path can't be read or written."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}")


class FileRefused(DataError):
    """A file that is no whole and sound session; the reason names row and bytes."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}")


class ExportIncomplete(DataError):
    """A session of the tree that was asked for can't be found."""

    def __init__(self, session_id: str, missing: str) -> None:
        self.session_id = session_id
        self.missing = missing
        super().__init__(f"the tree of {session_id!r} is not whole: {missing!r} is not there")
