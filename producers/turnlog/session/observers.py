"""Observers: told in registration order, their failures contained unless they may veto."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Observers"]

_log = logging.getLogger(__name__)

_T = TypeVar("_T")


class _Registration(Generic[_T]):
    """One registration: two of one callback are two."""

    def __init__(self, callback: Callable[[_T], object]) -> None:
        self.callback = callback


class Observers(Generic[_T]):
    """A list of callbacks that hear of one kind of subject; may change while they are told."""

    def __init__(self) -> None:
        self._registrations: list[_Registration[_T]] = []

    def __bool__(self) -> bool:
        return bool(self._registrations)

    def add(self, callback: Callable[[_T], object]) -> Callable[[], None]:
        """Register a callback; the result takes this registration off again, once."""
        registration = _Registration(callback)
        self._registrations.append(registration)

        def remove() -> None:
            if registration in self._registrations:
                self._registrations.remove(registration)

        return remove

    def tell(self, subject: _T) -> None:
        """Call each callback with the subject; log and contain what it raises.

        What asks the process to end, a KeyboardInterrupt or a SystemExit, goes on after all heard.
        """
        ending: BaseException | None = None
        for registration in tuple(self._registrations):
            try:
                registration.callback(subject)
            except (KeyboardInterrupt, SystemExit) as error:
                ending = ending or error
            except BaseException:  # noqa: BLE001 - a cancellation is the observer's own, too
                _log.exception("an observer failed; the session goes on")
        if ending is not None:
            raise ending

    def ask(self, subject: _T) -> None:
        """Call each callback with the subject; the first that raises ends it, and is a veto."""
        for registration in tuple(self._registrations):
            registration.callback(subject)
