"""What ties a live session to the log that its store keeps: what is pending, and how it lands."""

from __future__ import annotations

import threading
from collections.abc import Callable

from turnlog.events.errors import Backpressure, NotAcknowledged, Superseded, TurnlogError
from turnlog.events.event import Event
from turnlog.events.head import Head
from turnlog.events.rows import Row
from turnlog.kernel.log import events_between

from .core import SessionCore
from .ports import LogWriter, Pending
from .window import WriteBehind

__all__ = ["Binding", "Budget"]


class Budget:
    """The bytes that may wait to become durable, over all sessions of a store."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._pending_bytes = 0
        self._lock = threading.Lock()

    def check(self, size_bytes: int) -> None:
        """Raise Backpressure where so many more don't fit; an empty buffer takes any event."""
        pending = self._pending_bytes
        if pending and pending + size_bytes > self._limit_bytes:
            raise Backpressure(pending, self._limit_bytes)

    def add(self, size_bytes: int) -> None:
        """Count bytes in, or out where negative."""
        with self._lock:
            self._pending_bytes += size_bytes


class Binding:
    """The link of one session: `drain` writes what is pending, one at a time, in order."""

    def __init__(
        self,
        session: SessionCore,
        writer: LogWriter,
        window: WriteBehind,
        budget: Budget,
        unregister: Callable[[], None],
    ) -> None:
        self._session = session
        self._writer = writer
        self._window = window
        self._budget = budget
        self._unregister = unregister
        self._writing = threading.RLock()
        self._pending_bytes = 0
        self._groups: list[tuple[int, int]] = []

    @property
    def head(self) -> Head:
        """The last durable head."""
        return self._writer.head

    def admit(self, size_bytes: int) -> None:
        """Raise Backpressure where the store's buffer has no room."""
        self._budget.check(size_bytes)

    def appended(self, first_seq: int, count: int, size_bytes: int) -> None:
        """Hear that events wait to become durable; opens the window."""
        if count > 1:
            self._groups.append((first_seq, first_seq + count))
        self._budget.add(size_bytes)
        self._pending_bytes += size_bytes
        if self._pending_bytes == size_bytes:
            self._window.open(self)

    def flush(self, *, timeout_s: float) -> Head:
        """Make all that was appended so far durable; ends the window for this session."""
        head = self.drain(timeout_s=timeout_s)
        self._window.forget(self)
        return head

    def drain(self, *, timeout_s: float) -> Head:
        """Write what is pending. Raises as LogWriter.write; what failed stays pending."""
        with self._writing:
            rows, end, size, groups = self._take()
            if not rows:
                return self._writer.head
            try:
                head = self._writer.write(Pending(rows, groups), timeout_s=timeout_s)
            except Superseded as error:
                lost = Superseded(error.head, self._events_from(self._writer.head.next_seq))
                self._session.supersede(lost)
                self._settle(size)
                self._unregister()
                raise lost from error
            self._settle(size)
            with self._session.lock:
                self._groups = [group for group in self._groups if group[1] > end]
            return head

    def detach(self) -> None:
        """Flush, release, unregister; on failure no release. Raises NotAcknowledged."""
        try:
            self.drain(timeout_s=30.0)
        except Superseded:
            raise
        except TurnlogError as error:
            self._writer.abandon()
            events = self._events_from(self._writer.head.next_seq)
            raise NotAcknowledged(self._session.id, events) from error
        else:
            self._writer.release()
        finally:
            self._settle(self._pending_bytes)
            self._window.forget(self)
            self._unregister()

    def born(self) -> None:
        """Say that a forked session is complete."""
        self._writer.born()

    def _take(self) -> tuple[tuple[Row, ...], int, int, list[tuple[int, int]]]:
        """What is pending, its end, its size, and its groups, as they stand at one moment."""
        start = self._writer.head.next_seq
        with self._session.lock:
            rows, end = self._session.take(start)
            groups = [group for group in self._groups if group[0] >= start]
            return rows, end, self._pending_bytes, groups

    def _settle(self, size_bytes: int) -> None:
        with self._session.lock:
            self._pending_bytes -= size_bytes
            more = self._pending_bytes > 0
        self._budget.add(-size_bytes)
        if more:
            self._window.open(self)

    def _events_from(self, seq: int) -> tuple[Event, ...]:
        rows, _ = self._session.take(seq)
        return tuple(events_between(rows, seq, None))
