"""What ties a live session to the log that its store keeps: what is pending, and how it lands."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from turnlog.events.errors import (
    Backpressure,
    Closed,
    NotAcknowledged,
    OutcomeUnknown,
    Superseded,
    TurnlogError,
)
from turnlog.events.event import Event
from turnlog.events.head import Head
from turnlog.kernel.log import events_between

from .ports import LogWriter, Pending
from .store_side import StoreSide
from .window import WriteBehind

__all__ = ["Binding", "Budget"]

_log = logging.getLogger(__name__)

_DETACH_TIMEOUT_S = 30.0


class Budget:
    """The bytes that may wait to become durable, over all sessions of a store."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._pending_bytes = 0
        self._waiting: set[Callable[[], object]] = set()
        self._lock = threading.Lock()

    def reserve(self, size_bytes: int, *, limited: bool = True) -> None:
        """Count bytes in. Raises Backpressure where they don't fit; an empty buffer takes any."""
        with self._lock:
            pending = self._pending_bytes
            if limited and pending and pending + size_bytes > self._limit_bytes:
                raise Backpressure(pending, self._limit_bytes, size_bytes)
            self._pending_bytes += size_bytes

    def free(self, size_bytes: int) -> None:
        """Count bytes out, and wake who waits for room."""
        with self._lock:
            self._pending_bytes -= size_bytes
            waiting = tuple(self._waiting)
        for wake in waiting:
            wake()

    def when_room(self, size_bytes: int, wake: Callable[[], object]) -> Callable[[], None]:
        """Have `wake` called, from any thread, each time that bytes are counted out.

        At once, where so many bytes have room now. The result forgets it.
        """
        with self._lock:
            self._waiting.add(wake)
            pending = self._pending_bytes
        if not pending or pending + size_bytes <= self._limit_bytes:
            wake()

        def forget() -> None:
            with self._lock:
                self._waiting.discard(wake)

        return forget

    def forked(self) -> None:
        """Hear, in a forked child, that another thread may hold the lock for ever."""
        self._lock = threading.Lock()


