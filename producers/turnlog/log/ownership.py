"""What one writer does about one session: what to produce next, what an accepted record means.

The decisions of the append protocol (docs/architecture.md, "Who may write"), pure: the nonces and
the clock are given. Whether a record is accepted, the ledger alone says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from turnlog.events.body import ClaimBody, ClaimReason, Fork
from turnlog.events.commit import Commit, Kind
from turnlog.events.head import Head
from turnlog.events.header import Header
from turnlog.events.rows import Row

from .commits import CommitMaker

__all__ = ["MAX_CLAIM_TRIES", "MAX_IN_FLIGHT", "Ownership", "Phase"]

MAX_IN_FLIGHT = 2
"""Commits of one session that may wait for their read-back at once."""

MAX_CLAIM_TRIES = 20
"""Heads that one claim is hung on before it gives way to a busy owner."""


class Phase(StrEnum):
    """Where a writer stands with a session."""

    OPENING = "opening"
    CLAIMING = "claiming"
    OWNING = "owning"
    SEALING = "sealing"
    RELEASING = "releasing"
    RELEASED = "released"
    LOST = "lost"


class _Sent(NamedTuple):
    commit: Commit
    rows: Sequence[Row]


class Ownership:
    """One writer's side of one session, from its `open` or `claim` to its `release`.

    `due` gives the commits to produce now, in order; call it after each other call. `accepted`
    takes every record of the session that the ledger accepts, in offset order. `head` is the last
    accepted head, whoever made it; `acknowledged` the last one that this writer made.
    """

    def __init__(
        self, maker: CommitMaker, new_nonce: Callable[[], bytes], now_ms: Callable[[], int]
    ) -> None:
        self._maker = maker
        self._new_nonce = new_nonce
        self._now_ms = now_ms
        self._birth: tuple[Header, Fork | None] | None = None
        self._waiting: deque[Sequence[Row]] = deque()
        self._in_flight: deque[_Sent] = deque()
        self._marks: set[bytes] = set()
        self._is_marked = False
        self._tries = 0
        self.phase = Phase.CLAIMING
        self.head: Head | None = None
        self.acknowledged: Head | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether something was produced whose outcome is not known yet."""
        return bool(self._in_flight or self._marks)

    def open(self, header: Header, fork: Fork | None) -> None:
        """Ask for a new session, of which the log knows nothing."""
        self._birth = header, fork
        self.phase = Phase.OPENING

    def claim(self, head: Head) -> None:
        """Ask for a session whose head is this one."""
        self.head = head
        self.phase = Phase.CLAIMING

    def write(self, commits: Iterable[Sequence[Row]]) -> None:
        """Take rows to append, those of one commit each."""
        self._waiting.extend(commits)

    def release(self) -> None:
        """Ask to give the session up; only where nothing is waiting."""
        self.phase = Phase.RELEASING

    def doubt(self) -> None:
        """Take it that what was produced last may never be answered.

        A mark is then produced again, with a fresh nonce. Events in flight get a seal: a claim on
        the last accepted head, behind which they can never land.
        """
        self._is_marked = False
        if self.phase is Phase.OWNING and self._in_flight:
            self.phase = Phase.SEALING

    def accepted(self, commit: Commit, head: Head) -> None:
        """Take the next accepted record of the session, and the head that it makes."""
        mine = commit.hash in self._marks
        tried = bool(self._marks)
        # What hangs on an older head can't count any more.
        self._marks.clear()
        self._is_marked = False
        self.head = head
        if mine:
            self.acknowledged = head
            self._take_mark()
        elif self._in_flight and self._in_flight[0].commit.hash == commit.hash:
            self.acknowledged = head
            self._in_flight.popleft()
            if self.phase is Phase.SEALING and not self._in_flight:
                self.phase = Phase.OWNING
        elif self._may_claim_on(commit):
            self._tries += tried  # not for a head that no claim was hung on
        elif self.phase is not Phase.RELEASED:  # who comes after a release takes nothing away
            self.phase = Phase.LOST

    def due(self) -> list[Commit]:
        """Give what is to be produced now, in this order; each commit once."""
        if self.phase in (Phase.RELEASED, Phase.LOST):
            return []
        if self.phase is not Phase.OWNING:
            return [] if self._is_marked else [self._mark()]
        commits = []
        while self._waiting and len(self._in_flight) < MAX_IN_FLIGHT:
            rows = self._waiting.popleft()
            commit = self._maker.events(self._last_hash(), rows)
            self._in_flight.append(_Sent(commit, rows))
            commits.append(commit)
        return commits

    def _last_hash(self) -> bytes:
        if self._in_flight:
            return self._in_flight[-1].commit.hash
        return self._known_head().hash

    def _known_head(self) -> Head:
        if self.head is None:
            raise ValueError("a session without a head is neither claimed nor written")
        return self.head

    def _mark(self) -> Commit:
        """Make the `open`, `claim` or `release` that this phase asks for."""
        nonce, now_ms = self._new_nonce(), self._now_ms()
        if self.phase is Phase.OPENING and self._birth is not None:
            mark = self._maker.open(*self._birth, nonce, now_ms)
        elif self.phase is Phase.RELEASING:
            mark = self._maker.release(self._known_head(), nonce, now_ms)
        else:
            head = self._known_head()
            if self.phase is Phase.SEALING:
                reason = ClaimReason.SEAL
            else:
                reason = ClaimReason.RESUME if head.released else ClaimReason.TAKE_OVER
            body = ClaimBody(reason, head.writer, head.released)
            mark = self._maker.claim(head, body, nonce, now_ms)
        self._marks.add(mark.hash)
        self._is_marked = True
        return mark

    def _take_mark(self) -> None:
        """Go on from an own mark that counts."""
        if self.phase is Phase.RELEASING:
            self.phase = Phase.RELEASED
            return
        # Behind a seal nothing that was in flight can land: the same events, again.
        self._waiting.extendleft(sent.rows for sent in reversed(self._in_flight))
        self._in_flight.clear()
        self.phase = Phase.OWNING

    def _may_claim_on(self, commit: Commit) -> bool:
        """Whether a claim goes on from the head that another's record made."""
        return (
            self.phase is Phase.CLAIMING
            and commit.kind in (Kind.EVENTS, Kind.RELEASE)
            and self._tries < MAX_CLAIM_TRIES - 1
        )
