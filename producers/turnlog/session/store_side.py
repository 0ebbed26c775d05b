"""The side of a session that its store sees."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from turnlog.events.errors import Closed, Superseded
from turnlog.events.event import Draft, Event
from turnlog.events.rows import Row
from turnlog.kernel.restore import END_SEED

from .core import SessionCore
from .link import StoreLink

__all__ = ["StoreSide", "store_side"]


class StoreSide:
    """A session as its store handles it: what an embedder must not do."""

    def __init__(self, session: SessionCore) -> None:
        self._session = session

    @property
    def id(self) -> str:
        """The session's id."""
        return self._session.id

    @property
    def lock(self) -> threading.RLock:
        """Held while an event is appended and told."""
        return self._session._lock

    def attach(self, link: StoreLink) -> None:
        """Bind the session to what makes its events durable; once."""
        self._session._link = link

    def take(self, start: int) -> tuple[tuple[Row, ...], int]:
        """The rows from `start` on, fixed from now on, and their end."""
        with self._session._lock:
            live = self._session._live
            live.end_run()
            return live.rows(start), live.next_seq

    def append(self, drafts: Sequence[Draft]) -> list[Event]:
        """Append the store's own events as one group; heeds neither strictness nor the buffer."""
        with self._session._lock:
            events = self._session._append_group(drafts, None, own=True)
        self._session._detach_if_asked()
        return events

    def end_seed(self) -> None:
        """Append `session/end-seed` unless the log ends with one."""
        with self._session._changing() as live:
            last = live.last()
            if last is None or last.type != END_SEED:
                self.append([Draft(END_SEED, {})])

    def supersede(self, error: Superseded) -> None:
        """Another writer moved the head: close with the events that did not land."""
        with self._session._lock:
            self._session._not_landed = error.not_landed
            self._session._closed = error

    def close(self) -> None:
        """Refuse appends from now on, without I/O."""
        with self._session._lock:
            self._session._closed = self._session._closed or Closed(f"session {self.id!r}")

    def check_outside(self, what: str) -> None:
        """Refuse to wait for I/O inside an observer of the session. Raises Reentrant."""
        self._session._check_outside(what)

    def last_time_ms(self) -> int:
        """The time of the session's last event, or of its making; epoch milliseconds."""
        with self._session._lock:
            last = self._session._live.last()
        return self._session.header.created_at_ms if last is None else last.time_ms


def store_side(session: SessionCore) -> StoreSide:
    """The store's side of a session; private to this package."""
    return StoreSide(session)
