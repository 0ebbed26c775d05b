"""One valid datum of each core type, and ways to change a field of it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.log_writer import Value

__all__ = ["CHUNKS", "DROP", "SAMPLES", "SURFACES", "changed", "paths_of"]


class _Drop:
    """Stands for a field taken out."""

    def __repr__(self) -> str:
        return "DROP"


DROP = _Drop()


def _message(role: str, source: Value, *content: Value) -> Value:
    return {"id": "m1", "role": role, "source": source, "content": list(content)}


_TEXT = {"type": "text", "text": "a"}
_CALL = {"type": "tool-call", "id": "c1", "name": "bash", "arguments": '{"cut":"in a val'}
_USER = _message("user", {"kind": "user"}, _TEXT)
_PLACE = {"turn": 1, "step": 2}

CHUNKS: dict[str, Value] = {
    "block-start": {"type": "block-start", "index": 0, "blockType": "text"},
    "text-delta": {"type": "text-delta", "index": 0, "text": "a"},
    "reasoning-delta": {"type": "reasoning-delta", "index": 0, "text": ""},
    "tool-call-delta": {
        "type": "tool-call-delta",
        "index": 0,
        "id": "c",
        "name": "n",
        "argumentsDelta": "{",
    },
    "block-end": {"type": "block-end", "index": 0, "block": {"type": "text", "text": "a"}},
    "usage": {"type": "usage", "usage": {"outputTokens": 1}},
    "finish": {"type": "finish", "reason": "stop", "replayState": {"x": 1}},
}

_HEADER = {
    "config": {"provider": "p", "model": "m", "reasoningEffort": "high", "maxTokens": 1},
    "adapterDefaults": {"reasoningEffort": True, "maxTokens": True},
    "system": "s",
    "tools": [],
}

SAMPLES: dict[str, Value] = {
    "turn/start": {"turn": 1},
    "turn/end": {"turn": 1, "reason": {"kind": "completed"}},
    "turn/end aborted": {"turn": 1, "reason": {"kind": "aborted", "reason": {"kind": "user"}}},
    "turn/end by a hook": {
        "turn": 1,
        "reason": {"kind": "aborted", "reason": {"kind": "hook", "reason": "no"}},
    },
    "turn/end in error": {
        "turn": 1,
        "reason": {"kind": "error", "error": {"message": "m", "code": "c"}},
    },
    "step/start": _PLACE,
    "step/end": _PLACE,
    "user/message": _USER,
    **{f"assistant/chunk {kind}": {**_PLACE, "chunk": chunk} for kind, chunk in CHUNKS.items()},
    "assistant/message": {
        **_PLACE,
        "message": _message(
            "assistant",
            {"kind": "model", "provider": "p", "model": "m"},
            {"type": "reasoning", "text": "r", "signature": "s"},
            _TEXT,
            _CALL,
        ),
        "usage": {"outputTokens": 1.5},
        "interrupted": True,
    },
    "tool/call": {**_PLACE, "callId": "c1", "name": "bash", "arguments": ""},
    "tool/result": {
        **_PLACE,
        "message": _message(
            "user",
            {"kind": "tool", "callId": "c1"},
            {"type": "tool-result", "toolCallId": "c1", "content": [_TEXT], "isError": True},
        ),
        "error": {"name": "E", "code": "C"},
        "meta": {"exit": 1},
    },
    "todo/write": {"todos": [{"content": "c", "status": "pending"}]},
    "request/header": {"header": _HEADER, "reason": "initial"},
    "request/context": {"provider": "p", "model": "m", "contextWindow": 1000},
    "agent/inbox/spliced": {
        "target": "next-turn",
        "start": 0,
        "removedCount": 1,
        "inserted": [_USER],
        "outcome": "canceled",
    },
    "session/end-seed": {},
}
"""Valid data by core type; behind a space stands which form of the type it is."""

SURFACES = {"user/message": "append", "assistant/message": "append", "tool/result": "append"}


def changed(data: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """Give a copy of the data with another value, or none for DROP, at a path."""
    if not path:
        return value
    data = deepcopy(data)
    target = data
    for step in path[:-1]:
        target = target[step]
    if value is DROP:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return data


def paths_of(data: Any) -> list[tuple[str | int, ...]]:
    """Give the path of every object in the data, the whole included."""
    if isinstance(data, dict):
        items: Any = data.items()
        own: list[tuple[str | int, ...]] = [()]
    else:
        items = enumerate(data) if isinstance(data, list) else ()
        own = []
    return own + [(key, *path) for key, item in items for path in paths_of(item)]
