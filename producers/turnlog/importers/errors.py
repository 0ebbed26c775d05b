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
    """What belongs to a tree that was asked for is not there; None stands for any tree."""

    def __init__(self, session_id: str | None, missing: str) -> None:
        self.session_id = session_id
        self.missing = missing
        tree = "a tree" if session_id is None else f"the tree of {session_id!r}"
        hint = "can't be read and may belong to it" if session_id is None else "can't be read"
        super().__init__(f"{tree} is not whole: {missing!r} {hint}")
