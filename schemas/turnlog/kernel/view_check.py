"""The check of the model's view: calls and results in the Messages must pair (sections 3 and 6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from turnlog.events.errors import MissingField

from .breach import Breach
from .lenient import items_of, text_at
from .log import Log
from .messages import Message, messages

__all__ = ["unpaired", "view_breaches"]


_ID_FIELD = {"tool-call": "id", "tool-result": "toolCallId"}


class _Call(NamedTuple):
    """A call that waits for its result: the place of its message in the view, and its seq."""

    place: int
    seq: int


def view_breaches(log: Log) -> list[Breach]:
    """Name what does not pair in the Messages of a log, as `unpaired` does.

    Raises SurfaceRefused and MissingField where the stored log can't be projected.
    """
    return unpaired(messages(log))


def unpaired(view: Iterable[Message]) -> list[Breach]:
    """Name each call without a result, result without a call, and second result for one call.

    A result answers the latest call of its id before it in the view; an id named again before its
    result is the same call, as it is for repair. The breaches stand in the order of the view, each
    with the seq of the message at fault; rules `view-call`, `view-result` and `view-double`.

    Raises MissingField where a message has no list of content.
    """
    waiting: dict[str, _Call] = {}
    answered: set[str] = set()
    found: list[tuple[int, Breach]] = []
    for place, message in enumerate(view):
        for kind, call_id in _pair_ids(message):
            if kind == "tool-call":
                if call_id is not None:
                    waiting[call_id] = _Call(place, message.seq)
                    continue
                fault = "view-call", "a call without an id"
            elif call_id in waiting:
                del waiting[call_id]
                answered.add(call_id)
                continue
            elif call_id in answered:
                fault = "view-double", f"a second result for call {call_id!r:.80}"
            else:
                fault = "view-result", f"a result without its call {call_id!r:.80}"
            found.append((place, Breach(message.seq, *fault)))
    for call_id, call in waiting.items():
        reason = f"call {call_id!r:.80} without a result"
        found.append((call.place, Breach(call.seq, "view-call", reason)))
    found.sort(key=lambda item: item[0])
    return [breach for _, breach in found]


def _pair_ids(message: Message) -> Iterator[tuple[str, str | None]]:
    """Give the kind and the call id of each call and result block; None for no usable id."""
    content = message.content
    if type(content) is not list:
        raise MissingField(message.seq, "message content")
    for block in items_of(content):
        kind = text_at(block, "type")
        if kind is not None and kind in _ID_FIELD:
            yield kind, text_at(block, _ID_FIELD[kind]) or None
