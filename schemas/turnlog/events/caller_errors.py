"""Errors of the call: nothing was changed, the caller changes the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .error_roots import CallerError
from .error_text import format_path, shown

__all__ = [
    "Backpressure",
    "BadSessionId",
    "BadShape",
    "Closed",
    "EmptyReplacement",
    "InvalidBoundary",
    "InvariantBreach",
    "NotDurable",
    "NotLossless",
    "OpenTurn",
    "PresetMismatch",
    "Reentrant",
    "RequestMismatch",
    "SessionExists",
    "SurfaceRefused",
    "TooLarge",
    "UnknownSession",
    "UnregisteredType",
    "ViewBreach",
]


class NotLossless(CallerError):
    """A value that JSON can't hold without loss; `path` leads to it from the value's root."""

    def __init__(self, path: Sequence[str | int], found: str) -> None:
        self.path = tuple(path)
        self.found = found
        super().__init__(f"expected lossless JSON at {format_path(self.path)}, found {found}")


class BadShape(CallerError):
    """A field of an event, header or message is not of its shape."""

    def __init__(self, field: str, expected: str, found: str) -> None:
        self.field = field
        self.expected = expected
        self.found = found
        super().__init__(f"{field}: expected {expected}, found {found}")


class SurfaceRefused(CallerError):
    """The Surface operation or the cited sources of an event break a rule of the Surface."""

    def __init__(self, reason: str, *, seq: int) -> None:
        self.reason = reason
        self.seq = seq
        super().__init__(f"event {seq}: {reason}")


class UnregisteredType(CallerError):
    """An event type that this writer does not know, on an event that is not ignorable."""

    def __init__(self, type: str) -> None:
        self.type = type
        super().__init__(
            f"event type {shown(type)} is not registered: register it, or mark the event ignorable"
        )


class TooLarge(CallerError):
    """An event or a group of events is above the size of one commit; sizes in bytes or events."""

    def __init__(self, found: int, limit: int, unit: str = "bytes") -> None:
        self.found = found
        self.limit = limit
        self.unit = unit
        super().__init__(f"expected at most {limit} {unit}, found {found}")


class Backpressure(CallerError):
    """The buffer of events not yet durable is full; flush, or await `aappend`. Sizes in bytes.

    `wanted` is the size of what was to be appended.
    """

    def __init__(self, pending: int, limit: int, wanted: int = 0) -> None:
        self.pending = pending
        self.limit = limit
        self.wanted = wanted
        super().__init__(
            f"{pending} bytes wait to become durable, at most {limit} may: flush, or use aappend"
        )


class Reentrant(CallerError):
    """An append or a wait for I/O from inside an observer of the same session.

    `what` says what was tried, as in "flush of".
    """

    def __init__(self, session_id: str, what: str = "append to") -> None:
        self.session_id = session_id
        self.what = what
        super().__init__(f"{what} {session_id!r} from inside one of its own observers")


class Closed(CallerError):
    """The session or store is detached; open it again to go on."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"{what} is closed: open it again to go on")


class NotDurable(CallerError):
    """The store keeps nothing, so there is nothing to resume."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id!r}: a store that keeps nothing can't resume it")


class BadSessionId(CallerError):
    """A session id that no store takes."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"session id: expected 1 to 255 code points, {reason}")


class UnknownSession(CallerError):
    """No session of this id is in the store."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"no session {session_id!r}")


class SessionExists(CallerError):
    """A session of this id is in the store already."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id!r} exists: open it, or choose another id")


class InvalidBoundary(CallerError):
    """A fork's boundary is not a seq of the source's log."""

    def __init__(self, boundary: object, next_seq: int) -> None:
        self.boundary = boundary
        self.next_seq = next_seq
        super().__init__(f"boundary: expected a seq below {next_seq}, found {shown(boundary)}")


class OpenTurn(CallerError):
    """A fork's boundary lies inside an open turn."""

    def __init__(self, boundary: int, turn_seq: int) -> None:
        self.boundary = boundary
        self.turn_seq = turn_seq
        super().__init__(
            f"boundary {boundary} lies inside the turn that starts at {turn_seq}: "
            "close the turn, or fork at its start"
        )


class EmptyReplacement(CallerError):
    """A replace by a message with empty content would take text from the model for nothing."""

    def __init__(self, seq: int) -> None:
        self.seq = seq
        super().__init__(f"event {seq} replaces by a message with empty content")


class PresetMismatch(CallerError):
    """A session is resumed under another agent preset than its header names."""

    def __init__(self, recorded: str | None, asked: str | None) -> None:
        self.recorded = recorded
        self.asked = asked
        super().__init__(f"agent preset: recorded {shown(recorded)}, asked for {shown(asked)}")


class RequestMismatch(CallerError):
    """A model request is not what the log says that the model sees."""

    def __init__(self, field: str, expected: str, found: str) -> None:
        self.field = field
        self.expected = expected
        self.found = found
        super().__init__(f"request {field}: the log has {expected}, the request {found}")


class InvariantBreach(CallerError):
    """An event breaks a relation over the log in a session opened `strict`."""

    def __init__(self, seq: int, rule: str, reason: str) -> None:
        self.seq = seq
        self.rule = rule
        self.reason = reason
        super().__init__(f"event {seq} breaks {rule}: {reason}")


class ViewBreach(CallerError):
    """The model's view has calls and results that don't pair; no request may leave."""

    def __init__(self, breaches: Sequence[Any]) -> None:
        self.breaches = tuple(breaches)
        named = "; ".join(str(getattr(breach, "reason", breach)) for breach in self.breaches)
        super().__init__(f"the model's view does not pair: {named}: repair or replace first")
