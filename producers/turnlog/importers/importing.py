"""Import of many files: each by itself, several at a time, and a summary that adds up."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple, Protocol

from turnlog.events.errors import (
    CallerError,
    DataError,
    ImportConflict,
    OwnershipError,
    RestoreRefused,
    TurnlogError,
)
from turnlog.events.header import Header
from turnlog.events.rows import Row
from turnlog.session import ImportResult, SessionReader, plan_import

from .errors import FileRefused
from .recovering import Recovered, prefix, recover
from .strict import open_strict

__all__ = [
    "MAX_BYTES_AT_ONCE",
    "PARALLEL",
    "DryRun",
    "Importer",
    "Outcome",
    "OutcomeKind",
    "Summary",
    "import_file",
    "import_files",
]

PARALLEL = 96
"""Files that are on their way at once: each waits for the log several times.

So that one answer serves many of them: with 16, a folder of small sessions takes twice the time.
"""

MAX_BYTES_AT_ONCE = 256 * 1024 * 1024
"""Bytes of the files that are on their way at once; a larger one goes alone."""

_KEPT_BYTES = 2 * 1024 * 1024
"""Rows up to so many bytes are kept for writing; those of a larger file are read twice."""


class Importer(Protocol):
    """What takes a log as a whole: a SessionStore, or who only says what it would do."""

    def import_log(self, header: Header, rows: Iterable[Row], /) -> ImportResult:
        """Store a log, or add what a stored one lacks. Raises as SessionStore's."""
        ...


class DryRun:
    """Says what an import into the sessions of a reader would do, and does nothing."""

    def __init__(self, reader: SessionReader) -> None:
        self._reader = reader

    def import_log(self, header: Header, rows: Iterable[Row]) -> ImportResult:
        """Say what would be added. Raises as SessionStore's."""
        return plan_import(self._reader, header, rows)


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
        refused = {OutcomeKind.CONFLICT, OutcomeKind.REFUSED}
        if outcome.session_id is not None and outcome.kind not in refused:
            self._sessions.add(outcome.session_id)

    @property
    def file_count(self) -> int:
        """All files."""
        return sum(self.files.values())

    @property
    def session_count(self) -> int:
        """Sessions that are in the log now, whole or as far as their files are sound."""
        return len(self._sessions)

    @property
    def ok(self) -> bool:
        """Whether all of every file is in the log."""
        kinds = {OutcomeKind.IMPORTED, OutcomeKind.PRESENT}
        return all(kind in kinds for kind, count in self.files.items() if count)


def import_files(
    store: Importer,
    files: Iterable[Path],
    *,
    prefix_store: Importer | None = None,
    parallel: int = PARALLEL,
    told: Callable[[Outcome], object] | None = None,
) -> Generator[Outcome, None, None]:
    """Import files, several at once; gives their outcomes as they come.

    Of a damaged file the sound prefix goes to `prefix_store`, where there is one. Files of one
    session follow each other. A file is in memory whole only if it is small; what is stored of its
    session already always is.

    Ended early, by whatever, no further file is begun, and those on their way come to their end.
    `told` hears of every outcome, of these too, one at a time: in the threads that do the work,
    which no signal interrupts. Raises BrokerError.
    """
    waiting = deque(files)
    under_way: dict[Future[Outcome | None], int] = {}
    total = 0
    done: SimpleQueue[Future[Outcome | None]] = SimpleQueue()
    turns, crew, telling = _Turns(), _Crew(), threading.Lock()

    def work(path: Path) -> Outcome | None:
        if not crew.begin():
            return None
        try:
            outcome = import_file(store, path, prefix_store, turns)
            if told is not None:
                with telling:
                    told(outcome)
            return outcome
        finally:
            crew.end()

    with ThreadPoolExecutor(parallel, "turnlog-import") as threads:
        try:
            while waiting or under_way:
                while waiting and len(under_way) < parallel:
                    size = _size(waiting[0])
                    if under_way and total + size > MAX_BYTES_AT_ONCE:
                        break
                    future = threads.submit(work, waiting.popleft())
                    under_way[future] = size
                    total += size
                    future.add_done_callback(done.put)
                future = done.get()
                total -= under_way.pop(future)
                outcome = future.result()
                if outcome is not None:
                    yield outcome
        finally:
            crew.go_home()


