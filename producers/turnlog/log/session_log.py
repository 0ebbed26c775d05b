"""One session as its partition says: the ledger's verdicts, and what was accepted."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from turnlog.events.body import Fork, check_body, read_open
from turnlog.events.commit import Commit, Kind
from turnlog.events.errors import NewerThanReader, UnknownSession
from turnlog.events.head import Head
from turnlog.events.header import Header
from turnlog.events.rows import Row
from turnlog.kernel.ledger import Ledger, VerdictKind
from turnlog.kernel.restore import END_SEED
from turnlog.session.ports import ForkOrigin, StoredLog

from .messages import Record

__all__ = ["SessionLog"]

_NONE: Mapping[bytes, Commit] = MappingProxyType({})


class SessionLog:
    """Folds the records of one session in offset order.

    Keeps what was accepted until `forget_rows`; from then on only the head is followed, and bodies
    are not looked at.
    """

    def __init__(self, namespace: str, session_id: str) -> None:
        self.session_id = session_id
        self.key = session_id.encode("utf-8")
        self._ledger = Ledger(namespace)
        self._header: Header | None = None
        self._fork: Fork | None = None
        self._rows: list[Row] | None = []
        self._marks: list[tuple[int, bytes]] = []
        self.owner_host: str | None = None
        self.last_time_ms: int | None = None
        self.has_records = False
        self.open_offset: int | None = None
        self.last_offset: int | None = None

    @property
    def exists(self) -> bool:
        """Whether an `open` of the session was accepted."""
        return self.open_offset is not None

    @property
    def is_born(self) -> bool:
        """Whether readers show it: it exists, and a fork's child has the end-seed of its seed."""
        if self._header is None:
            return False
        beyond_seed = self.head.next_seq - (self._header.seed_length or 0)
        if self._fork is None or beyond_seed > 0:
            return True
        # A seed that ends with an end-seed gets no second one.
        rows = self._rows or ()
        return beyond_seed == 0 and len(rows) > 0 and rows[-1].events()[-1].type == END_SEED

    @property
    def head(self) -> Head:
        """The session's head. Raises UnknownSession where none was accepted."""
        head = self._ledger.heads.get(self.session_id)
        if head is None:
            raise UnknownSession(self.session_id)
        return head

    @property
    def header(self) -> Header:
        """The session's header. Raises UnknownSession where no `open` was accepted."""
        if self._header is None:
            raise UnknownSession(self.session_id)
        return self._header

    def is_fork_of(self, origin: ForkOrigin) -> bool:
        """Whether its `open` names this parent and boundary."""
        fork = self._fork
        return fork is not None and (fork.session_id, fork.boundary) == origin[:2]

    def take(self, record: Record, own: Mapping[bytes, Commit] = _NONE) -> Commit | None:
        """Take the next record of the partition; gives the commit that it adds to the session.

        `own` are commits by the values that they were encoded to: the same bytes are the same
        commit, and need not be decoded to know that.

        Raises BrokenLog where an accepted body is not what its envelope says, NewerThanReader.
        """
        if record.key != self.key:
            return None
        self.has_records = True
        known = None if record.value is None else own.get(record.value)
        if known is None:
            verdict = self._ledger.fold(record.key, record.value)
        else:
            verdict = self._ledger.judge(known)
        if verdict.kind is VerdictKind.NEWER:
            raise NewerThanReader(f"offset {record.offset}: {verdict.reason}")
        commit = verdict.commit
        if not verdict.accepted or commit is None:
            return None
        self.last_offset = record.offset
        self._keep(commit, record.offset)
        return commit

    def stored(self) -> StoredLog:
        """What was accepted so far. Raises UnknownSession."""
        return StoredLog(self.header, tuple(self._rows or ()), self.head, tuple(self._marks))

    def forget_rows(self) -> None:
        """Let go of what was kept, and keep no more."""
        self._rows = None
        self._marks = []

    def _keep(self, commit: Commit, offset: int) -> None:
        if commit.kind is Kind.OPEN:
            body = read_open(commit)
            self._header, self._fork = body.header, body.fork
            self.open_offset = offset
        if commit.kind in (Kind.OPEN, Kind.CLAIM):
            self.owner_host = commit.writer_info.get("host")
        self.last_time_ms = commit.last_time_ms
        if self._rows is None:
            return
        if commit.kind is Kind.EVENTS:
            self._rows.extend(check_body(commit))
        if commit.kind in (Kind.OPEN, Kind.EVENTS):
            self._marks.append((commit.next_seq, commit.hash))