class Binding:
    """The link of one session: hands over what is pending, in order, and hears how it lands.

    Locks are taken in this order: the one of sending, the session's, the one of the accounts.
    """

    def __init__(
        self,
        session: StoreSide,
        writer: LogWriter,
        window: WriteBehind,
        budget: Budget,
        unregister: Callable[[], object],
    ) -> None:
        self._session = session
        self._writer = writer
        self._window = window
        self._budget = budget
        self._unregister = unregister
        self._sending = threading.Lock()
        self._groups: list[tuple[int, int]] = []
        self._unsent_bytes = 0
        self._sent: deque[tuple[int, int]] = deque()
        self._accounts = threading.Lock()
        self._is_queued = False
        self._lost: Superseded | None = None
        self._ended = False
        writer.watch(self._settle, self._lose)

    @property
    def head(self) -> Head:
        """The last durable head."""
        return self._writer.head

    def reserve(self, size_bytes: int, *, limited: bool = True) -> None:
        """Take room in the store's buffer for what is appended next. Raises Backpressure."""
        self._budget.reserve(size_bytes, limited=limited)

    def unreserve(self, size_bytes: int) -> None:
        """Give back room for what was refused after all."""
        self._budget.free(size_bytes)

    def when_room(self, size_bytes: int, wake: Callable[[], object]) -> Callable[[], None]:
        """Have `wake` called when there may be room in the store's buffer; ends the window."""
        forget = self._budget.when_room(size_bytes, wake)
        self._window.hurry()
        return forget

    def appended(self, first_seq: int, count: int, size_bytes: int) -> None:
        """Hear that events wait to become durable; opens the window. Under the session's lock."""
        if count > 1:
            self._groups.append((first_seq, first_seq + count))
        self._unsent_bytes += size_bytes
        if not self._is_queued:
            self._is_queued = self._window.open(self)

    def flush(self, *, timeout_s: float) -> Head:
        """Make all that was appended so far durable. Raises as LogWriter's `send` and `wait`."""
        deadline = time.monotonic() + timeout_s
        try:
            end = self._send(timeout_s)
            head = self._writer.wait(end, timeout_s=max(0.0, deadline - time.monotonic()))
        except Superseded as error:
            raise self._lose(error) from error
        self._settle(head)
        return head

    def send(self) -> bool:
        """Hand over what is pending without waiting for it; False where another thread does so.

        Raises as LogWriter.send; what failed stays pending.
        """
        try:
            self._send(0.0)
        except OutcomeUnknown:
            return False
        except Superseded as error:
            self._lose(error)
        except Closed:
            pass  # ended meanwhile: whoever ended it names what is not durable
        return True

    def detach(self) -> None:
        """Flush, release, unregister; on failure no release. Raises NotAcknowledged, Superseded."""
        try:
            self.flush(timeout_s=_DETACH_TIMEOUT_S)
        except Superseded as error:
            if not error.not_landed:
                return  # there was nothing to write and there is nothing to give up
            raise
        except TurnlogError as error:
            events = self._events_from(self._writer.head.next_seq)
            if events:
                self.abandon()
                raise NotAcknowledged(self._session.id, events) from error
        except BaseException:
            self.abandon()
            raise
        try:
            self._writer.release()
        except TurnlogError as error:
            # All is durable. The session then is as after a crash of this store object.
            _log.warning("session %r stays held: no release: %s", self._session.id, error)
        finally:
            self._end()

    def abandon(self) -> None:
        """Stop without a release; what is pending is given up."""
        with self._sending:
            try:
                self._writer.abandon()
            finally:
                self._end()

    def born(self) -> None:
        """Say that a forked session is complete."""
        self._writer.born()

    def _send(self, timeout_s: float) -> int:
        """Hand over what is pending; gives the seq after it."""
        deadline = time.monotonic() + timeout_s
        if not self._sending.acquire(timeout=timeout_s):
            raise OutcomeUnknown(self._writer.head.next_seq)
        try:
            if self._lost is not None:
                raise self._lost
            if self._ended:
                raise Closed(f"session {self._session.id!r}")
            with self._session.lock:
                rows, end = self._session.take(self._writer.sent_seq)
                groups, size = tuple(self._groups), self._unsent_bytes
                self._is_queued = False
            if rows:
                remaining = max(0.0, deadline - time.monotonic())
                self._writer.send(Pending(rows, groups), timeout_s=remaining)
                with self._session.lock:
                    del self._groups[: len(groups)]
                    self._unsent_bytes -= size
                with self._accounts:
                    self._sent.append((end, size))
                self._settle(self._writer.head)
        finally:
            self._sending.release()
        return end

    def _settle(self, head: Head) -> None:
        """Free the room of what is durable."""
        with self._accounts:
            while self._sent and self._sent[0][0] <= head.next_seq:
                self._budget.free(self._sent.popleft()[1])

    def _lose(self, error: Superseded) -> Superseded:
        """Close the session with the events that did not land; the same answer each time."""
        with self._session.lock:
            if self._lost is None:
                self._lost = Superseded(error.head, self._events_from(self._writer.head.next_seq))
                self._session.supersede(self._lost)
        self._end()
        return self._lost

    def _end(self) -> None:
        """Close, give back all room, and be no session of the store any more; once."""
        with self._session.lock, self._accounts:
            if self._ended:
                return
            self._ended = True
            self._session.close()
            self._budget.free(self._unsent_bytes + sum(size for _, size in self._sent))
            self._unsent_bytes = 0
            self._sent.clear()
        self._unregister()

    def _events_from(self, seq: int) -> tuple[Event, ...]:
        rows, _ = self._session.take(seq)
        return tuple(events_between(rows, seq, None))
