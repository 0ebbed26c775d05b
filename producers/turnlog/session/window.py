"""The write-behind window: events become durable in the background a bounded time after append."""

from __future__ import annotations

import logging
import threading
import time
from typing import Protocol

from turnlog.events.errors import Superseded, TurnlogError

__all__ = ["Drainable", "WriteBehind"]

_log = logging.getLogger(__name__)


class Drainable(Protocol):
    """What the window writes out: one session's pending events."""

    def drain(self, *, timeout_s: float) -> object:
        """Make what is pending durable."""
        ...


class WriteBehind:
    """One window shared by the sessions of a store.

    Opened by the first pending event, not moved by later ones; when it ends, one thread drains
    every session that has something pending. A failed drain is logged once per session and tried
    again with the next window, so nothing is lost and no order changes.
    """

    def __init__(self, window_s: float, timeout_s: float) -> None:
        self._window_s = window_s
        self._timeout_s = timeout_s
        self._wake = threading.Condition()
        self._pending: dict[int, Drainable] = {}
        self._failing: set[int] = set()
        self._deadline: float | None = None
        self._closed = False
        self._thread: threading.Thread | None = None

    def open(self, drainable: Drainable) -> None:
        """Note that something is pending; starts the window where none is open."""
        with self._wake:
            self._pending[id(drainable)] = drainable
            if self._deadline is None and not self._closed:
                self._deadline = time.monotonic() + self._window_s
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._run, name="turnlog-write-behind", daemon=True
                    )
                    self._thread.start()
                self._wake.notify()

    def forget(self, drainable: Drainable) -> None:
        """Note that nothing is pending any more."""
        with self._wake:
            self._pending.pop(id(drainable), None)
            self._failing.discard(id(drainable))

    def close(self) -> None:
        """Stop the thread; what is pending stays with its sessions."""
        with self._wake:
            self._closed = True
            self._wake.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._closed and (
                    self._deadline is None or self._deadline > time.monotonic()
                ):
                    remaining = self._deadline
                    self._wake.wait(
                        None if remaining is None else max(0.0, remaining - time.monotonic())
                    )
                if self._closed:
                    return
                self._deadline = None
                pending, self._pending = self._pending, {}
            for drainable in pending.values():
                self._drain(drainable)

    def _drain(self, drainable: Drainable) -> None:
        try:
            drainable.drain(timeout_s=self._timeout_s)
        except Superseded:
            return  # the session has closed itself and raises it to its user
        except TurnlogError as error:
            if id(drainable) not in self._failing:
                self._failing.add(id(drainable))
                _log.warning("write-behind failed and will be tried again: %s", error)
            self.open(drainable)
        else:
            self._failing.discard(id(drainable))
