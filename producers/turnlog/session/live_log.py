"""The log of an open session in this process: its rows, its hot state, and its lazy folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from turnlog.events.admit import admit, admit_all
from turnlog.events.chunk import CHUNK_TYPE
from turnlog.events.commit import MAX_COMMIT_EVENTS
from turnlog.events.errors import EmptyReplacement, InvariantBreach, TooLarge, ViewBreach
from turnlog.events.event import Draft, Event, Replace, rows_bytes
from turnlog.events.gate import MAX_EVENT_BYTES
from turnlog.events.header import Header
from turnlog.events.hot_chunks import hot_chunk
from turnlog.events.jsontext import deep_equal
from turnlog.events.rows import Row
from turnlog.events.vocabulary import SURFACE_TYPES, Registry
from turnlog.kernel.breach import Breach
from turnlog.kernel.inbox import Inbox, InboxFold
from turnlog.kernel.invariants import InvariantFold
from turnlog.kernel.log import Log, RowLog
from turnlog.kernel.messages import Message, MessageList
from turnlog.kernel.request import Request, RequestFold
from turnlog.kernel.restore import Restored
from turnlog.kernel.state import SessionState
from turnlog.kernel.view_check import unpaired

__all__ = ["LiveLog", "check_group_size"]


class _Follower:
    """A lazy fold of log-only events, which catches up with its log when it is asked for.

    An event that the fold refuses is not passed: asked again, it refuses that event again.
    """

    def __init__(self, rows: RowLog, fold: Callable[[Event], object]) -> None:
        self._rows = rows
        self._fold = fold
        self._next_seq = 0

    def catch_up(self) -> None:
        """Fold what is new. Raises what the fold does."""
        if self._next_seq == self._rows.next_seq:
            return
        for row in self._rows.rows(self._next_seq):
            if not row.packed:
                self._fold(row.events()[0])
            self._next_seq = row.first_seq + row.count


class LiveLog:
    """A growing log and what is derived from it; not thread-safe, knows no store.

    An append waits for the seq and the Surface alone; Messages, request and invariants are folded
    when they are asked for, from where they stopped.
    """

    def __init__(self, restored: Restored, registry: Registry, *, strict: bool) -> None:
        self.header: Header = restored.header
        self._rows = restored.rows
        self._state = restored.state
        self._registry = registry
        self._strict = strict
        self._messages = MessageList(self._rows.event)
        self._invariants = InvariantFold(registry)
        self._has_own = any(own.invariant is not None for own in registry.own.values())
        self._breaches: list[Breach] = []
        self._checked_seq = 0
        self._requests = RequestFold()
        self._request_follower = _Follower(self._rows, self._requests.fold)
        self._inbox = InboxFold(self.header.seed_length)
        self._inbox_follower = _Follower(self._rows, self._inbox.fold)

    @property
    def next_seq(self) -> int:
        """The seq of the next event."""
        return self._state.next_seq

    def admit(self, drafts: Sequence[Draft], now_ms: int, *, own: bool = False) -> list[Event]:
        """Check drafts as far as it can be done without changing anything.

        `own` ones, which end what came before, are not held to the invariants.

        Raises what `Session.append` raises but the Surface's refusals.
        """
        if len(drafts) > MAX_COMMIT_EVENTS:
            raise TooLarge(len(drafts), MAX_COMMIT_EVENTS, "events")
        events = admit_all(drafts, self._state.next_seq, now_ms, self._registry)
        for event in events:
            if event.type in SURFACE_TYPES:
                _refuse_empty_replacement(event)
        if self._strict and not own:
            self._refuse_breach(events)
        return events

    def admit_one(
        self,
        type_: str,
        data: Any,
        surface: str | Replace | dict[str, Any] | None,
        sources: Sequence[int] | None,
        ignorable: bool,
        time_ms: int | None,
        now_ms: int,
    ) -> Event:
        """Check one draft, given as its fields, as `admit` does."""
        seq = self._state.next_seq
        # Most events are deltas: they don't even become a Draft.
        if (
            type(type_) is str
            and type_ == CHUNK_TYPE
            and surface is None
            and sources is None
            and ignorable is False
            and time_ms is None
            and not self._strict
        ):
            event = hot_chunk(data, seq, now_ms)
            if event is not None:
                return event
        draft = Draft(type_, data, surface, sources, ignorable, time_ms)
        event = admit(draft, seq, now_ms, self._registry)
        if event.type in SURFACE_TYPES:
            _refuse_empty_replacement(event)
        if self._strict:
            self._refuse_breach([event])
        return event

    def add_one(self, event: Event) -> None:
        """Add an admitted event. Raises SurfaceRefused."""
        self._state.apply(event)
        self._rows.append(event)

    def add(self, events: Sequence[Event]) -> None:
        """Add admitted events, all of them or none. Raises SurfaceRefused."""
        self._state.apply(events)
        self._rows.extend(events)

    def stored(self, drafts: Sequence[Draft], seq: int) -> list[Event] | None:
        """The events at `seq` and on, where these very drafts stand there; times don't count."""
        end = seq + len(drafts)
        if not drafts or seq < 0 or end > self.next_seq:
            return None
        stored = list(self.log().events(seq, end))
        asked = (admit(draft, at, 0, self._registry) for at, draft in enumerate(drafts, seq))
        return stored if all(map(_same_but_time, stored, asked)) else None

    def end_run(self) -> None:
        """End the open run of chunks, so that the rows so far stay as they are."""
        self._rows.end_run()

    def rows(self, start: int) -> tuple[Row, ...]:
        """The rows from the event at `start` on."""
        return self._rows.rows(start)

    def log(self) -> Log:
        """The log as it stands now."""
        return self._rows.log(self.header)

    def last(self) -> Event | None:
        """The last event; None where the log is empty."""
        return self._rows.event(self.next_seq - 1) if self.next_seq else None

    def state(self) -> SessionState:
        """A copy of the hot state."""
        return self._state.copy()

    def messages(self) -> list[Message]:
        """The Messages now, a new list."""
        return self._messages.of(self._state)

    def request(self) -> Request:
        """The request now: header in force and Messages."""
        self._request_follower.catch_up()
        return self._requests.request(self.messages(), self.next_seq)

    def inbox(self) -> Inbox:
        """The pending messages now. Raises BadSplice where a stored splice does not fit."""
        self._inbox_follower.catch_up()
        return self._inbox.inbox

    def check_dispatch(self, request: Request) -> None:
        """Check that a request may leave. Raises ViewBreach, RequestMismatch."""
        self._request_follower.catch_up()
        view = self.messages()
        broken = unpaired(view)
        if broken:
            raise ViewBreach(broken)
        self._requests.check(view, request)

    def breaches(self) -> tuple[Breach, ...]:
        """The breaches of the invariants so far."""
        if self._checked_seq < self.next_seq:
            for row in self._rows.rows(self._checked_seq):
                # An embedder's fold may raise: it then is asked about the whole row again.
                fold = self._invariants.copy() if self._has_own else self._invariants
                self._breaches.extend(fold.check_row(row))
                self._invariants = fold
                self._checked_seq = row.first_seq + row.count
        return tuple(self._breaches)

    def _refuse_breach(self, events: Sequence[Event]) -> None:
        self.breaches()
        trial = self._invariants.copy()
        for event in events:
            for breach in trial.check(event):
                raise InvariantBreach(breach.seq, breach.rule, breach.reason)


def check_group_size(events: Sequence[Event]) -> int:
    """Give the size of events as rows, in bytes, at most.

    Raises TooLarge where several events don't fit one commit.
    """
    size = rows_bytes(events)
    if len(events) > 1 and size > MAX_EVENT_BYTES:
        # As it is stored: packed, and as a JSON array.
        packed = RowLog()
        packed.extend(events)
        size = 1 + sum(len(row.text) + 1 for row in packed.rows())
        if size > MAX_EVENT_BYTES:
            raise TooLarge(size, MAX_EVENT_BYTES)
    return size


def _refuse_empty_replacement(event: Event) -> None:
    if event.appends:
        return
    data = event.to_json()["data"]
    message = data if event.type == "user/message" else data.get("message")
    if type(message) is dict and message.get("content") == []:
        raise EmptyReplacement(event.seq)


def _same_but_time(stored: Event, asked: Event) -> bool:
    one, other = stored.to_json(), asked.to_json()
    one["time"] = other["time"] = 0
    return deep_equal(one, other)
