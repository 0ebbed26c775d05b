"""What a session needs of the store that owns it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from turnlog.events.head import Head

__all__ = ["StoreLink"]


class StoreLink(Protocol):
    """Makes the events of one session durable."""

    def reserve(self, size_bytes: int, *, limited: bool = True) -> None:
        """Take room in the buffer for events. Raises Backpressure, where `limited`."""
        ...

    def unreserve(self, size_bytes: int) -> None:
        """Give back room for events that were refused after all."""
        ...

    def appended(self, first_seq: int, count: int, size_bytes: int) -> None:
        """Hear that events wait to become durable."""
        ...

    def when_room(self, size_bytes: int, wake: Callable[[], object]) -> Callable[[], None]:
        """Have `wake` called, from any thread, when there may be room; the result forgets it."""
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
