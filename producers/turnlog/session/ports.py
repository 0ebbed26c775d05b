"""The port behind a SessionStore: where the logs of sessions are kept.

An implementation keeps whole logs by session id and says who may write. It takes rows that the
session has checked; it never looks inside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from turnlog.events.errors import Superseded
from turnlog.events.head import Head
from turnlog.events.header import Header
from turnlog.events.rows import Row
from turnlog.kernel.log import Log

__all__ = [
    "ForkOrigin",
    "LogStore",
    "LogWriter",
    "Pending",
    "SessionInfo",
    "SessionReader",
    "StoredLog",
]


class ForkOrigin(NamedTuple):
    """What a child's `open` says of its birth: the parent, the last seq taken, the hash there.

    `boundary` is None for the fork of an empty log.
    """

    session_id: str
    boundary: int | None
    hash: bytes


class StoredLog(NamedTuple):
    """A log as the store has it, in order.

    `marks` are the ends of its durable writes, ascending: the next seq after each, and the hash
    that attests the log up to there. A store that attests only the whole log gives none.
    """

    header: Header
    rows: Sequence[Row]
    head: Head
    marks: Sequence[tuple[int, bytes]] = ()

    def hash_at(self, boundary: int | None) -> bytes:
        """The hash of the write that holds the event at `boundary`; the first one's for None.

        Without marks the whole log's: it attests more than the boundary, never less.
        """
        wanted = -1 if boundary is None else boundary
        return next((digest for end, digest in self.marks if end > wanted), self.head.hash)


class SessionInfo(NamedTuple):
    """A session in the store's list; `next_seq` is the number of stored events.

    `title` is None where there is none, or where the store's list does not know it.
    """

    id: str
    header: Header
    next_seq: int
    released: bool
    title: str | None = None


class Pending(NamedTuple):
    """Rows to write, and the spans of events `[first, end)` that must land all or not at all."""

    rows: Sequence[Row]
    groups: Sequence[tuple[int, int]]


class LogWriter(Protocol):
    """The writing side of one session: held from `create` or `claim` to `release`."""

    @property
    def head(self) -> Head:
        """The last durable head."""
        ...

    @property
    def sent_seq(self) -> int:
        """The seq of the first row that `send` has not taken yet."""
        ...

    def watch(
        self, durable: Callable[[Head], object], lost: Callable[[Superseded], object]
    ) -> None:
        """Have callbacks told, from any thread, of a new durable head and of a lost session.

        A writer that is durable when `send` returns need not tell.
        """
        ...

    def send(self, pending: Pending, *, timeout_s: float) -> None:
        """Take rows to make durable, in order, after all before.

        Raises Superseded where another writer moved the session; OutcomeUnknown and StoreFailed
        where it has taken nothing, and a later call may succeed.
        """
        ...

    def wait(self, seq: int, *, timeout_s: float) -> Head:
        """Return when all rows below `seq` are durable.

        Raises Superseded, and OutcomeUnknown where the time is up: a later call answers.
        """
        ...

    def born(self) -> None:
        """Say that a fork's child is complete: readers show it from now on."""
        ...

    def release(self) -> None:
        """Give the session up: the next writer needs no take-over. Nothing, where it was taken."""
        ...

    def abandon(self) -> None:
        """Stop writing without a release."""
        ...


class SessionReader(Protocol):
    """Reads sessions and never claims one: a store, a reader of Kafka, a folder of files."""

    def read(self, id: str, /) -> Log:
        """Read what is durable of a session. Raises UnknownSession, DataError."""
        ...

    def sessions(self) -> Iterator[SessionInfo]:
        """The born sessions, in no set order."""
        ...


class LogStore(Protocol):
    """Keeps the logs of sessions."""

    @property
    def writer(self) -> str:
        """The id of this writing store object."""
        ...

    def new_id(self) -> str:
        """Mint the id of a new session."""
        ...

    @property
    def durable(self) -> bool:
        """Whether a log outlives its session object, so that it can be resumed."""
        ...

    def create(self, header: Header, origin: ForkOrigin | None) -> LogWriter:
        """Make an empty log and hold it; with an origin, go on with an unborn child of that origin.

        Raises SessionExists.
        """
        ...

    def claim(self, id: str, *, take_over: bool) -> tuple[StoredLog, LogWriter]:
        """Hold an existing log for writing.

        Raises UnknownSession, OwnedElsewhere, Conflict.
        """
        ...

    def read(self, id: str) -> StoredLog:
        """Read what is durable; never claims. Raises UnknownSession."""
        ...

    def sessions(self) -> Iterator[SessionInfo]:
        """The born sessions, in no set order."""
        ...

    def close(self) -> None:
        """Give up what the store object holds; once."""
        ...
