"""Every error that turnlog raises, split by who must act.

    TurnlogError
    ├── CallerError          the caller changes the call
    │   ├── NotLossless  BadShape  SurfaceRefused  UnregisteredType  TooLarge
    │   ├── Backpressure  Reentrant  Closed  NotDurable
    │   ├── BadSessionId  UnknownSession  SessionExists
    │   ├── InvalidBoundary  OpenTurn  EmptyReplacement  PresetMismatch
    │   └── RequestMismatch  InvariantBreach  ViewBreach
    ├── DataError            the stored data is not what it should be
    │   ├── BadRow  MissingField  RestoreRefused  UnknownRequiredType  BadSplice
    │   ├── BrokenLog ── DamagedFile
    │   └── NewerThanReader  LogStartCut  LineageCycle  ImportConflict  BadCheckpoint
    ├── OwnershipError       another writer moved the session
    │   └── OwnedElsewhere  Conflict  Superseded
    ├── BrokerError          the broker must be there, or must allow it
    │   └── BrokerUnavailable  NotAuthorized  OutcomeUnknown  StoreFailed  NotAcknowledged
    └── SinkError            a group's database failed

An error carries its facts as attributes; its text says what was expected, what was found and, where
there is one, what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "Backpressure",
    "BadCheckpoint",
    "BadRow",
    "BadSessionId",
    "BadShape",
    "BadSplice",
    "BrokenLog",
    "BrokerError",
    "BrokerUnavailable",
    "CallerError",
    "Closed",
    "Conflict",
    "DamagedFile",
    "DataError",
    "EmptyReplacement",
    "ImportConflict",
    "InvalidBoundary",
    "InvariantBreach",
    "LineageCycle",
    "LogStartCut",
    "MissingField",
    "NewerThanReader",
    "NotAcknowledged",
    "NotAuthorized",
    "NotDurable",
    "NotLossless",
    "OpenTurn",
    "OutcomeUnknown",
    "OwnedElsewhere",
    "OwnershipError",
    "PresetMismatch",
    "Reentrant",
    "RequestMismatch",
    "RestoreRefused",
    "SessionExists",
    "SinkError",
    "StoreFailed",
    "Superseded",
    "SurfaceRefused",
    "TooLarge",
    "TurnlogError",
    "UnknownRequiredType",
    "UnknownSession",
    "UnregisteredType",
    "ViewBreach",
]


class TurnlogError(Exception):
    """The root of all errors that turnlog raises."""


class CallerError(TurnlogError):
    """The call is wrong as it stands; nothing was changed."""


class DataError(TurnlogError):
    """Stored data is not what it should be; nothing was dropped or changed."""


class OwnershipError(TurnlogError):
    """Another writer holds or moved the session."""


class BrokerError(TurnlogError):
    """The broker is out of reach, refuses, or did not answer."""


class SinkError(TurnlogError):
    """A consumer group's database failed."""


# --- CallerError ---------------------------------------------------------------------------------


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
            f"event type {type!r} is not registered: register it, or mark the event ignorable"
        )


class TooLarge(CallerError):
    """An event or a group of events is above the size of one commit; sizes in bytes or events."""

    def __init__(self, found: int, limit: int, unit: str = "bytes") -> None:
        self.found = found
        self.limit = limit
        self.unit = unit
        super().__init__(f"expected at most {limit} {unit}, found {found}")


class Backpressure(CallerError):
    """The buffer of events not yet durable is full, in bytes; flush, or await `aappend`."""

    def __init__(self, pending: int, limit: int) -> None:
        self.pending = pending
        self.limit = limit
        super().__init__(
            f"{pending} bytes wait to become durable, at most {limit} may: flush, or use aappend"
        )


class Reentrant(CallerError):
    """An append from inside an observer of the same session."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"append to {session_id!r} from inside one of its own observers")


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
        super().__init__(f"boundary: expected a seq below {next_seq}, found {_shown(boundary)}")


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
        super().__init__(f"agent preset: recorded {recorded!r}, asked for {asked!r}")


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


# --- DataError -----------------------------------------------------------------------------------


class BadRow(DataError):
    """A storage row that can't be read as an event or as packed chunks."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"storage row: {reason}")


class MissingField(DataError):
    """A stored event lacks the field that a view reads."""

    def __init__(self, seq: int, field: str) -> None:
        self.seq = seq
        self.field = field
        super().__init__(f"event {seq} lacks {field}")


