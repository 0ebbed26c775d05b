"""The core of a session: append, flush, detach, observe; what must happen in order."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from turnlog.events.error_text import shown
from turnlog.events.errors import (
    BadShape,
    Closed,
    Conflict,
    NotDurable,
    Reentrant,
    Superseded,
    TurnlogError,
)
from turnlog.events.event import Draft, Event, Replace, row_bytes
from turnlog.events.head import Head
from turnlog.events.header import Header
from turnlog.events.vocabulary import Registry
from turnlog.kernel.restore import Restored

from .clock import clock_ms
from .link import StoreLink
from .live_log import LiveLog, check_group_size
from .observers import Observers
from .process_fork import tell_after_fork

__all__ = ["SessionCore"]

_log = logging.getLogger(__name__)


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
        # The thread that holds the lock over a publication or a change of several steps; 0 for
        # none. It may not wait for I/O: the window's thread waits for the lock meanwhile.
        self._holder = 0
        self._publishing = False
        self._detach_asked = False
        self._detached = False
        self._closed: TurnlogError | None = None
        self._link: StoreLink | None = None
        self._not_landed: tuple[Event, ...] = ()
        self._on_event = Observers[Event]()
        self._on_flush = Observers[Head]()
        self._flush_tellers: set[int] = set()  # threads that tell of a flush: they may not flush
        self._on_detach = Observers[Any]()
        tell_after_fork(self)

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
        until a flush. Where an observer asked for a detach, it is done before this returns; what it
        raises is logged, for the event is in the log.

        Raises NotLossless, BadShape, UnregisteredType, SurfaceRefused, EmptyReplacement, TooLarge,
        InvariantBreach (strict sessions), Backpressure, Reentrant, Closed, Superseded, Conflict.
        """
        live, link = self._live, self._link
        with self._lock:
            if self._closed is not None or self._publishing or expected_seq is not None:
                draft = Draft(type, data, surface, sources, ignorable, time_ms)
                event = self._append_group((draft,), expected_seq)[0]
            else:
                now_ms = self._clock()
                event = live.admit_one(type, data, surface, sources, ignorable, time_ms, now_ms)
                if link is None:
                    live.add_one(event)
                else:
                    size = row_bytes(event)
                    link.reserve(size)
                    try:
                        live.add_one(event)
                    except BaseException:
                        link.unreserve(size)
                        raise
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
        if self._detach_asked:
            self._detach_if_asked()
        return events

    def flush(self, *, timeout_s: float = 30.0) -> Head:
        """Return when all that was appended before is durable.

        Raises NotDurable without a store, Closed, Superseded, OutcomeUnknown, StoreFailed,
        BrokerUnavailable, and Reentrant from inside an observer, or a plan, of this session.
        """
        if self._link is None:
            raise NotDurable(self.id)
        if self._closed is not None:
            raise self._closed
        self._check_outside("flush of")
        if get_ident() in self._flush_tellers:
            raise Reentrant(self.id, "flush of")
        head = self._link.flush(timeout_s=timeout_s)
        if self._on_flush:
            self._flush_tellers.add(get_ident())
            try:
                self._on_flush.tell(head)
            finally:
                self._flush_tellers.discard(get_ident())
        return head

    def detach(self) -> None:
        """Refuse new appends, flush, release, unregister; once.

        Asked for inside an event observer it is done when the append that told it has ended; what
        it then raises is logged.

        Raises NotAcknowledged with the events that are not known to be durable; no release is then
        written, and the session is detached all the same.
        """
        with self._lock:
            if self._holder:
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
        raises is logged and contained; it may neither append to this session nor flush it.
        """
        removers: list[Callable[[], None]] = []
        if event is not None:
            removers.append(self._on_event.add(event))
        if flushed is not None:
            removers.append(self._on_flush.add(flushed))
        if detached is not None:
            removers.append(self._on_detach.add(detached))

        def remove() -> None:
            for remover in removers:
                remover()

        return remove

    def forked(self) -> None:
        """Hear, in a forked child, that the session is the parent's: all but views is refused."""
        self._lock = threading.RLock()
        self._holder = 0
        self._publishing = self._detach_asked = False
        self._detached = True
        self._closed = self._closed or Closed(f"session {self.id!r}, of the process that forked,")

    def _append_group(
        self, drafts: Sequence[Draft], expected_seq: int | None, *, own: bool = False
    ) -> list[Event]:
        """Append a group, under the lock; `own` ones heed neither strictness nor the buffer."""
        live, link = self._live, self._link
        if self._closed is not None:
            raise self._closed
        if self._publishing:
            raise Reentrant(self.id)
        if expected_seq is not None and type(expected_seq) is not int:
            raise BadShape("expected_seq", "a seq", shown(expected_seq))
        if expected_seq is not None and expected_seq != live.next_seq:
            stored = live.stored(drafts, expected_seq)
            if stored is None:
                raise Conflict(self._head_now(), expected_seq)
            return stored
        events = live.admit(drafts, self._clock(), own=own)
        size = check_group_size(events)
        if link is None:
            live.add(events)
        elif events:
            link.reserve(size, limited=not own)
            try:
                live.add(events)
            except BaseException:
                link.unreserve(size)
                raise
            link.appended(events[0].seq, len(events), size)
        if self._on_event:
            self._publish(events)
        return events

    def _head_now(self) -> Head:
        """The head with what is in flight; that has no hash yet."""
        head, next_seq = self.head, self._live.next_seq
        if head is None:
            return Head(b"", next_seq, "", False)
        return head if head.next_seq == next_seq else head._replace(hash=b"", next_seq=next_seq)

    def _publish(self, events: Sequence[Event]) -> None:
        before, self._holder, self._publishing = self._holder, get_ident(), True
        try:
            for event in events:
                self._on_event.tell(event)
        finally:
            self._holder, self._publishing = before, False

    def _check_outside(self, what: str) -> None:
        if self._holder == get_ident():
            raise Reentrant(self.id, what)

    def _detach_if_asked(self) -> None:
        """Do the detach that an observer asked for, unless this is still inside a change."""
        with self._lock:
            if not self._detach_asked or self._holder:
                return
            self._detach_asked = False
        try:
            self.detach()
        except Exception:  # noqa: BLE001 - the caller's append was accepted: it must not look refused
            _log.exception("session %r: the detach that an observer asked for failed", self.id)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the lock over several steps, so that nothing comes between; then no detach."""
        with self._lock:
            before, self._holder = self._holder, get_ident()
            try:
                yield
            finally:
                self._holder = before

    @contextmanager
    def _changing(self) -> Iterator[LiveLog]:
        """Look at the log and append to it, with nothing between. Raises Superseded."""
        try:
            with self._held(), self._reading() as live:
                yield live
        finally:
            self._detach_if_asked()

    @contextmanager
    def _reading(self) -> Iterator[LiveLog]:
        """Hold the lock for a view of a log that still is this session's. Raises Superseded."""
        with self._lock:
            if isinstance(self._closed, Superseded):
                raise self._closed
            yield self._live
