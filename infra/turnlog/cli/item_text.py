"""Transcript items and messages, for people and as JSON; nothing is derived here.

What a stored event lacks is said in its place: no log is too odd to be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from turnlog.events import MissingField
from turnlog.kernel import (
    Item,
    LineageMarker,
    MessageItem,
    ReplaceMarker,
    StreamAttempt,
    ToolCard,
    TurnEnd,
)
from turnlog.kernel.tool_card import ToolResult, ToolState

__all__ = ["ItemText", "content_text", "item_text", "item_value", "message_text", "span_text"]


class ItemText(NamedTuple):
    """Who or what an item is of, and what it says."""

    of: str
    text: str


def item_text(item: Item) -> ItemText:
    """Say an item in one text."""
    if isinstance(item, MessageItem):
        content = _read(lambda: item.content)
        shown = (
            [block for block in content if not _is_call(block)] if _is_list(content) else content
        )
        return ItemText(str(_read(lambda: item.role)), content_text(shown))
    if isinstance(item, ToolCard):
        return ItemText("tool", _card_text(item))
    if isinstance(item, StreamAttempt):
        return ItemText("stream", _attempt_text(item))
    if isinstance(item, ReplaceMarker):
        if item.refusal is not None:
            return ItemText("refused", f"a replace that the Surface did not take: {item.refusal}")
        said = content_text(_read(lambda: item.content))
        return ItemText("compaction", f"{len(item.shadowed)} messages -> {said}")
    if isinstance(item, TurnEnd):
        turn = "?" if item.turn is None else f"{item.turn:g}"
        return ItemText("turn end", f"turn {turn}, {item.reason_kind or 'no reason'}")
    if isinstance(item, LineageMarker):
        return ItemText("inherited", f"all before, from {item.parent_session}")
    raise TypeError(f"no text for {type(item).__name__}")


def item_value(item: Item) -> dict[str, Any]:
    """Give an item as JSON: its kind, its spans of seqs (half open), and what it says."""
    value: dict[str, Any] = {
        "item": type(item).__name__,
        "seq": item.key.seq,
        "ordinal": item.key.ordinal,
        "spans": [list(span) for span in item.spans],
        "final": item.final,
    }
    if not isinstance(item, LineageMarker):
        value["time"] = item.time_ms
    if isinstance(item, (MessageItem, ReplaceMarker)):
        value |= {"type": item.event_type, "message": _read(lambda: item.message)}
    if isinstance(item, ReplaceMarker):
        value |= {"start": item.start, "end": item.end, "shadowed": list(item.shadowed)}
        value["refusal"] = item.refusal
    elif isinstance(item, ToolCard):
        words = item.asked or item.began
        value |= {
            "callId": item.call_id,
            "state": item.state.value,
            "name": None if words is None else words.name,
            "arguments": None if words is None else words.arguments,
            "result": None if item.result is None else _read(_content(item.result)),
        }
    elif isinstance(item, StreamAttempt):
        value |= {
            "turn": item.turn,
            "step": item.step,
            "attempt": item.number,
            "end": None if item.end is None else item.end.value,
            "blocks": [
                {"kind": block.kind, "name": block.name, "text": block.text}
                for block in item.blocks
            ],
        }
    elif isinstance(item, TurnEnd):
        value |= {"turn": item.turn, "reason": _read(lambda: item.reason)}
    elif isinstance(item, LineageMarker):
        value |= {"parentSession": item.parent_session, "seedLength": item.seed_length}
    return value


def message_text(message: Any) -> str:
    """Say a message of a request in one text."""
    content = message.get("content") if isinstance(message, dict) else None
    return content_text(content)


def content_text(content: Any) -> str:
    """Say the blocks of a message as one text."""
    if isinstance(content, str):
        return content
    if not _is_list(content):
        return "[no content]"
    return " ".join(map(_block_text, content))


def span_text(spans: Iterable[tuple[int, int]]) -> str:
    """Say the seqs of an item, ends included: `3,5-7`."""
    return ",".join(
        f"{start}" if end - start == 1 else f"{start}-{end - 1}" for start, end in spans
    )


def _block_text(block: Any) -> str:
    if not isinstance(block, dict):
        return "[no block]"
    kind = block.get("type")
    if kind in ("text", "reasoning") and isinstance(block.get("text"), str):
        return str(block["text"])
    if kind == "tool-call":
        return f"[calls {block.get('name')} {block.get('arguments')}]"
    if kind == "tool-result":
        return f"[result] {content_text(block.get('content'))}"
    return f"[{kind}]"


def _card_text(card: ToolCard) -> str:
    words = card.asked or card.began
    name = "?" if words is None else f"{words.name or '?'} {words.arguments or ''}".rstrip()
    outcome = ""
    if card.result is not None and card.state in {ToolState.RESULT, ToolState.ERROR}:
        outcome = f": {content_text(_read(_content(card.result)))}"
    return f"{name} -> {card.state.value}{outcome}"


def _attempt_text(attempt: StreamAttempt) -> str:
    chunks = sum(len(block.texts) for block in attempt.blocks)
    ended = "still open" if attempt.end is None else f"ended by its {attempt.end.value}"
    return f"{chunks} chunks, {ended}"


def _content(result: ToolResult) -> Callable[[], Any]:
    return lambda: result.content


def _read(read: Callable[[], Any]) -> Any:
    """Read a stored value; where it is missing, say so."""
    try:
        return read()
    except MissingField as error:
        return f"[{error}]"


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_call(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool-call"
