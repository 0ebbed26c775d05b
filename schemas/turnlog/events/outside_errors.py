"""Errors from outside this process: another writer, or the broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .error_roots import BrokerError, OwnershipError

__all__ = [
    "BrokerUnavailable",
    "Conflict",
    "NotAcknowledged",
    "NotAuthorized",
    "OutcomeUnknown",
    "OwnedElsewhere",
    "StoreFailed",
    "Superseded",
]


class OwnedElsewhere(OwnershipError):
    """Another writer holds the session; ask for a take-over to claim it. Time in epoch ms."""

    def __init__(self, writer: str, host: str | None, last_time_ms: int | None) -> None:
        self.writer = writer
        self.host = host
        self.last_time_ms = last_time_ms
        super().__init__(
            f"held by writer {writer} on {host or 'an unknown host'}, last commit at "
            f"{last_time_ms}: ask for a take-over if that writer is gone"
        )


class Conflict(OwnershipError):
    """A claim lost against another writer; `head` is the real head."""

    def __init__(self, head: Any) -> None:
        self.head = head
        super().__init__(f"another writer moved the session: its head is now {head}")


class Superseded(OwnershipError):
    """Someone else moved the session's head; `not_landed` are the events that didn't land."""

    def __init__(self, head: Any, not_landed: Sequence[Any]) -> None:
        self.head = head
        self.not_landed = tuple(not_landed)
        super().__init__(
            f"another writer took the session over, {len(self.not_landed)} events did not land: "
            "open it again to go on"
        )


class BrokerUnavailable(BrokerError):
    """The broker can't be reached or did not become ready."""


class NotAuthorized(BrokerError):
    """The broker refuses this principal; `resource` names what it refuses."""

    def __init__(self, resource: str) -> None:
        self.resource = resource
        super().__init__(f"not authorized: {resource}")


class StoreFailed(BrokerError):
    """The store could not write, such as on a full disk; nothing of it is durable, all is kept."""

    def __init__(self, reason: str, first_seq: int) -> None:
        self.reason = reason
        self.first_seq = first_seq
        super().__init__(f"could not write events from {first_seq} on: {reason}: flush again")


class NotAcknowledged(BrokerError):
    """A session was detached before all of its events were known to be durable."""

    def __init__(self, session_id: str, events: Sequence[Any]) -> None:
        self.session_id = session_id
        self.events = tuple(events)
        first = f" from seq {self.events[0].seq} on" if self.events else ""
        super().__init__(
            f"session {session_id!r}: {len(self.events)} events{first} are not acknowledged"
        )


class OutcomeUnknown(BrokerError):
    """The time is up and events from `first_seq` on may or may not have landed; flush again."""

    def __init__(self, first_seq: int) -> None:
        self.first_seq = first_seq
        super().__init__(f"outcome of events from {first_seq} on is unknown: flush again")
