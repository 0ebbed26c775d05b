"""The demo's second process: restore a session and print what it says."""

from __future__ import annotations

from typing import Any

from turnlog.kernel import (
    Item,
    LineageMarker,
    MessageItem,
    ReplaceMarker,
    StreamAttempt,
    ToolCard,
    TurnEnd,
    transcript,
)
from turnlog.log import KafkaSettings, KafkaStore

from .safe_text import safe

__all__ = ["item_text", "show_session"]


def show_session(bootstrap: str, session_id: str) -> None:
    """Open a session and print transcript and Messages. Raises TurnlogError."""
    with KafkaStore(KafkaSettings(bootstrap=bootstrap)) as store, store.open(session_id) as session:
        print("Transcript")
        for item in transcript(session.log):
            print(f"  {item_text(item)}")
        print("\nMessages, as the model sees them now")
        for message in session.messages():
            print(f"  {message.role:9} {safe(_content_text(message.content))}")
        head = session.flush()
        print(
            f"\n{session.next_seq} events, {session.first_live_seq} from the first process; "
            f"breaches: {len(session.breaches)}; head {head.hash.hex()[:16]}"
        )


def item_text(item: Item) -> str:
    """Say one transcript item in one line, harmless for a terminal."""
    seqs = ",".join(
        f"{first}" if last - first == 1 else f"{first}-{last - 1}" for first, last in item.spans
    )
    return f"{seqs:>7}  {safe(_item_text(item))}"


def _item_text(item: Item) -> str:
    if isinstance(item, MessageItem):
        return f"{item.role}: {_content_text(item.content)}"
    if isinstance(item, ToolCard):
        asked = item.asked
        name = "?" if asked is None else f"{asked.name} {asked.arguments}"
        outcome = "" if item.result is None else f": {_content_text(item.result.content)}"
        return f"tool {name} → {item.state.value}{outcome}"
    if isinstance(item, StreamAttempt):
        ended = "growing" if item.end is None else item.end.value
        return f"stream of step {item.step}, {len(item.blocks)} block, ended by {ended}"
    if isinstance(item, ReplaceMarker):
        return f"replaced {len(item.shadowed)} messages"
    if isinstance(item, TurnEnd):
        return f"turn {item.turn} ended: {item.reason_kind}"
    if isinstance(item, LineageMarker):
        return f"inherited from {item.parent_session}"
    raise TypeError(f"no text for {type(item).__name__}")


def _content_text(content: Any) -> str:
    parts = []
    for block in content:
        kind = block.get("type")
        if kind == "text":
            parts.append(block["text"])
        elif kind == "tool-call":
            parts.append(f"[calls {block['name']} {block['arguments']}]")
        elif kind == "tool-result":
            parts.append(_content_text(block["content"]))
        else:
            parts.append(f"[{kind}]")
    return " ".join(parts)
