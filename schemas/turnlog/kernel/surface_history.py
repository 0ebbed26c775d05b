"""What became of each event on the Surface: current, shadowed or log-only, and by which replace."""

from __future__ import annotations

from enum import StrEnum

from turnlog.events.errors import MissingField, SurfaceRefused
from turnlog.events.event import Event

from .surface import Surface

__all__ = ["SurfaceHistory", "SurfaceState"]


class SurfaceState(StrEnum):
    """Where an event stands: on the Surface, replaced on it, or never on it."""

    CURRENT = "current"
    SHADOWED = "shadowed"
    LOG_ONLY = "log-only"


class SurfaceHistory:
    """A fold of the Surface that also remembers what each replace shadowed.

    It serves viewing, so it reads a damaged log to its end: an event that the Surface refuses, or
    that does not come after all before it, changes nothing, is log-only, and has a `refusal`.
    """

    def __init__(self) -> None:
        self._surface = Surface()
        self._last_seq = -1
        self._replaced_by: dict[int, int] = {}
        self._shadowed: dict[int, tuple[int, ...]] = {}
        self._refusals: dict[int, str] = {}

    def fold(self, event: Event) -> None:
        """Take the next event."""
        if event.seq <= self._last_seq:
            self._refusals[event.seq] = f"event {event.seq} comes after event {self._last_seq}"
            return
        self._last_seq = event.seq
        try:
            change = self._surface.plan(event)
        except (SurfaceRefused, MissingField) as error:
            self._refusals[event.seq] = str(error)
            return
        self._surface.apply(change)
        if change is not None and change.shadowed:
            self._shadowed[change.seq] = change.shadowed
            self._replaced_by.update(dict.fromkeys(change.shadowed, change.seq))

    def state(self, seq: int) -> SurfaceState:
        """Where the event at a seq stands now."""
        if seq in self._surface:
            return SurfaceState.CURRENT
        return SurfaceState.SHADOWED if seq in self._replaced_by else SurfaceState.LOG_ONLY

    def replaced_by(self, seq: int) -> int | None:
        """The event whose replace shadowed this one; None where none did."""
        return self._replaced_by.get(seq)

    def shadowed(self, seq: int) -> tuple[int, ...]:
        """What this event's replace shadowed, in Surface order; nothing where it is no replace."""
        return self._shadowed.get(seq, ())

    def refusal(self, seq: int) -> str | None:
        """Why the Surface refused an event; None where it did not."""
        return self._refusals.get(seq)
