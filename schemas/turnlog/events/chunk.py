"""Delta chunks: the events that a packed row can hold exactly."""

from __future__ import annotations

from typing import Any

import msgspec

from .jsontext import type_of

__all__ = ["CHUNK_TYPE", "Chunk", "RunKey", "chunk_of"]

CHUNK_TYPE = "assistant/chunk"

_DATA_KEYS = {"turn", "step", "chunk"}
_TEXT_KEYS = {"type", "index", "text"}
_CALL_KEYS = {"type", "index", "id", "argumentsDelta"}
_NAMED_CALL_KEYS = _CALL_KEYS | {"name"}


class RunKey(msgspec.Struct, frozen=True, gc=False):
    """What all members of a run share. Numbers are any JSON numbers; `id` and `name` of calls only.

    `kind` is the chunk's type; `name` is None where the chunk has no such key.
    """

    turn: int | float
    step: int | float
    index: int | float
    kind: str
    id: str | None = None
    name: str | None = None


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """One delta: the key of its run and the text that it adds; immutable."""

    run_key: RunKey
    text: str

    def data(self) -> dict[str, Any]:
        """The event's data as JSON, a new copy each time."""
        run_key = self.run_key
        chunk: dict[str, Any] = {"type": run_key.kind, "index": run_key.index}
        if run_key.kind == "tool-call-delta":
            chunk["id"] = run_key.id
            if run_key.name is not None:
                chunk["name"] = run_key.name
            chunk["argumentsDelta"] = self.text
        else:
            chunk["text"] = self.text
        return {"turn": run_key.turn, "step": run_key.step, "chunk": chunk}


def chunk_of(data: Any) -> Chunk | None:
    """Read the data of an `assistant/chunk` as a delta; None where no packed row can hold it."""
    if type_of(data) is not dict or data.keys() != _DATA_KEYS:
        return None
    chunk = data["chunk"]
    if type_of(chunk) is not dict:
        return None
    turn, step, index, kind = data["turn"], data["step"], chunk.get("index"), chunk.get("type")
    if not (_is_number(turn) and _is_number(step) and _is_number(index)):
        return None
    keys = chunk.keys()
    if kind == "text-delta" or kind == "reasoning-delta":
        text = chunk.get("text")
        if keys != _TEXT_KEYS or type(text) is not str:
            return None
        return Chunk(RunKey(turn, step, index, kind), text)
    if kind == "tool-call-delta" and keys in (_CALL_KEYS, _NAMED_CALL_KEYS):
        call_id, name, text = chunk["id"], chunk.get("name"), chunk["argumentsDelta"]
        if type(call_id) is not str or type(text) is not str:
            return None
        if "name" in keys and type(name) is not str:
            return None
        return Chunk(RunKey(turn, step, index, kind, call_id, name), text)
    return None


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float
