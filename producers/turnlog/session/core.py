"""The core of a session: append, flush, detach, observe; what must happen in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from turnlog.events.errors import Closed, Conflict, NotDurable, Reentrant, Superseded, TurnlogError
from turnlog.events.event import Draft, Event, Replace
from turnlog.events.head import Head
from turnlog.events.header import Header
from turnlog.events.rows import Row
from turnlog.events.vocabulary import Registry
from turnlog.kernel.restore import END_SEED, Restored

from .live_log import LiveLog, check_group_size, event_size
from .observers import Observers

__all__ = ["SessionCore", "StoreLink", "clock_ms"]


def clock_ms() -> int:
    """The wall clock in epoch milliseconds."""
    return time.time_ns() // 1_000_000


class StoreLink(Protocol):
    """What a session needs of the store that owns it."""

    def admit(self, size_bytes: int) -> None:
        """Raise Backpressure where the buffer has no room for these events."""
        ...

    def appended(self, first_seq: int, count: int, size_bytes: int) -> None:
        """Hear that events wait to become durable."""
        ...

    def flush(self, *, timeout_s: float) -> Head:
        """Make all that was appended durable."""
        ...

    def detach(self) -> None:
        """Flush, release and forget the session."""
        ...

    @property
    def head(self) -> Head:
        """The last durable head."""
        ...


class SessionCore:
    """What an append, a flush and a detach do, in order and under one lock; no views."""

    def __init__(
        self,
        restored: Restored,
        *,
        registry: Registry,
        strict: bool = False,
        clock: Callable[[], int] = clock_ms,
    ) -> None:
        self._live = LiveLog(restored, registry, strict=strict)
        self._first_live_seq = restored.first_live_seq
        self._clock = clock
        self._lock = threading.RLock()
        self._publishing = False
        self._detach_asked = False
        self._detached = False
        self._closed: TurnlogError | None = None
        self._link: StoreLink | None = None
        self._not_landed: tuple[Event, ...] = ()
        self._on_event = Observers()
        self._on_flush = Observers()
        self._on_detach = Observers()

    def end_seed(self) -> Event | None:
        """Append `session/end-seed` unless the log ends with one; gives the event appended."""
        with self._lock:
            last = self._live.last()
            if last is not None and last.type == END_SEED:
                return None
            return self.append(END_SEED, {})

    @property
    def id(self) -> str:
        """The session's id."""
        return self._live.header.id

    @property
    def header(self) -> Header:
        """The session's header."""
        return self._live.header

    @property
    def first_live_seq(self) -> int:
        """The length of the restored or inherited log: what came before this lifetime."""
        return self._first_live_seq

    @property
    def next_seq(self) -> int:
        """The seq of the next event: the length of this process's log."""
        return self._live.next_seq

    @property
    def acknowledged_seq(self) -> int:
        """All events below this seq (exclusive) are durable."""
        return 0 if self._link is None else self._link.head.next_seq

    @property
    def head(self) -> Head | None:
        """The last durable head; None without a store."""
        return None if self._link is None else self._link.head

    @property
    def closed(self) -> bool:
        """Whether the session refuses appends for good."""
        return self._closed is not None

    @property
    def not_landed(self) -> tuple[Event, ...]:
        """The events that another writer's take-over kept out of the log; no reader shows them."""
        return self._not_landed

    def append(
        self,
        type: str,
        data: Any,
        *,
        surface: str | Replace | dict[str, Any] | None = None,
        sources: Sequence[int] | None = None,
        ignorable: bool = False,
        time_ms: int | None = None,
        expected_seq: int | None = None,
    ) -> Event:
        """Append one event and tell the observers; never waits for I/O.

        All or nothing: a refused event leaves log and Surface as they were. With `expected_seq`,
        the same event standing there already is a success and gives the stored one. Not durable
        until a flush.

        Raises NotLossless, BadShape, UnregisteredType, SurfaceRefused, EmptyReplacement, TooLarge,
        InvariantBreach (strict sessions), Backpressure, Reentrant, Closed, Superseded, Conflict.
        """
        live, link = self._live, self._link
        with self._lock:
            if self._closed is not None or self._publishing or expected_seq is not None:
                draft = Draft(type, data, surface, sources, ignorable, time_ms)
                return self._append_group((draft,), expected_seq)[0]
            event = live.admit_one(type, data, surface, sources, ignorable, time_ms, self._clock())
            if link is None:
                live.commit_one(event)
            else:
                size = event_size(event)
                link.admit(size)
                live.commit_one(event)
                link.appended(event.seq, 1, size)
            if self._on_event:
                self._publish((event,))
        if self._detach_asked:
            self._detach_if_asked()
        return event

    def append_all(
        self, drafts: Iterable[Draft], *, expected_seq: int | None = None
    ) -> list[Event]:
        """Append several events, all or nothing, in one commit; else as `append`.

        At most 1,024 events and 8 MiB of stored rows. Raises as `append` does.
        """
        group = tuple(drafts)
        with self._lock:
            events = self._append_group(group, expected_seq)
        self._detach_if_asked()
        return events

    def flush(self, *, timeout_s: float = 30.0) -> Head:
        """Return when all that was appended before is durable.

        Raises NotDurable without a store, Closed, Superseded, OutcomeUnknown, StoreFailed.
        """
        if self._link is None:
            raise NotDurable(self.id)
        if self._closed is not None:
            raise self._closed
        head = self._link.flush(timeout_s=timeout_s)
        self._on_flush.tell(head)
        return head

    def detach(self) -> None:
        """Refuse new appends, flush, release, unregister; once. From an observer: after it ended.

        Raises NotAcknowledged with the events that are not known to be durable; no release is then
        written, and the session is detached all the same.
        """
        with self._lock:
            if self._publishing:
                self._detach_asked = True
                return
            if self._detached:
                return
            self._detached = True
            superseded = self._closed is not None
            self._closed = self._closed or Closed(f"session {self.id!r}")
        try:
            if self._link is not None and not superseded:
                self._link.detach()
        finally:
            self._on_detach.tell(self)

    def observe(
        self,
        *,
        event: Callable[[Event], object] | None = None,
        flushed: Callable[[Head], object] | None = None,
        detached: Callable[[Any], object] | None = None,
    ) -> Callable[[], None]:
        """Register observers, told in the order of registration; the result takes them off.

        `event` hears each event once append has accepted it, before it is durable. What an observer
        raises is logged and contained; it may not append to this session.
        """
        removers = [
            observers.add(callback)
            for observers, callback in (
                (self._on_event, event),
                (self._on_flush, flushed),
                (self._on_detach, detached),
            )
            if callback is not None
        ]

        def remove() -> None:
            for remover in removers:
                remover()

        return remove

    @property
    def lock(self) -> threading.RLock:
        """For the store: held while an event is appended and told."""
        return self._lock

    def attach(self, link: StoreLink) -> None:
        """For the store: bind the session to what makes its events durable; once."""
        self._link = link

    def take(self, start: int) -> tuple[tuple[Row, ...], int]:
        """For the store: the rows from `start` on, fixed from now on, and their end."""
        with self._lock:
            self._live.seal()
            return self._live.rows(start), self._live.next_seq

    def supersede(self, error: Superseded) -> None:
        """For the store: another writer moved the head; close with the events that did not land."""
        with self._lock:
            self._not_landed = error.not_landed
            self._closed = error

    def _append_group(self, drafts: Sequence[Draft], expected_seq: int | None) -> list[Event]:
        live = self._live
        if self._closed is not None:
            raise self._closed
        if self._publishing:
            raise Reentrant(self.id)
        if expected_seq is not None and expected_seq != live.next_seq:
            stored = live.stored(drafts, expected_seq)
            if stored is None:
                raise Conflict(self.head or Head(b"", live.next_seq, "", False))
            return stored
        events = live.admit(drafts, self._clock())
        size = check_group_size(events)
        if self._link is not None:
            self._link.admit(size)
        live.commit(events)
        if self._link is not None and events:
            self._link.appended(events[0].seq, len(events), size)
        if self._on_event:
            self._publish(events)
        return events

    def _detach_if_asked(self) -> None:
        if self._detach_asked and not self._publishing:
            self._detach_asked = False
            self.detach()

    def _publish(self, events: Sequence[Event]) -> None:
        self._publishing = True
        try:
            for event in events:
                self._on_event.tell(event)
        finally:
            self._publishing = False

    @contextmanager
    def _reading(self) -> Iterator[LiveLog]:
        """Hold the lock for a view of a log that still is this session's. Raises Superseded."""
        with self._lock:
            if isinstance(self._closed, Superseded):
                raise self._closed
            yield self._live
