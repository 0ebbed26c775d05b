"""Late results: a tool's real result that comes after its turn was closed.

It is logged beside the log's course and told to the model; no earlier result changes (semantics.md
section 6).
"""

from __future__ import annotations

from typing import Any

from turnlog.events.error_text import shown
from turnlog.events.errors import BadShape, InvariantBreach
from turnlog.events.event import Draft, Event
from turnlog.events.gate import is_seq, lossless_copy
from turnlog.events.shapes import check_stored_shape

from .calls import named_calls
from .lenient import at, data_of, text_at
from .log import Log
from .relations import is_number

__all__ = ["LATE_RESULT", "late_result"]

LATE_RESULT = "tool/late-result"
"""The log-only type that keeps the late message; written as ignorable, so any reader may resume."""

_RULE = "late-result"


def late_result(log: Log, turn: int, step: int, call_id: str, message: Any) -> list[Draft]:
    """The events that log a late result: `tool/late-result`, and a user message with its content.

    `message` is what the `tool/result` would have held; the drafts hold copies. They are appended
    together and next: the second one's message id names its seq. Legal where the log has that call
    in that step of that turn, the turn is not open any more, and no late result of the call is
    logged yet. Reads the whole log.

    Raises NotLossless and BadShape for what the caller gave, InvariantBreach (rule `late-result`)
    where it is not legal.
    """
    for name, number in (("turn", turn), ("step", step)):
        if type(number) is not int or not is_seq(number):
            raise BadShape(name, "a non-negative integer", "another value")
    message = lossless_copy(message)
    check_stored_shape("tool/result", {"message": message})
    if message["source"]["callId"] != call_id:
        raise BadShape("message.source.callId", repr(call_id), shown(message["source"]["callId"]))
    block = message["content"][0]
    for index, inner in enumerate(block["content"]):
        if at(inner, "type") in ("tool-call", "tool-result"):
            # Told to the model as a block of a user message, it would pair with calls of the view.
            field = f"message.content[0].content[{index}].type"
            raise BadShape(field, "a block that is no call or result", shown(inner["type"]))
    _check_legal(log, turn, step, call_id)
    where = {"turn": turn, "step": step, "callId": call_id}
    outcome = "with an error" if block.get("isError") is True else "and is the real one"
    text = (
        f"The result of tool call {call_id} (turn {turn}, step {step}) came after that turn was "
        f"closed, {outcome}. It counts instead of what was said of the call before. The result:"
    )
    told = {
        "id": f"late-tool-result-{call_id}-{log.next_seq + 1}",
        "role": "user",
        "source": {"kind": "late-tool-result", **where},
        "content": [{"type": "text", "text": text}, *lossless_copy(block["content"])],
    }
    return [
        Draft(LATE_RESULT, {**where, "message": message}, ignorable=True),
        Draft("user/message", told, "append"),
    ]


def _check_legal(log: Log, turn: int, step: int, call_id: str) -> None:
    called = turn_is_open = False
    for row in log.rows:
        if row.packed:
            continue
        event = row.events()[0]
        if event.type == "turn/start":
            turn_is_open = is_number(at(data_of(event), "turn"), turn)
        elif event.type == "turn/end":
            turn_is_open = False
        elif _is_of_call(event, turn, step, call_id):
            if event.type == LATE_RESULT:
                raise InvariantBreach(
                    log.next_seq,
                    _RULE,
                    f"call {shown(call_id)} has one already, at seq {event.seq}",
                )
            called = True
    if not called:
        raise InvariantBreach(
            log.next_seq,
            _RULE,
            f"turn {shown(turn)}, step {shown(step)} has no call {shown(call_id)}",
        )
    if turn_is_open:
        raise InvariantBreach(
            log.next_seq, _RULE, f"turn {turn} is still open: append a tool/result instead"
        )


def _is_of_call(event: Event, turn: int, step: int, call_id: str) -> bool:
    """Tell whether an event names this call, as intent or begun, or is its late result."""
    if event.type not in ("assistant/message", "tool/call", LATE_RESULT):
        return False
    data = data_of(event)
    if not (is_number(at(data, "turn"), turn) and is_number(at(data, "step"), step)):
        return False
    if event.type == "assistant/message":
        return call_id in named_calls(at(data, "message", "content"))
    return text_at(data, "callId") == call_id
