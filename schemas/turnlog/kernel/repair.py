"""Repair: the events that close a log whose last turn is open (semantics.md section 8)."""

from __future__ import annotations

from typing import Any, NamedTuple

from turnlog.events.errors import MissingField
from turnlog.events.event import Draft, Event
from turnlog.events.gate import is_integer
from turnlog.events.jsontext import is_object

from .calls import NOT_STARTED_CODE, OUTCOME_UNKNOWN_CODE, named_calls
from .lenient import at, data_of, text_at
from .log import Log

__all__ = ["NOT_STARTED_TEXT", "OUTCOME_UNKNOWN_TEXT", "RepairFold", "repair"]

OUTCOME_UNKNOWN_TEXT = (
    "This tool call was interrupted after it began, and its outcome is unknown: it may have had "
    "all, some or none of its effects. Call it again only if it is read-only or idempotent. "
    "Otherwise check the state of the outside world first, or ask the user."
)
"""What the model reads as the result of a call that began and whose end is not in the log."""

NOT_STARTED_TEXT = (
    "This tool call was interrupted before it began: it never started and had no effect. "
    "Call it again if it is still needed."
)
"""What the model reads as the result of a call that never began."""


class _Call(NamedTuple):
    """A call without a result: the message that named it, and its `tool/call` if it began."""

    message: Event
    began: Event | None = None


class RepairFold:
    """What is open at the end of a log, event by event; mutable.

    Keeps events and not their numbers, so that a number is missed only where a closer needs it.
    """

    def __init__(self) -> None:
        self._turn: Event | None = None
        self._step: Event | None = None
        self._calls: dict[str, _Call] = {}
        self._last: Event | None = None

    def fold(self, event: Event) -> None:
        """Move on over the next event.

        Raises MissingField where a message or result has no message; the state is then as before.
        """
        kind = event.type
        if kind == "turn/start":
            self._turn, self._step = event, None
            self._calls.clear()
        elif kind == "turn/end":
            self._turn = None
        elif kind == "step/start":
            self._step = event
        elif kind == "step/end":
            self._step = None
            self._calls.clear()
        elif kind == "assistant/message":
            for call_id in named_calls(_message(event)["content"]):
                self._calls[call_id] = _Call(event)
        elif kind == "tool/call":
            self._begin(event)
        elif kind == "tool/result":
            self._calls.pop(text_at(_message(event), "source", "callId") or "", None)
        self._last = event

    def closers(self) -> list[Draft]:
        """The events that close what is open now, as `repair` gives them.

        Raises MissingField where an open marker lacks its number.
        """
        if self._turn is None or self._last is None:
            return []
        turn = _number(self._turn, "turn")
        next_seq, time_ms = self._last.seq + 1, self._last.time_ms
        drafts: list[Draft] = []
        for call_id, call in self._calls.items():
            drafts.append(_result(turn, call_id, call, next_seq + len(drafts), time_ms))
        if self._step is not None:
            data = {"turn": turn, "step": _number(self._step, "step")}
            drafts.append(Draft("step/end", data, time_ms=time_ms))
        data = {"turn": turn, "reason": {"kind": "interrupted"}}
        drafts.append(Draft("turn/end", data, time_ms=time_ms))
        return drafts

    def _begin(self, event: Event) -> None:
        call_id = text_at(data_of(event), "callId") or ""
        if call_id in self._calls:
            self._calls[call_id] = self._calls[call_id]._replace(began=event)


def repair(log: Log) -> list[Draft]:
    """The events that close a log whose last turn is open; none for a balanced or an empty log.

    In order: an error result for each call without one, in the order that the messages named them;
    `step/end` and `turn/end` (`interrupted`) for what is open. Pure and deterministic: their time
    is the last event's, and the seqs in the message ids are those that they get when appended next.
    Turn and step are carried as the log has them, also where they are no numbers.

    Raises MissingField where an event of the log lacks what repair reads.
    """
    fold = RepairFold()
    for row in log.rows:
        if not row.packed:
            fold.fold(row.events()[0])
    if log.rows and log.rows[-1].packed:
        fold.fold(log.rows[-1].events()[-1])
    return fold.closers()


def _result(turn: Any, call_id: str, call: _Call, seq: int, time_ms: int) -> Draft:
    if call.began is None:
        text, name, code = NOT_STARTED_TEXT, "ToolNotStartedError", NOT_STARTED_CODE
    else:
        text, name, code = OUTCOME_UNKNOWN_TEXT, "ToolOutcomeUnknownError", OUTCOME_UNKNOWN_CODE
    block = {
        "type": "tool-result",
        "toolCallId": call_id,
        "isError": True,
        "content": [{"type": "text", "text": text}],
    }
    data = {
        "turn": turn,
        "step": _number(call.message, "step"),
        "message": {
            "id": f"interrupted-tool-result-{call_id}-{seq}",
            "role": "user",
            "source": {"kind": "tool", "callId": call_id},
            "content": [block],
        },
        "error": {"name": name, "code": code},
    }
    sources = None if call.began is None else (call.began.seq,)
    return Draft("tool/result", data, "append", sources, time_ms=time_ms)


def _message(event: Event) -> dict[str, Any]:
    message = at(data_of(event), "message")
    if not is_object(message):
        raise MissingField(event.seq, "data.message")
    if type(message.get("content")) is not list:
        raise MissingField(event.seq, "data.message.content")
    return message


def _number(event: Event, name: str) -> Any:
    data = data_of(event)
    if not is_object(data) or name not in data:
        raise MissingField(event.seq, f"data.{name}")
    value = data[name]
    return int(value) if is_integer(value) else value
