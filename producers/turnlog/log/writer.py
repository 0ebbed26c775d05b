"""The writing side of one open session: hands commits over and believes the read-back alone."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial

from turnlog.events.avro import encode_commit
from turnlog.events.body import Fork
from turnlog.events.commit import NONCE_BYTES, Commit
from turnlog.events.errors import (
    BrokerError,
    BrokerUnavailable,
    Closed,
    Conflict,
    OutcomeUnknown,
    SessionExists,
    Superseded,
    TurnlogError,
    UnknownSession,
)
from turnlog.events.head import Head
from turnlog.events.header import Header
from turnlog.events.rows import Row
from turnlog.session.clock import clock_ms
from turnlog.session.failpoints import reach
from turnlog.session.ports import Pending

from .commits import CommitMaker, cut
from .hints import HintKeeper
from .messages import Record
from .outlet import Outlet
from .own_records import OwnRecords
from .ownership import Ownership, Phase
from .patience import RETRY_S, Patience
from .session_log import SessionLog

__all__ = ["KafkaWriter"]

_log = logging.getLogger(__name__)

_DONE = (Phase.RELEASED, Phase.LOST)


class KafkaWriter:
    """Appends to one session that it holds; thread-safe.

    What is asked for goes on in the background until it is answered, also where a caller's time was
    up. `fold` and `turn` are called by the tail's thread.
    """

    def __init__(
        self,
        outlet: Outlet,
        partition: int,
        maker: CommitMaker,
        log: SessionLog,
        hints: HintKeeper,
    ) -> None:
        self._outlet = outlet
        self._partition = partition
        self._log = log
        self._hints = hints
        self._ownership = Ownership(maker, partial(secrets.token_bytes, NONCE_BYTES), clock_ms)
        self._early: list[Record] | None = []
        self._is_asked = False
        self._may_claim: Callable[[], object] = _ignore
        self._unsent: list[Commit] = []
        self._own = OwnRecords(waits_for_reports=outlet.waits_for_reports)
        self._repeated_s = 0.0
        self._sent_seq = 0
        self._patience = Patience(outlet.settings.read_back_s)
        self._failure: TurnlogError | None = None
        self._refusal: BrokerError | None = None
        self._on_durable: Callable[[Head], object] = _ignore
        self._on_lost: Callable[[Superseded], object] = _ignore
        self._stopped = False
        self._lock = threading.Lock()
        self._moved = threading.Condition(self._lock)

    # --- the port --------------------------------------------------------------------------------

    @property
    def head(self) -> Head:
        """The last acknowledged head. Raises UnknownSession before `open` or `claim`."""
        head = self._ownership.acknowledged
        if head is None:
            raise UnknownSession(self._log.session_id)
        return head

    @property
    def sent_seq(self) -> int:
        """The seq of the first row that `send` has not taken."""
        return self._sent_seq

    def watch(
        self, durable: Callable[[Head], object], lost: Callable[[Superseded], object]
    ) -> None:
        """Have callbacks told, from other threads, of a new acknowledged head and of a loss."""
        self._on_durable = durable
        self._on_lost = lost

    def send(self, pending: Pending, *, timeout_s: float) -> None:
        """Take rows to make durable, in order; does not wait. Raises Superseded, Closed."""
        with self._lock:
            self._check()
            self._ownership.write(cut(pending.rows, pending.groups))
            self._sent_seq = pending.rows[-1].first_seq + pending.rows[-1].count
            self._hints.see(pending.rows)
            self._produce()

    def wait(self, seq: int, *, timeout_s: float) -> Head:
        """Return when all events below `seq` are read back as accepted.

        Raises Superseded, OutcomeUnknown, NotAuthorized, Closed, DataError.
        """
        self._await(lambda: self.head.next_seq >= seq, timeout_s)
        return self.head

    def show(self, *, complete: bool, rows: Iterable[Row] = ()) -> None:
        """Let go of what was kept to restore, and write the first hint of this ownership.

        `rows` are the stored ones; `complete` tells whether readers show the session.
        """
        with self._lock:
            self._hints.see(rows)
            self._hints.complete = complete
            self._log.forget_rows()
            self._write_hint()

    def born(self) -> None:
        """Write the hint that shows the child in lists; the end-seed in the log says it too."""
        with self._lock:
            self._hints.complete = True
            self._write_hint()

    def release(self) -> None:
        """Give the session up and stop; where that stays unknown, a dead id owns the session."""
        with self._lock:
            if self._stopped or self._ownership.phase in _DONE:
                return
            self._ownership.release()
            self._produce()
        try:
            self._await(
                lambda: self._ownership.phase in _DONE, self._outlet.settings.read_back_s, end=True
            )
        except BrokerError as error:
            _log.warning("%r: not known to be released: %s", self._log.session_id, error)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Stop writing without a release; the session stays owned by this writer's id."""
        with self._lock:
            self._stopped = True
            self._moved.notify_all()
        self._outlet.forget(self, self._partition)

    # --- getting hold of the session -------------------------------------------------------------

    @property
    def key(self) -> bytes:
        """The key of the session's records."""
        return self._log.key

    @property
    def log(self) -> SessionLog:
        """What is known of the session; whole until `forget_rows`."""
        return self._log

    def catch_up(self) -> None:
        """Go over from reading the past to the live tail. Raises DataError."""
        with self._lock:
            early, self._early = self._early or (), None
            for record in early:
                self._log.take(record)

    def open(self, header: Header, fork: Fork | None) -> None:
        """Make the session. Raises SessionExists, OutcomeUnknown, BrokerError."""
        with self._lock:
            if self._log.exists:  # since the caller looked: no record would answer any more
                raise SessionExists(header.id)
            self._is_asked = True
            self._ownership.open(header, fork)
            self._produce()
        self._hold(SessionExists(header.id))

    def claim(self, check: Callable[[], object]) -> None:
        """Take the session, from whoever has it, unless `check` raises.

        `check` looks at the log as it stands at the claim, and at each further one.

        Raises Conflict, OutcomeUnknown, BrokerError, and what `check` does.
        """
        with self._lock:
            self._may_claim = check
            self._is_asked = True
            self._ownership.claim(self._log.head)
            self._produce()
        self._hold(None)

    def _hold(self, lost: TurnlogError | None) -> None:
        """Wait for an own mark to count, long enough for a second one where none is answered."""
        owning = (Phase.OWNING, *_DONE)
        timeout_s = 2 * self._outlet.settings.read_back_s
        self._await(lambda: self._ownership.phase in owning, timeout_s, end=True)
        if self._ownership.phase is Phase.LOST:
            raise lost or Conflict(self._log.head)
        self._sent_seq = self.head.next_seq

    # --- the tail's thread -----------------------------------------------------------------------

    def fold(self, record: Record) -> None:
        """Take the session's next record."""
        with self._lock:
            if self._early is not None:
                self._early.append(record)
                return
            self._own.put(record)
        self._fold_ready()

    def taken(self) -> None:
        """Claim on the newest head: one on a head that is passed already has no chance."""
        if self._is_asked and self._ownership.phase is Phase.CLAIMING:
            with self._lock:
                self._produce()

    def fail(self, error: TurnlogError) -> None:
        """Hear that nothing more is read of this session."""
        with self._lock:
            self._failure = error
            self._moved.notify_all()

    def turn(self, now_s: float) -> bool:
        """Send what found no room, doubt what is overdue, and write the hint when it is time."""
        with self._lock:
            ownership = self._ownership
            if self._stopped or self._early is not None or ownership.phase in _DONE:
                return False
            if ownership.is_waiting and self._patience.is_over(now_s):
                if self._patience.is_first():
                    error = self._outlet.error
                    _log.warning("%r: an outcome is unknown: %s", self._log.session_id, error)
                reach("writer.before-seal")
                ownership.doubt()
            self._produce()
            if now_s > self._repeated_s + RETRY_S:
                self._repeat(now_s)
            if ownership.phase is Phase.OWNING and self._hints.is_due(now_s):
                self._write_hint()
            is_idle = not (self._unsent or self._hints.is_behind or self._own.is_holding)
            return ownership.is_waiting or not is_idle

    def doubt(self, error: BrokerError) -> None:
        """Take it that what was produced may not have landed: its producer is gone."""
        with self._lock:
            self._own.all_failed()
            self._take_doubt(error)

    def _reported(self, value: bytes, error: BrokerError | None) -> None:
        """Hear what is reported of a record that was handed over."""
        with self._lock:
            self._own.reported(value, delivered=error is None)
            if error is not None:
                self._take_doubt(error)
        self._fold_ready()

    def _fold_ready(self) -> None:
        """Take the records that nothing holds back."""
        try:
            while (told := self._fold_next()) is not None:
                told()
        except TurnlogError as error:
            self.fail(error)

    def _fold_next(self) -> Callable[[], object] | None:
        """Take one; gives whom to tell, or None where there is none."""
        with self._lock:
            record = self._own.next()
            if record is None:
                return None
            commit = self._log.take(record, self._own.commits)
            if commit is None or not self._is_asked:
                return _ignore
            self._own.forget(record)
            reach("writer.before-read-back")
            return self._accept(commit)

    def _accept(self, commit: Commit) -> Callable[[], object]:
        """Take an accepted commit, own or not; gives whom to tell, once the lock is let go."""
        ownership = self._ownership
        before = ownership.phase
        ownership.accepted(commit, self._log.head)
        self._patience.answered(time.monotonic())
        self._refusal = None
        head = self._log.head
        if ownership.phase is Phase.LOST or not ownership.is_waiting:
            self._own.expect_none()
        if ownership.phase is Phase.LOST:
            self._unsent.clear()
        else:
            if ownership.phase is not Phase.CLAIMING:
                self._produce()
            changed = before is not ownership.phase and ownership.acknowledged == head
            if changed or self._hints.count():
                self._write_hint()
        reach("writer.before-answer")
        self._moved.notify_all()
        if ownership.phase is not Phase.LOST:
            return partial(self._on_durable, head)
        if before in (Phase.OPENING, Phase.CLAIMING):
            return _ignore
        return partial(self._outlet.tell, self._on_lost, Superseded(head, ()))

    # --- under the lock --------------------------------------------------------------------------

    def _produce(self) -> None:
        """Hand over what is due, in order, as far as the producer has room."""
        if self._ownership.phase is Phase.CLAIMING:
            try:
                self._may_claim()
            except TurnlogError as error:
                self._failure = error
                self._moved.notify_all()
                return
        if not self._ownership.is_waiting:
            self._patience.begin(time.monotonic())
        self._unsent += self._ownership.due()
        while self._unsent:
            commit = self._unsent[0]
            reach(f"writer.before-produce.{commit.kind.value}")
            value = encode_commit(commit)
            if not self._hand_over(value, commit):
                return
            del self._unsent[0]
            reach(f"writer.after-produce.{commit.kind.value}")

    def _hand_over(self, value: bytes, commit: Commit) -> bool:
        """Hand a record over; False where there is no room now."""
        self._own.expect(value, commit)
        try:
            told = partial(self._reported, value)
            return self._outlet.produce(self, self._partition, value, told)
        except BrokerError as error:
            self._own.reported(value, delivered=False)
            self._take_doubt(error)
            return True

    def _repeat(self, now_s: float) -> None:
        """Produce again what was read and is not known to stay."""
        again = self._own.to_repeat()
        if again is not None:
            self._repeated_s = now_s
            if not self._hand_over(*again):
                self._own.reported(again[0], delivered=False)

    def _take_doubt(self, error: BrokerError) -> None:
        if not isinstance(error, BrokerUnavailable):
            # Waiting does not mend a refusal: callers hear of it, the writer tries again.
            self._refusal = error
        if self._ownership.is_waiting:
            self._patience.doubt()
        self._moved.notify_all()

    def _write_hint(self) -> None:
        reach("writer.before-hint")
        self._hints.write(self._log)

    def _check(self) -> None:
        if self._ownership.phase is Phase.LOST:
            raise Superseded(self._log.head, ())
        if self._stopped:
            raise Closed(f"the writer of {self._log.session_id!r}")
        if self._failure is not None:
            raise self._failure

    def _await(self, done: Callable[[], bool], timeout_s: float, *, end: bool = False) -> None:
        """Wait for an answer; `end` tells that a lost session is one. Raises as `wait` does."""
        deadline = time.monotonic() + timeout_s
        with self._moved:
            while True:
                if not end or self._ownership.phase is not Phase.LOST:
                    self._check()
                if done():
                    return
                if self._refusal is not None:
                    raise self._refusal
                if not self._moved.wait(deadline - time.monotonic()):
                    first_seq = 0 if self._ownership.head is None else self._ownership.head.next_seq
                    raise OutcomeUnknown(first_seq) from self._outlet.error


def _ignore(*_: object) -> None:
    """Tell nobody."""
