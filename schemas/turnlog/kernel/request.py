"""The model request: the header in force and the Messages, and its check at dispatch.

Rules: semantics.md section 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Literal

import msgspec

from turnlog.events.error_text import shown
from turnlog.events.errors import BadShape, MissingField, RequestMismatch
from turnlog.events.event import Event
from turnlog.events.gate import Snapshot, snapshot
from turnlog.events.jsontext import deep_equal, dumps, is_object, loads

from .lenient import at
from .log import Log
from .messages import Message, messages
from .request_header import canonical, header_differences, headers_equal

__all__ = [
    "HeaderReason",
    "Request",
    "RequestFold",
    "check_request",
    "context_to_log",
    "derived_request",
    "header_to_log",
    "prefix_reusable",
    "request_state",
]

HeaderReason = Literal["initial", "resume", "change"]
"""Why a request header is logged."""

_CONTEXT_FIELDS = ("provider", "model", "contextWindow")
_CHECKED_FIELDS = ("model", "system", "temperature", "maxTokens", "stop", "tools")
_PREFIX_FIELDS = {"provider", "model", "system", "tools"}
_ABSENT: Any = object()


class Request(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One model request; immutable.

    `seq` is the length of the log that it was taken from: it holds what the events below say. None
    for a request that was made of values.
    """

    seq: int | None
    _header: bytes | None
    _context: bytes | None
    _messages: tuple[Message | Snapshot, ...]

    @classmethod
    def of(cls, header: Any, messages: Iterable[Any]) -> Request:
        """Make a request of a header (None for none) and messages: JSON, or a log's Messages.

        JSON is copied by the gate.
        Raises NotLossless, TooLarge, and BadShape where the header has no config.
        """
        return cls(
            None,
            None if header is None else dumps(canonical(snapshot(header).value)),
            None,
            tuple(
                message if isinstance(message, Message) else snapshot(message)
                for message in messages
            ),
        )

    @property
    def header(self) -> dict[str, Any] | None:
        """The request header in canonical form, a new copy; None where none was in force."""
        return None if self._header is None else loads(self._header)

    @property
    def context(self) -> Any:
        """The data of the `request/context` in force, a new copy; None where none was."""
        return None if self._context is None else loads(self._context)

    @property
    def messages(self) -> list[Any]:
        """The messages as JSON, new copies."""
        return [message.value for message in self._messages]

    def first_difference(self, other: Request) -> int | None:
        """The index of the first message in which two requests differ; None where none does.

        Where one's messages are the first of the other's: their number. Messages are compared
        deeply, numbers by value, key order ignored.
        """
        for index, (mine, theirs) in enumerate(zip(self._messages, other._messages, strict=False)):
            if mine is not theirs and not deep_equal(mine.value, theirs.value):
                return index
        if len(self) != len(other):
            return min(len(self), len(other))
        return None

    def __len__(self) -> int:
        return len(self._messages)

    def __repr__(self) -> str:
        return f"Request(seq={self.seq}, messages={len(self)})"