def import_file(
    store: Importer,
    path: Path,
    prefix_store: Importer | None = None,
    turns: _Turns | None = None,
) -> Outcome:
    """Import one file, or say why not. Raises BrokerError."""
    turns = turns or _Turns()
    id = None
    try:
        with open_strict(path) as (header, rows):
            id = header.id
            kept = _little(rows)
        with turns.of(id):
            result = store.import_log(header, _FileRows(path, header) if kept is None else kept)
    except ImportConflict as error:
        return Outcome(path, OutcomeKind.CONFLICT, id, reason=str(error))
    except (FileRefused, RestoreRefused) as error:
        return _import_prefix(path, id, error, prefix_store, turns)
    except (CallerError, DataError, OwnershipError) as error:
        return Outcome(path, OutcomeKind.REFUSED, id, reason=str(error))
    is_new = result.created or result.added > 0
    kind = OutcomeKind.IMPORTED if is_new else OutcomeKind.PRESENT
    return Outcome(path, kind, id, result.next_seq, result.added)


def _import_prefix(
    path: Path, id: str | None, error: TurnlogError, store: Importer | None, turns: _Turns
) -> Outcome:
    """Say in rows and bytes why a file is refused; its sound prefix goes to the store, if any."""
    found = None
    try:
        found = recover(path)
        reason = found.stop or str(error)
        if store is None or found.header is None or not found.sound_rows:
            return Outcome(path, OutcomeKind.REFUSED, id, reason=reason, recovered=found)
        id = found.header.id
        with turns.of(id):
            result = store.import_log(found.header, prefix(found))
    except ImportConflict as conflict:
        return Outcome(path, OutcomeKind.CONFLICT, id, reason=f"{conflict}; {error}")
    except (CallerError, DataError, OwnershipError) as second:
        return Outcome(path, OutcomeKind.REFUSED, id, reason=str(second), recovered=found)
    return Outcome(path, OutcomeKind.PREFIX, id, result.next_seq, result.added, reason, found)


class _FileRows:
    """The rows of a file, read anew each time they are asked for. Raises FileRefused."""

    def __init__(self, path: Path, header: Header) -> None:
        self._path = path
        self._header = header

    def __iter__(self) -> Iterator[Row]:
        with open_strict(self._path) as (header, rows):
            if header.text != self._header.text:
                raise FileRefused(self._path, "the file changed while it was imported")
            yield from rows


class _Crew:
    """Who is at work. An executor that is interrupted while it starts a thread forgets that one."""

    def __init__(self) -> None:
        self._count = 0
        self._is_over = False
        self._changed = threading.Condition()

    def begin(self) -> bool:
        """Begin a piece of work, unless it is over."""
        with self._changed:
            self._count += not self._is_over
            return not self._is_over

    def end(self) -> None:
        """Come to the end of a piece of work."""
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def go_home(self) -> None:
        """Begin nothing more, and wait for what is begun."""
        with self._changed:
            self._is_over = True
            self._changed.wait_for(lambda: not self._count)


class _Turns:
    """Who is about a session: one at a time, or two writers of this store would race."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._changed = threading.Condition()

    @contextmanager
    def of(self, id: str) -> Iterator[None]:
        """Wait for the turn of a session."""
        with self._changed:
            self._changed.wait_for(lambda: id not in self._taken)
            self._taken.add(id)
        try:
            yield
        finally:
            with self._changed:
                self._taken.discard(id)
                self._changed.notify_all()


def _little(rows: Iterable[Row]) -> list[Row] | None:
    """Give the rows of a small file; None for one that is to be read again instead."""
    kept: list[Row] = []
    size = 0
    for row in rows:
        size += len(row.text)
        if size > _KEPT_BYTES:
            return None
        kept.append(row)
    return kept


def _size(path: Path) -> int:
    """The bytes of a file; 0 where they can't be told, which its reading will say."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
