"""Errors from outside this process: another writer, or the broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .error_roots import BrokerError, OwnershipError

__all__ = [
    "BrokerUnavailable",
    "Conflict",
    "LayoutMismatch",
    "NotAcknowledged",
    "NotAuthorized",
    "OutcomeUnknown",
    "OwnedElsewhere",
    "StoreFailed",
    "Superseded",
]


class OwnedElsewhere(OwnershipError):
    """Another session object holds the session. Time in epoch ms.

    `here` tells that it is one of the asking store object: no take-over helps, use that one.
    """

    def __init__(
        self, writer: str, host: str | None, last_time_ms: int | None, *, here: bool = False
    ) -> None:
        self.writer = writer
        self.host = host
        self.last_time_ms = last_time_ms
        self.here = here
        last = "" if last_time_ms is None else f", last commit at {last_time_ms}"
        if here:
            text = f"open in this very store object{last}: use that session, or detach it first"
        else:
            text = (
                f"held by writer {writer} on {host or 'an unknown host'}{last}: "
                "ask for a take-over if that writer is gone"
            )
        super().__init__(text)


class Conflict(OwnershipError):
    """The session is not where the caller takes it to be; `head` is the real head.

    Without `expected_seq` a claim lost against another writer. With it the session's own log goes
    on from another seq: `head` then counts what is in flight too, and its hash is empty where that
    has none yet.
    """

    def __init__(self, head: Any, expected_seq: int | None = None) -> None:
        self.head = head
        self.expected_seq = expected_seq
        if expected_seq is None:
            text = f"another writer moved the session: its head is now {head}"
        else:
            text = (
                f"expected the session to go on at seq {expected_seq}, but with all that is in "
                f"flight its head is {head}: read what is new, and decide again"
            )
        super().__init__(text)


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


class LayoutMismatch(BrokerError):
    """A topic has another number of partitions than `meta` says, so no session's place is sure."""

    def __init__(self, topic: str, expected: int | None, found: int) -> None:
        self.topic = topic
        self.expected = expected
        self.found = found
        said = "meta says nothing of it" if expected is None else f"meta says {expected}"
        super().__init__(f"{topic} has {found} partitions, {said}: see ensure_topics")


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
