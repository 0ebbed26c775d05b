"""The sessions of one store object: those that are open, and those that are on their way."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

from turnlog.events.errors import Closed, SessionExists

from .session import Session

__all__ = ["LiveSessions"]

_log = logging.getLogger(__name__)


class LiveSessions:
    """Live sessions by id; thread-safe, and never locked while anybody waits for I/O.

    Whoever makes a session first reserves its id, then does the I/O, then adds the session; closing
    waits for those under way, and what they make is refused.
    """

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._own: WeakSet[Session] = WeakSet()
        self._reserved: set[str] = set()
        self._working = 0
        self._closed = False
        self._changed = threading.Condition()

    def get(self, id: str) -> Session | None:
        """The live session of an id."""
        with self._changed:
            return self._sessions.get(id)

    def all(self) -> list[Session]:
        """The live sessions, in the order of their adding."""
        with self._changed:
            return list(self._sessions.values())

    def owns(self, session: Session) -> bool:
        """Whether a session is or was one of these."""
        with self._changed:
            return session in self._own

    def check_open(self) -> None:
        """Refuse new work after the end. Raises Closed."""
        if self._closed:
            raise Closed("the store")

    @contextmanager
    def working(self) -> Iterator[None]:
        """Do something that must end before the store does. Raises Closed."""
        with self._changed:
            self.check_open()
            self._working += 1
        try:
            yield
        finally:
            with self._changed:
                self._working -= 1
                self._changed.notify_all()

    @contextmanager
    def making(self, id: str) -> Iterator[None]:
        """Keep an id to oneself until its session is added. Raises Closed, SessionExists."""
        with self.working():
            with self._changed:
                if id in self._sessions or id in self._reserved:
                    raise SessionExists(id)
                self._reserved.add(id)
            try:
                yield
            finally:
                with self._changed:
                    self._reserved.discard(id)

    def add(self, session: Session) -> None:
        """Add the session whose id is reserved. Raises Closed."""
        with self._changed:
            self.check_open()
            self._sessions[session.id] = session
            self._own.add(session)

    def remove(self, session: Session) -> None:
        """Forget a session that ended."""
        with self._changed:
            if self._sessions.get(session.id) is session:
                del self._sessions[session.id]
            self._changed.notify_all()

    def close(self) -> bool:
        """Take no new work; gives whether this is the first call."""
        with self._changed:
            first, self._closed = not self._closed, True
            return first

    def wait_until_gone(self, timeout_s: float) -> None:
        """Return when every session has ended and nothing is under way, or the time is up."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while self._sessions or self._working:
                if not self._changed.wait(deadline - time.monotonic()):
                    _log.error(
                        "the store ends with %d sessions and %d operations under way",
                        len(self._sessions),
                        self._working,
                    )
                    return

    def forked(self) -> None:
        """Hear, in a forked child, that all of this is the parent's."""
        self._changed = threading.Condition()
        self._sessions = {}
        self._working = 0
        self._closed = True
