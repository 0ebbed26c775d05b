"""The sessions of a file, or of a folder tree of files, as a store shows them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.events.errors import MissingField, RestoreRefused, TurnlogError, UnknownSession
from turnlog.events.header import Header, check_session_id
from turnlog.events.rows import Row
from turnlog.kernel.log import Log
from turnlog.kernel.restore import RestoreFold, restore
from turnlog.kernel.title import TitleFold, may_name
from turnlog.session.ports import SessionInfo

from .errors import FileRefused, FileUnreadable
from .recovering import recover
from .strict import open_strict, read_header

__all__ = ["SUFFIXES", "FileFault", "FileSessions", "session_files"]

SUFFIXES = (".jsonl", ".jsonl.zst", ".jsonl.zstd")
"""What names of session files in a folder end in."""


def session_files(path: Path) -> list[Path]:
    """Give the session files below a folder, by name, or the file that is named itself.

    What is no file but has such a name, and a folder that can't be listed, is given too, so that
    whoever reads it says why it can't be. Raises FileUnreadable.
    """
    try:
        is_folder = path.is_dir()
        if not is_folder and not path.exists():
            raise FileUnreadable(path, "no such file or folder")
    except (OSError, ValueError) as error:
        raise FileUnreadable(path, str(error)) from error
    if not is_folder:
        return [path]
    found: list[Path] = []

    def keep_unlisted(error: OSError) -> None:
        found.append(path if error.filename is None else Path(error.filename))

    for folder, folders, names in os.walk(path, onerror=keep_unlisted):
        found += (Path(folder, name) for name in (*folders, *names) if name.endswith(SUFFIXES))
    return sorted(found)


class FileFault(NamedTuple):
    """A file that is left out of a listing, and why; with its header, where that could be read."""

    path: Path
    error: TurnlogError
    header: Header | None

    def __str__(self) -> str:
        return str(self.error)


class FileSessions:
    """Reads the sessions of JSONL files, each strictly; never writes.

    A file that is refused hides no other one, nor does a second file of the same session: `faults`
    says of the last listing, or search for a session, what was left out. Raises FileUnreadable.
    """

    def __init__(self, path: Path) -> None:
        self._files = session_files(path)
        self._places: dict[str, Path] | None = None
        self.faults: list[FileFault] = []

    def read(self, id: str) -> Log:
        """Read a session. Raises BadSessionId, UnknownSession, FileRefused, FileUnreadable."""
        check_session_id(id)
        if self._places is None:
            self._places = self._found()
        path = self._places.get(id)
        if path is None:
            if len(self._files) == 1 and self.faults:
                raise self.faults[0].error
            raise UnknownSession(id)
        return _read(path)

    def sessions(self) -> Iterator[SessionInfo]:
        """The sessions, in the order of their files; no file is in memory whole."""
        self.faults = []
        places: dict[str, Path] = {}
        for path in self._files:
            header = None
            try:
                with open_strict(path) as (header, rows):
                    info = _info(path, header, rows)
                self._place(places, path, header)
            except TurnlogError as error:
                self.faults.append(FileFault(path, error, header))
                continue
            yield info

    def _found(self) -> dict[str, Path]:
        """The file of each session; of several with one id the first."""
        self.faults = []
        places: dict[str, Path] = {}
        for path in self._files:
            header = None
            try:
                header = read_header(path)
                self._place(places, path, header)
            except TurnlogError as error:
                self.faults.append(FileFault(path, error, header))
        return places

    def _place(self, places: dict[str, Path], path: Path, header: Header) -> None:
        """Raises FileRefused where another file has the session already, BadSessionId."""
        first = places.setdefault(check_session_id(header.id), path)
        if first != path:
            raise FileRefused(path, f"session {header.id!r} is in {first} already")


def _read(path: Path) -> Log:
    with open_strict(path) as (header, rows):
        try:
            restored = restore(header, rows)
        except RestoreRefused as error:
            raise _refused(path, error) from error
    return Log(restored.header, restored.rows.rows())


def _info(path: Path, header: Header, rows: Iterable[Row]) -> SessionInfo:
    """Check a file as `_read` does, and keep what a list shows of it."""
    checks, title = RestoreFold(), TitleFold()
    for row in rows:
        try:
            checks.fold(row)
        except RestoreRefused as error:
            raise _refused(path, error) from error
        if may_name(row):
            for event in row.events():
                title.fold(event)
    return SessionInfo(header.id, header, checks.state.next_seq, True, _title(title))


def _refused(path: Path, error: RestoreRefused) -> FileRefused:
    """Say in row and bytes what the rules of restore refuse."""
    return FileRefused(path, recover(path).stop or str(error))


def _title(fold: TitleFold) -> str | None:
    try:
        return fold.title
    except MissingField:
        return None
