"""Import of many files: each by itself, several at a time, and a summary that adds up."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from turnlog.events.errors import (
    CallerError,
    DataError,
    ImportConflict,
    OwnershipError,
    RestoreRefused,
    TurnlogError,
)
from turnlog.session import SessionStore

from .errors import FileRefused
from .recovering import Recovered, prefix, recover
from .strict import open_strict

__all__ = [
    "MAX_BYTES_AT_ONCE",
    "PARALLEL",
    "Outcome",
    "OutcomeKind",
    "Summary",
    "import_file",
    "import_files",
]

PARALLEL = 16
"""Files that are on their way at once: each waits for the log several times."""

MAX_BYTES_AT_ONCE = 256 * 1024 * 1024
"""Bytes of the files that are on their way at once."""


class OutcomeKind(StrEnum):
    """What became of a file."""

    IMPORTED = "imported"
    PREFIX = "prefix"
    PRESENT = "present"
    CONFLICT = "conflict"
    REFUSED = "refused"


class Outcome(NamedTuple):
    """What became of one file; of its `events` so many were `added`, the others were there.

    `reason` says why it, or what stands behind its prefix, was refused.
    """

    path: Path
    kind: OutcomeKind
    session_id: str | None = None
    events: int = 0
    added: int = 0
    reason: str = ""
    recovered: Recovered | None = None

    @property
    def ok(self) -> bool:
        """Whether all of the file is in the log."""
        return self.kind in {OutcomeKind.IMPORTED, OutcomeKind.PRESENT}


class Summary:
    """The sum of outcomes: files by outcome, sessions, events added and there before."""

    def __init__(self) -> None:
        self.files: Counter[OutcomeKind] = Counter()
        self.events_added = 0
        self.events_present = 0
        self._sessions: set[str] = set()

    def add(self, outcome: Outcome) -> None:
        """Count one more."""
        self.files[outcome.kind] += 1
        self.events_added += outcome.added
        self.events_present += outcome.events - outcome.added
        if outcome.session_id is not None and outcome.events:
            self._sessions.add(outcome.session_id)

    @property
    def file_count(self) -> int:
        """All files."""
        return sum(self.files.values())

    @property
    def session_count(self) -> int:
        """Sessions of which something is in the log now."""
        return len(self._sessions)

    @property
    def ok(self) -> bool:
        """Whether all of every file is in the log."""
        kinds = {OutcomeKind.IMPORTED, OutcomeKind.PRESENT}
        return all(kind in kinds for kind, count in self.files.items() if count)


def import_files(
    store: SessionStore,
    files: Iterable[Path],
    *,
    prefix_store: SessionStore | None = None,
    parallel: int = PARALLEL,
) -> Generator[Outcome, None, None]:
    """Import files, several at once; gives their outcomes as they come.

    Of a damaged file the sound prefix goes to `prefix_store`, where there is one. Ended early, no
    further file is begun, and those on their way are waited for. Memory follows the files on their
    way: a file larger than MAX_BYTES_AT_ONCE is imported alone. Raises BrokerError.
    """
    waiting = deque(files)
    under_way: dict[Future[Outcome], int] = {}
    with ThreadPoolExecutor(parallel, "turnlog-import") as threads:
        try:
            while waiting or under_way:
                while waiting and len(under_way) < parallel:
                    size = _size(waiting[0])
                    if under_way and sum(under_way.values()) + size > MAX_BYTES_AT_ONCE:
                        break
                    path = waiting.popleft()
                    under_way[threads.submit(import_file, store, path, prefix_store)] = size
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    del under_way[future]
                    yield future.result()
        finally:
            for future in under_way:
                future.cancel()


def import_file(
    store: SessionStore, path: Path, prefix_store: SessionStore | None = None
) -> Outcome:
    """Import one file, or say why not. Raises BrokerError."""
    id = None
    try:
        with open_strict(path) as (header, rows):
            id = header.id
            result = store.import_log(header, rows)
    except ImportConflict as error:
        return Outcome(path, OutcomeKind.CONFLICT, id, reason=str(error))
    except (FileRefused, RestoreRefused) as error:
        return _import_prefix(path, id, error, prefix_store)
    except (CallerError, DataError, OwnershipError) as error:
        return Outcome(path, OutcomeKind.REFUSED, id, reason=str(error))
    kind = OutcomeKind.IMPORTED if result.added else OutcomeKind.PRESENT
    return Outcome(path, kind, id, result.next_seq, result.added)


def _import_prefix(
    path: Path, id: str | None, error: TurnlogError, store: SessionStore | None
) -> Outcome:
    """Say in rows and bytes why a file is refused; its sound prefix goes to the store, if any."""
    try:
        found = recover(path)
        reason = found.stop or str(error)
        if store is None or found.header is None or not found.sound_rows:
            return Outcome(path, OutcomeKind.REFUSED, id, reason=reason, recovered=found)
        result = store.import_log(found.header, prefix(found))
    except (CallerError, DataError, OwnershipError) as second:
        return Outcome(path, OutcomeKind.REFUSED, id, reason=str(second))
    return Outcome(
        path, OutcomeKind.PREFIX, found.header.id, result.next_seq, result.added, reason, found
    )


def _size(path: Path) -> int:
    """The bytes of a file; 0 where they can't be told, which its reading will say."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
