"""Tool cards: one call from the model's intent to its result, as a reader follows it.

A card is settled by the first result for its call, or closed without one when its step or turn
ends, a turn starts, or its id is named or called again. What comes for a settled or an unknown call
is a card of its own, so nothing that a reader has read changes later.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from turnlog.events.errors import MissingField
from turnlog.events.event import Event
from turnlog.events.jsontext import is_object

from .anchors import OWN_ITEM, ItemKey, OpenItem, Span
from .calls import NOT_STARTED_CODE, OUTCOME_UNKNOWN_CODE, result_call_id
from .late import LATE_RESULT
from .lenient import at, items_of, required, text_at

__all__ = ["CallText", "CardTracker", "OpenCard", "ToolCard", "ToolResult", "ToolState"]

_CLOSES = frozenset({"step/end", "turn/start", "turn/end"})


class ToolState(StrEnum):
    """How far a call has come by the log; RUNNING does not say that a process lives."""

    INTENT = "intent"
    RUNNING = "running"
    RESULT = "result"
    ERROR = "error"
    OUTCOME_UNKNOWN = "outcome-unknown"
    NOT_STARTED = "not-started"


class CallText(NamedTuple):
    """A call as one event words it; `arguments` is opaque text; None where it is no string."""

    seq: int
    name: str | None
    arguments: str | None


class ToolResult(msgspec.Struct, frozen=True, gc=False):
    """The result of a call, of the event at `seq`; immutable, decoded when read."""

    seq: int
    event_type: str
    is_error: bool
    error_name: str | None
    error_code: str | None
    _row: bytes

    @property
    def message(self) -> Any:
        """The message as JSON, a new copy. Raises MissingField where the event has none."""
        return required(self._row, self.seq, "data", "message")

    @property
    def content(self) -> Any:
        """The blocks inside the result block, a new copy.

        Raises MissingField where the event has no such block.
        """
        block = _result_block(self.message)
        if not is_object(block) or "content" not in block:
            raise MissingField(self.seq, "data.message.content[0].content")
        return block["content"]

    @property
    def state(self) -> ToolState:
        """What it says of its call."""
        if self.is_error and self.error_code == OUTCOME_UNKNOWN_CODE:
            return ToolState.OUTCOME_UNKNOWN
        if self.is_error and self.error_code == NOT_STARTED_CODE:
            return ToolState.NOT_STARTED
        failed = self.is_error or self.error_name is not None or self.error_code is not None
        return ToolState.ERROR if failed else ToolState.RESULT


class ToolCard(msgspec.Struct, frozen=True, gc=False):
    """One call as it stands; immutable.

    Anchored at the message that names it, else at its `tool/call`, else at its result. `asked` is
    the model's block, `began` the harness's `tool/call`. `earlier` is, of a result that comes late
    or twice, the card of the same call id before this one. `final` is whether it can't change any
    more; a final card without a result was left open by its step.
    """

    key: ItemKey
    spans: tuple[Span, ...]
    time_ms: int
    call_id: str | None
    state: ToolState
    asked: CallText | None
    began: CallText | None
    result: ToolResult | None
    earlier: ItemKey | None
    final: bool


class OpenCard(OpenItem):
    """One call while it goes on."""

    __slots__ = ("_asked", "_began", "_result", "call_id", "earlier", "final")

    def __init__(self, key: ItemKey, event: Event, call_id: str | None) -> None:
        super().__init__(key, event.time_ms)
        self.call_id = call_id
        self.earlier: ItemKey | None = None
        self.final = False
        self._asked: CallText | None = None
        self._began: CallText | None = None
        self._result: ToolResult | None = None

    @property
    def running(self) -> bool:
        """Whether its `tool/call` came."""
        return self._began is not None

    def ask(self, event: Event, block: Any) -> None:
        """Take the block of the message that names it."""
        self.spans.add(event.seq)
        self._asked = CallText(event.seq, text_at(block, "name"), text_at(block, "arguments"))

    def begin(self, event: Event, data: Any) -> None:
        """Take its `tool/call`."""
        self.spans.add(event.seq)
        self._began = CallText(event.seq, text_at(data, "name"), text_at(data, "arguments"))

    def settle(self, event: Event, data: Any) -> None:
        """Take its result."""
        self.spans.add(event.seq)
        self.final = True
        self._result = ToolResult(
            event.seq,
            event.type,
            at(_result_block(at(data, "message")), "isError") is True,
            text_at(data, "error", "name"),
            text_at(data, "error", "code"),
            event.text,
        )

    def item(self) -> ToolCard:
        """The card as it stands now."""
        return ToolCard(
            self.key,
            self.spans.spans(),
            self.time_ms,
            self.call_id,
            self._state(),
            self._asked,
            self._began,
            self._result,
            self.earlier,
            self.final,
        )

    def _state(self) -> ToolState:
        if self._result is not None:
            return self._result.state
        if self._began is not None:
            return ToolState.OUTCOME_UNKNOWN if self.final else ToolState.RUNNING
        return ToolState.NOT_STARTED if self.final else ToolState.INTENT


class CardTracker:
    """The tool cards of a growing session; the caller leaves out what replaces on the Surface."""

    def __init__(self) -> None:
        self._open: dict[str, OpenCard] = {}
        self._nameless: list[OpenCard] = []
        self._last_key: dict[str, ItemKey] = {}

    def take(self, event: Event, data: Any) -> list[OpenCard]:
        """Take the next event and its data; gives the cards that it begins or changes."""
        if event.type == "assistant/message":
            return self._named(event, data)
        if event.type == "tool/call":
            return self._called(event, data)
        if event.type == "tool/result":
            return self._answered(event, data)
        if event.type == LATE_RESULT:
            return [self._stray(event, data, text_at(data, "callId"))]
        if event.type in _CLOSES:
            return self._close_all()
        return []

    def _named(self, event: Event, data: Any) -> list[OpenCard]:
        touched: list[OpenCard] = []
        ordinal = OWN_ITEM
        for block in items_of(at(data, "message", "content")):
            if is_object(block) and block.get("type") == "tool-call":
                ordinal += 1
                call_id = text_at(block, "id")
                touched += self._close(call_id)
                card = self._new(ItemKey(event.seq, ordinal), event, call_id)
                card.ask(event, block)
                touched.append(card)
        return touched

    def _called(self, event: Event, data: Any) -> list[OpenCard]:
        call_id = text_at(data, "callId")
        card = None if call_id is None else self._open.get(call_id)
        touched: list[OpenCard] = []
        if card is None or card.running:
            touched += self._close(call_id)
            card = self._new(ItemKey(event.seq, OWN_ITEM), event, call_id)
        card.begin(event, data)
        return [*touched, card]

    def _answered(self, event: Event, data: Any) -> list[OpenCard]:
        call_id = result_call_id(data)
        card = None if call_id is None else self._open.pop(call_id, None)
        if card is None:
            return [self._stray(event, data, call_id)]
        card.settle(event, data)
        return [card]

    def _stray(self, event: Event, data: Any, call_id: str | None) -> OpenCard:
        """A result that settles no open card; an open one of its id stays as it is."""
        card = OpenCard(ItemKey(event.seq, OWN_ITEM), event, call_id)
        if call_id is not None:
            card.earlier = self._last_key.get(call_id)
        card.settle(event, data)
        return card

    def _new(self, key: ItemKey, event: Event, call_id: str | None) -> OpenCard:
        card = OpenCard(key, event, call_id)
        if call_id is None:
            self._nameless.append(card)
        else:
            self._open[call_id] = card
            self._last_key[call_id] = key
        return card

    def _close(self, call_id: str | None) -> list[OpenCard]:
        card = None if call_id is None else self._open.pop(call_id, None)
        if card is None:
            return []
        card.final = True
        return [card]

    def _close_all(self) -> list[OpenCard]:
        cards = [*self._open.values(), *self._nameless]
        self._open.clear()
        self._nameless.clear()
        for card in cards:
            card.final = True
        return cards


def _result_block(message: Any) -> Any:
    content = items_of(at(message, "content"))
    return content[0] if content else None