class RestoreRefused(DataError):
    """A stored log breaks a rule of restore; `index` is None where the header does."""

    def __init__(self, index: int | None, reason: str) -> None:
        self.index = index
        self.reason = reason
        where = "header" if index is None else f"event at index {index}"
        super().__init__(f"{where}: {reason}")


class UnknownRequiredType(DataError):
    """A stored event of a type that this reader does not know and may not ignore."""

    def __init__(self, type: str, seq: int) -> None:
        self.type = type
        self.seq = seq
        super().__init__(
            f"event {seq} has the unknown type {type!r}: register it to resume; "
            "viewing and export work without"
        )


class BadSplice(DataError):
    """A stored inbox splice that does not fit its list."""

    def __init__(self, seq: int, reason: str) -> None:
        self.seq = seq
        self.reason = reason
        super().__init__(f"inbox splice {seq}: {reason}")


class BrokenLog(DataError):
    """Bytes of a log are not what they claim to be."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class DamagedFile(BrokenLog):
    """Bytes `[start, end)` of a JSONL file hold no whole record; `line` counts from 1.

    `torn_tail` tells that they are the file's last line, without an end: a write that was never
    acknowledged.
    """

    def __init__(self, reason: str, *, start: int, end: int, line: int, torn_tail: bool) -> None:
        super().__init__(f"line {line}, bytes {start} to {end} (exclusive): {reason}")
        self.reason = reason
        self.start = start
        self.end = end
        self.line = line
        self.torn_tail = torn_tail


class NewerThanReader(DataError):
    """A record of a format that this version does not know; upgrade to read on."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"{what} is newer than this reader: upgrade turnlog to read it")


class LogStartCut(DataError):
    """Events below `log_start_offset` are gone; offsets half open `[asked, log_start)`."""

    def __init__(self, asked_offset: int, log_start_offset: int) -> None:
        self.asked_offset = asked_offset
        self.log_start_offset = log_start_offset
        super().__init__(f"offsets {asked_offset} to {log_start_offset} (exclusive) are gone")


class LineageCycle(DataError):
    """Sessions name each other as parents in a circle."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"the ancestors of {session_id!r} form a circle")


class ImportConflict(DataError):
    """An imported log differs from the stored one; nothing was changed. `seq` None: the header."""

    def __init__(self, session_id: str, seq: int | None) -> None:
        self.session_id = session_id
        self.seq = seq
        where = "in its header" if seq is None else f"at seq {seq}"
        super().__init__(f"session {session_id!r} is stored already and differs {where}")


class BadCheckpoint(DataError):
    """A checkpoint that can't be used here; rebuild from the log."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"checkpoint: {reason}")


# --- OwnershipError ------------------------------------------------------------------------------


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
    """The session's head was moved by someone else; `not_landed` are the events that didn't land."""

    def __init__(self, head: Any, not_landed: Sequence[Any]) -> None:
        self.head = head
        self.not_landed = tuple(not_landed)
        super().__init__(
            f"another writer took the session over, {len(self.not_landed)} events did not land: "
            "open it again to go on"
        )


# --- BrokerError ---------------------------------------------------------------------------------


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


def shown(value: object) -> str:
    """Show a value that an error found: one short line, whatever the value is."""
    if value is None:
        return "nothing"
    kind = type(value)
    if kind is dict or kind is list:
        return "an object" if kind is dict else "a list"
    if type(value) is str:
        return repr(value[:80])
    if (type(value) is int or type(value) is float) and -(2**64) < value < 2**64:
        return repr(value)
    if type(value) is bool:
        return repr(value)
    return f"a value of type {type_name(kind)}"


def type_name(kind: type) -> str:
    """Give a type's name, also where its metaclass does not want to."""
    name: str = type.__getattribute__(kind, "__qualname__")
    return name


def _shown(value: object) -> str:
    """Show a caller's argument: short, and without descending into it."""
    if isinstance(value, str | float) or (isinstance(value, int) and value.bit_length() <= 64):
        return f"{value!r:.80}"
    return f"a value of type {type(value).__name__}"


def format_path(path: Sequence[str | int]) -> str:
    """Show a path inside a value, such as `$.tools[2].name`; a long one is cut in the middle."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part!s}" for part in path]
    if len(parts) > 24:
        parts = [*parts[:12], f" … {len(parts) - 24} more … ", *parts[-12:]]
    return "$" + "".join(parts)