class RequestFold:
    """What of a growing log a request depends on besides its Messages.

    Delta chunks change nothing and may be left out. The header and context in force are read when
    they are asked for: a malformed one that another followed hides nothing.
    """

    def __init__(self) -> None:
        self._header: Event | None = None
        self._context: Event | None = None
        self._lifetime_has_header = False
        self._step_started = False

    def fold(self, event: Event) -> None:
        """Take the next event."""
        if event.type == "request/header":
            self._header = event
            self._lifetime_has_header = True
        elif event.type == "request/context":
            self._context = event
        elif event.type == "session/end-seed":
            self._lifetime_has_header = False
        elif event.type == "step/start":
            self._step_started = True

    @property
    def header(self) -> dict[str, Any] | None:
        """The header in force in canonical form, a new copy; None where the log has none.

        Raises MissingField where the stored event lacks it.
        """
        if self._header is None:
            return None
        try:
            return canonical(at(self._header.data, "header"))
        except BadShape as error:
            raise MissingField(self._header.seq, f"data.{error.field}") from None

    @property
    def context(self) -> Any:
        """The data of the context in force, a new copy; None where the log has none."""
        return None if self._context is None else self._context.data

    def request(self, messages: Sequence[Message], seq: int) -> Request:
        """Give the request that the log says with its Messages; `seq` is the log's length.

        Raises MissingField as `header` does.
        """
        header = self.header
        return Request(
            seq,
            None if header is None else dumps(header),
            None if self._context is None else dumps(self._context.data),
            tuple(messages),
        )

    def check(self, messages: Sequence[Message], request: Request) -> None:
        """Check a request against the log's Messages, as `check_request` does.

        Raises RequestMismatch naming the first field at fault, and MissingField as `header` does.
        """
        if not self._step_started:
            raise RequestMismatch("step/start", "none, and must have one", "asks for a model call")
        expected = self.request(messages, 0)
        in_force, sent = expected.header, request.header
        if in_force is None:
            raise RequestMismatch(
                "request/header", "none, and must have one", "asks for a model call"
            )
        if sent is None:
            raise RequestMismatch("header", "one in force", "has none")
        differing = header_differences(in_force, sent)
        for field in _CHECKED_FIELDS:
            if field in differing:
                raise RequestMismatch(field, _shown(in_force, field), _shown(sent, field))
        index = expected.first_difference(request)
        if index is None:
            return
        if index == min(len(expected), len(request)):
            raise RequestMismatch("messages", f"{len(expected)}", f"has {len(request)}")
        raise RequestMismatch(
            "messages", f"that of event {messages[index].seq} at index {index}", "has another there"
        )

    def header_to_log(
        self, header: Any, first_of_lifetime: bool | None = None
    ) -> HeaderReason | None:
        """Tell the reason with which a header must be logged, as `header_to_log` of a log does."""
        form = canonical(header)
        if self._header is None:
            return "initial"
        if first_of_lifetime is None:
            first_of_lifetime = not self._lifetime_has_header
        if first_of_lifetime:
            return "resume"
        return None if headers_equal(self.header, form) else "change"

    def context_to_log(self, context: dict[str, Any]) -> bool:
        """Tell whether a context must be logged, as `context_to_log` of a log does."""
        known = self.context
        if not is_object(known):
            return True
        return not all(
            deep_equal(known.get(name, _ABSENT), context.get(name, _ABSENT))
            for name in _CONTEXT_FIELDS
        )


def request_state(log: Log, at: int | None = None) -> RequestFold:
    """Fold what a request depends on from the events below `at` (exclusive; None for all)."""
    fold = RequestFold()
    for row in log.rows:
        if at is not None and row.first_seq >= at:
            break
        if not row.packed:
            for event in row.events():
                fold.fold(event)
    return fold


def derived_request(log: Log, at: int | None = None) -> Request:
    """Give the request that a log says after its events below `at` (exclusive; None for all).

    Raises SurfaceRefused and MissingField where the stored log can't be projected.
    """
    seq = log.next_seq if at is None else at
    return request_state(log, at).request(messages(log, at), seq)


def check_request(log: Log, request: Request) -> None:
    """Check that a request about to leave is what the log says that the model sees.

    The log must have a `step/start` and a `request/header`; model, system, temperature, maxTokens,
    stop and tools must be those of the header in force, the messages the derived ones.

    Raises RequestMismatch naming the first field at fault; SurfaceRefused and MissingField where
    the log can't be projected.
    """
    request_state(log).check(messages(log), request)


def header_to_log(
    log: Log, header: Any, first_of_lifetime: bool | None = None
) -> HeaderReason | None:
    """Tell the reason with which a header must be logged before its request; None: it need not be.

    `initial`: the log's first. `resume`: a new lifetime's first, even where it is equal. `change`:
    not equal to the one in force; a change of the context alone is none. `first_of_lifetime` None
    asks the log: no header since its last `session/end-seed`.

    Raises BadShape where `header` has no config, MissingField where the stored one has none.
    """
    return request_state(log).header_to_log(header, first_of_lifetime)


def context_to_log(log: Log, context: dict[str, Any]) -> bool:
    """Tell whether a context must be logged before the next request.

    Only a change of provider, model or `contextWindow` counts; absent is not 0.
    """
    return request_state(log).context_to_log(context)


def prefix_reusable(a: Request, b: Request) -> bool:
    """Tell whether a provider's cache of request `a` serves `b`.

    Same provider, model, system and tools, and the messages of `a` are the first of `b`'s.
    """
    of_a, of_b = a.header, b.header
    if of_a is None or of_b is None:
        if of_a is not of_b:
            return False
    elif not _PREFIX_FIELDS.isdisjoint(header_differences(of_a, of_b)):
        return False
    index = a.first_difference(b)
    return index is None or index == len(a)


def _shown(header: dict[str, Any], field: str) -> str:
    """A field of a header for an error's text; of the prompt and of lists only size and digest."""
    is_prompt = field in ("system", "tools")
    holder = header if is_prompt else header["config"]
    if field not in holder:
        return "none"
    value = holder[field]
    if is_prompt or isinstance(value, dict | list):
        text = dumps(value)
        return f"one of {len(text)} bytes, SHA-256 {sha256(text).hexdigest()[:16]}"
    return shown(value)
