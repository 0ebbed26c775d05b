"""The sessions of a file, or of a folder tree of files, as a store shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from turnlog.events.errors import UnknownSession
from turnlog.events.jsonl import read_jsonl
from turnlog.kernel.log import Log
from turnlog.session.ports import SessionInfo

__all__ = ["FileSessions"]


class FileSessions:
    """Reads sessions of JSONL files; never writes. Raises DataError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, id: str) -> Log:
        """Read a session. Raises UnknownSession, DamagedFile."""
        for path in self._files():
            with path.open("rb") as file:
                header, rows = read_jsonl(file)
                if header.id == id:
                    return Log(header, tuple(rows))
        raise UnknownSession(id)

    def sessions(self) -> Iterator[SessionInfo]:
        """The sessions, in the order of their files."""
        for path in self._files():
            with path.open("rb") as file:
                header, rows = read_jsonl(file)
                log = Log(header, tuple(rows))
            yield SessionInfo(header.id, header, log.next_seq, released=True)

    def _files(self) -> Iterator[Path]:
        if self._path.is_dir():
            yield from sorted(self._path.rglob("*.jsonl"))
        else:
            yield self._path
