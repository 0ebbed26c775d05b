"""Observers of a session: told in registration order, their failures contained."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

__all__ = ["Observers"]

_log = logging.getLogger(__name__)


class Observers:
    """A list of callbacks; `tell` calls each, and a failing one stops no other."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[Any], object]] = []

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    def add(self, callback: Callable[[Any], object]) -> Callable[[], None]:
        """Register a callback; the result takes it off again, once."""
        entry = callback
        self._callbacks.append(entry)

        def remove() -> None:
            # By identity: two registrations of one callback are two.
            for index, other in enumerate(self._callbacks):
                if other is entry:
                    del self._callbacks[index]
                    return

        return remove

    def tell(self, subject: Any) -> None:
        """Call each callback with the subject; log and contain what it raises."""
        for callback in tuple(self._callbacks):
            try:
                callback(subject)
            except Exception:  # noqa: BLE001 - whatever an observer raises is contained
                _log.exception("an observer failed; the session goes on")
