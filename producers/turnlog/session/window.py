"""The write-behind window: events become durable in the background a bounded time after append."""

from __future__ import annotations

import logging
import threading
import time
from typing import Protocol

from turnlog.events.errors import TurnlogError

__all__ = ["Pending", "WriteBehind"]

_log = logging.getLogger(__name__)


class Pending(Protocol):
    """One session's pending events."""

    def send(self) -> bool:
        """Hand over what is pending; False where that must be tried again."""
        ...


class WriteBehind:
    """One window shared by the sessions of a store.

    Opened by the first pending event, not moved by later ones; when it ends, one thread hands over
    what every session has pending. A failure is logged once for each session and tried again with
    the next window, so nothing is lost and no order changes.
    """

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._wake = threading.Condition()
        self._pending: set[Pending] = set()
        self._failing: set[Pending] = set()
        self._deadline: float | None = None
        self._closed = False
        self._thread: threading.Thread | None = None
        self._is_starved = False

    def open(self, pending: Pending) -> bool:
        """Note that something is pending; starts the window where none is open.

        False where the system gives no thread for it now: the next call tries again. Never raises,
        for what is pending was accepted already.
        """
        with self._wake:
            self._pending.add(pending)
            if self._deadline is None and not self._closed:
                if self._thread is None and not self._start():
                    return False
                self._deadline = time.monotonic() + self._window_s
                self._wake.notify()
            return True

    def hurry(self) -> None:
        """End the window that is open, if one is."""
        with self._wake:
            if self._deadline is not None:
                self._deadline = time.monotonic()
                self._wake.notify()

    def forked(self) -> None:
        """Hear, in a forked child, that the thread is the parent's, and maybe holds the lock."""
        self._wake = threading.Condition()
        self._closed = True
        self._thread = None

    def close(self) -> None:
        """Stop the thread; what is pending stays with its sessions."""
        with self._wake:
            self._closed = True
            self._wake.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _start(self) -> bool:
        thread = threading.Thread(target=self._run, name="turnlog-write-behind", daemon=True)
        try:
            thread.start()
        except (RuntimeError, MemoryError) as error:
            if not self._is_starved:
                _log.warning("no write-behind: %s; events wait for a flush or a thread", error)
            self._is_starved = True
            return False
        self._thread = thread
        self._is_starved = False
        return True

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._closed and (
                    self._deadline is None or self._deadline > time.monotonic()
                ):
                    deadline = self._deadline
                    self._wake.wait(
                        None if deadline is None else max(0.0, deadline - time.monotonic())
                    )
                if self._closed:
                    return
                self._deadline = None
                sessions, self._pending = self._pending, set()
            for session in sessions:
                self._send(session)

    def _send(self, session: Pending) -> None:
        try:
            sent = session.send()
        except TurnlogError as error:
            if session not in self._failing:
                self._failing.add(session)
                _log.warning("write-behind failed and will be tried again: %s", error)
            sent = False
        except Exception:  # noqa: BLE001 - one session's fault must not end all others'
            _log.exception("write-behind failed and will be tried again")
            sent = False
        else:
            self._failing.discard(session)
        if not sent:
            self.open(session)
