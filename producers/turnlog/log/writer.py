"""The writing side of one session: produce, read back, and believe the ledger alone."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from turnlog.events.body import ClaimBody, ClaimReason, Fork
from turnlog.events.commit import NONCE_BYTES, Commit
from turnlog.events.errors import (
    Closed,
    Conflict,
    OutcomeUnknown,
    OwnedElsewhere,
    SessionExists,
    Superseded,
    UnknownSession,
)
from turnlog.events.head import Head
from turnlog.events.header import Header
from turnlog.session.ports import Pending

from .commits import CommitMaker, cut
from .reader import PartitionReader
from .session_log import SessionLog

__all__ = ["KafkaWriter"]

_READ_BACK_S = 30.0
_POLL_S = 0.1
_CLAIM_TRIES = 20
_IN_FLIGHT = 2


class KafkaWriter:
    """Appends commits to one session that it holds; not thread-safe.

    A commit counts when this writer's own reader has folded it as accepted. When that stays
    unknown, the writer stops: open the session again to go on.
    """

    def __init__(
        self,
        produce: Callable[[Commit], None],
        maker: CommitMaker,
        log: SessionLog,
        reader: PartitionReader,
    ) -> None:
        self._produce = produce
        self._maker = maker
        self._log = log
        self._reader = reader
        self._head: Head | None = None
        self._stopped = False

    @property
    def head(self) -> Head:
        """The last acknowledged head. Raises UnknownSession before `open` or `claim`."""
        if self._head is None:
            raise UnknownSession(self._log.session_id)
        return self._head

    def open(self, header: Header, fork: Fork | None) -> None:
        """Make the session. Raises SessionExists where another `open` was accepted first."""
        commit = self._maker.open(header, fork, _nonce(), _now_ms())
        if not self._land(commit, _READ_BACK_S):
            raise SessionExists(header.id)

    def claim(self, *, take_over: bool) -> None:
        """Take the session over from its owner, or up after a release.

        Tried again where the owner moved the head meanwhile. Raises OwnedElsewhere, Conflict.
        """
        owner = self._log.owner
        for _ in range(_CLAIM_TRIES):
            head, last = self._log.head, self._log.last
            if owner is not None and last is not None and not head.released and not take_over:
                host = owner.writer_info.get("host")
                raise OwnedElsewhere(head.writer, host, last.last_time_ms)
            reason = ClaimReason.RESUME if head.released else ClaimReason.TAKE_OVER
            body = ClaimBody(reason, head.writer, head.released)
            if self._land(self._maker.claim(head, body, _nonce(), _now_ms()), _READ_BACK_S):
                return
            if self._log.owner is not owner:
                break
        raise Conflict(self._log.head)

    def write(self, pending: Pending, *, timeout_s: float) -> Head:
        """Produce rows as commits and return when all were read back as accepted.

        Raises Superseded, OutcomeUnknown, BrokerError.
        """
        if self._stopped:
            raise Closed(f"the writer of {self._log.session_id!r}")
        deadline = time.monotonic() + timeout_s
        prev_hash, in_flight = self.head.hash, []
        for rows in cut(pending.rows, pending.groups):
            commit = self._maker.events(prev_hash, rows)
            self._produce(commit)
            in_flight.append(commit)
            prev_hash = commit.hash
            if len(in_flight) == _IN_FLIGHT:
                self._await(in_flight.pop(0), deadline)
        for commit in in_flight:
            self._await(commit, deadline)
        return self.head

    def born(self) -> None:
        """Nothing to do: the end-seed in the log says it."""

    def release(self) -> None:
        """Give the session up and stop."""
        if not self._stopped:
            self._land(self._maker.release(self.head, _nonce(), _now_ms()), _READ_BACK_S)
        self.abandon()

    def abandon(self) -> None:
        """Stop without a release; the session stays owned by this writer's id."""
        self._stopped = True
        self._reader.close()

    def _land(self, commit: Commit, timeout_s: float) -> bool:
        """Produce a commit and tell whether it was accepted. Raises OutcomeUnknown."""
        self._produce(commit)
        try:
            self._await(commit, time.monotonic() + timeout_s)
        except Superseded:
            return False
        return True

    def _await(self, commit: Commit, deadline: float) -> None:
        """Read on until a commit is accepted.

        Raises Superseded where the head moved past what it hangs on by another's commit.
        """
        while self._head is None or self._head.hash != commit.hash:
            if time.monotonic() > deadline:
                self._stopped = True
                raise OutcomeUnknown(commit.first_seq)
            for accepted in self._log.fold(self._reader.poll(_POLL_S)):
                if accepted.hash != commit.hash:
                    raise Superseded(self._log.head, ())
                self._head = self._log.head


def _nonce() -> bytes:
    return secrets.token_bytes(NONCE_BYTES)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
