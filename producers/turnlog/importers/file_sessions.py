"""The sessions of a file, or of a folder tree of files, as a store shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from turnlog.events.errors import MissingField, RestoreRefused, TurnlogError, UnknownSession
from turnlog.events.header import check_session_id
from turnlog.kernel.log import Log
from turnlog.kernel.restore import restore
from turnlog.kernel.title import title
from turnlog.session.ports import SessionInfo

from .errors import FileRefused, FileUnreadable
from .strict import open_strict, read_header

__all__ = ["SUFFIXES", "FileSessions", "session_files"]

SUFFIXES = (".jsonl", ".jsonl.zst", ".jsonl.zstd")
"""What names of session files in a folder end in."""


def session_files(path: Path) -> list[Path]:
    """Give the session files below a folder, by name, or the file that is named itself.

    Raises FileUnreadable.
    """
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.name.endswith(SUFFIXES))
    if not path.exists():
        raise FileUnreadable(path, "no such file or folder")
    return [path]


class FileSessions:
    """Reads the sessions of JSONL files, each strictly; never writes.

    A file that is refused hides no other one: `faults` says of the last listing what was refused.
    Raises FileUnreadable.
    """

    def __init__(self, path: Path) -> None:
        self._files = session_files(path)
        self._places: dict[str, Path] | None = None
        self.faults: list[TurnlogError] = []

    def read(self, id: str) -> Log:
        """Read a session. Raises BadSessionId, UnknownSession, FileRefused."""
        check_session_id(id)
        if self._places is None:
            self._places = self._found()
        path = self._places.get(id)
        if path is None:
            raise self.faults[0] if len(self._files) == 1 and self.faults else UnknownSession(id)
        return _read(path)

    def sessions(self) -> Iterator[SessionInfo]:
        """The sessions, in the order of their files."""
        self.faults = []
        for path in self._files:
            try:
                log = _read(path)
            except TurnlogError as error:
                self.faults.append(error)
                continue
            yield SessionInfo(log.header.id, log.header, log.next_seq, True, _title(log))

    def _found(self) -> dict[str, Path]:
        """The file of each session; of several with one id the first."""
        places: dict[str, Path] = {}
        for path in self._files:
            try:
                places.setdefault(read_header(path).id, path)
            except TurnlogError as error:
                self.faults.append(error)
        return places


def _read(path: Path) -> Log:
    with open_strict(path) as (header, rows):
        try:
            restored = restore(header, rows)
        except RestoreRefused as error:
            raise FileRefused(path, str(error)) from error
    return Log(restored.header, restored.rows.rows())


def _title(log: Log) -> str | None:
    try:
        return title(log)
    except MissingField:
        return None
