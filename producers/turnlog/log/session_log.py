"""One session as its partition says: the ledger's verdicts, and what was accepted."""

from __future__ import annotations

from collections.abc import Iterable

from turnlog.events.body import Fork, check_body, read_open
from turnlog.events.commit import Commit, Kind
from turnlog.events.errors import NewerThanReader, UnknownSession
from turnlog.events.head import Head
from turnlog.events.header import Header
from turnlog.events.rows import Row
from turnlog.kernel.ledger import Ledger, VerdictKind
from turnlog.kernel.restore import END_SEED
from turnlog.session.ports import ForkOrigin, StoredLog

from .reader import Record

__all__ = ["SessionLog"]


class SessionLog:
    """Folds a partition's records in offset order and keeps what was accepted of one session."""

    def __init__(self, namespace: str, session_id: str) -> None:
        self.session_id = session_id
        self._ledger = Ledger(namespace)
        self._header: Header | None = None
        self._fork: Fork | None = None
        self._rows: list[Row] = []
        self._marks: list[tuple[int, bytes]] = []
        self.owner: Commit | None = None
        self.last: Commit | None = None

    @property
    def exists(self) -> bool:
        """Whether an `open` of the session was accepted."""
        return self._header is not None

    @property
    def is_born(self) -> bool:
        """Whether readers show it: it exists, and a fork's child has the end-seed of its seed."""
        if self._header is None:
            return False
        beyond_seed = self.head.next_seq - (self._header.seed_length or 0)
        if self._fork is None or beyond_seed > 0:
            return True
        # A seed that ends with an end-seed gets no second one.
        return (
            beyond_seed == 0 and bool(self._rows) and self._rows[-1].events()[-1].type == END_SEED
        )

    @property
    def head(self) -> Head:
        """The session's head. Raises UnknownSession where none was accepted."""
        head = self._ledger.heads.get(self.session_id)
        if head is None:
            raise UnknownSession(self.session_id)
        return head

    def is_fork_of(self, origin: ForkOrigin) -> bool:
        """Whether its `open` names this parent and boundary."""
        fork = self._fork
        return fork is not None and (fork.session_id, fork.boundary) == origin[:2]

    def fold(self, records: Iterable[Record]) -> list[Commit]:
        """Take records in offset order; gives the session's commits accepted among them.

        Raises BrokenLog where an accepted body is not what its envelope says, NewerThanReader.
        """
        accepted = []
        for record in records:
            verdict = self._ledger.fold(record.key, record.value)
            commit = verdict.commit
            if verdict.kind is VerdictKind.NEWER and verdict.session_id == self.session_id:
                raise NewerThanReader(f"offset {record.offset}: {verdict.reason}")
            if verdict.accepted and commit is not None and commit.session_id == self.session_id:
                self._take(commit)
                accepted.append(commit)
        return accepted

    def stored(self) -> StoredLog:
        """What was accepted so far. Raises UnknownSession."""
        head = self.head
        if self._header is None:
            raise UnknownSession(self.session_id)
        return StoredLog(self._header, tuple(self._rows), head, tuple(self._marks))

    def _take(self, commit: Commit) -> None:
        if commit.kind is Kind.OPEN:
            body = read_open(commit)
            self._header, self._fork = body.header, body.fork
        elif commit.kind is Kind.EVENTS:
            self._rows.extend(check_body(commit))
        if commit.kind in (Kind.OPEN, Kind.CLAIM):
            self.owner = commit
        if commit.kind in (Kind.OPEN, Kind.EVENTS):
            self._marks.append((commit.next_seq, commit.hash))
        self.last = commit
