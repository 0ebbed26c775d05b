"""The blocks of a streamed message, growing chunk by chunk (shapes: semantics.md section 7)."""

from __future__ import annotations

from typing import Any

import msgspec

from turnlog.events.chunk import Chunk
from turnlog.events.jsontext import dumps, loads

from .lenient import at, number_at, text_at

__all__ = ["BlockList", "StreamBlock"]

_KINDS = {"text-delta": "text", "reasoning-delta": "reasoning", "tool-call-delta": "tool-call"}
"""The kind of block that a delta adds to."""


class StreamBlock(msgspec.Struct, frozen=True, gc=False):
    """One block as far as it was streamed; immutable.

    `texts` are the deltas as they came, of a call the deltas of its arguments; `kind` is text,
    reasoning, tool-call, or what the provider named.
    """

    index: int | float | None
    kind: str
    call_id: str | None
    name: str | None
    texts: tuple[str, ...]
    _block: bytes | None

    @property
    def text(self) -> str:
        """The deltas joined."""
        return "".join(self.texts)

    @property
    def ended(self) -> bool:
        """Whether its block-end came."""
        return self._block is not None

    @property
    def block(self) -> Any:
        """The whole block that its block-end holds, a new copy; None before that."""
        return None if self._block is None else loads(self._block)


class _OpenBlock:
    __slots__ = ("block", "call_id", "index", "kind", "name", "texts")

    def __init__(self, index: int | float | None, kind: str) -> None:
        self.index = index
        self.kind = kind
        self.call_id: str | None = None
        self.name: str | None = None
        self.texts: list[str] = []
        self.block: bytes | None = None

    def takes(self, kind: str, call_id: str | None) -> bool:
        """Tell whether a delta goes on this block."""
        return (
            self.block is None
            and self.kind == kind
            and (self.call_id is None or call_id is None or self.call_id == call_id)
        )


class BlockList:
    """The blocks of one attempt in the order of their beginning, its usage and finish reason."""

    __slots__ = ("_at_index", "_blocks", "finish", "usage")

    def __init__(self) -> None:
        self.usage: bytes | None = None
        self.finish: bytes | None = None
        self._blocks: list[_OpenBlock] = []
        self._at_index: dict[int | float | None, _OpenBlock] = {}

    def add_delta(self, chunk: Chunk) -> None:
        """Add a delta."""
        key = chunk.run_key
        self._grow(key.index, _KINDS[key.kind], key.id, key.name, chunk.text)

    def add(self, chunk: Any) -> None:
        """Add any stored chunk; what is malformed or unknown adds nothing."""
        kind = text_at(chunk, "type")
        index = number_at(chunk, "index")
        if kind in _KINDS:
            text = text_at(chunk, "argumentsDelta" if kind == "tool-call-delta" else "text")
            self._grow(index, _KINDS[kind], text_at(chunk, "id"), text_at(chunk, "name"), text)
        elif kind == "block-start":
            self._begin(index, text_at(chunk, "blockType") or "")
        elif kind == "block-end":
            block = at(chunk, "block")
            open_block = self._at_index.get(index)
            if open_block is None or open_block.block is not None:
                open_block = self._begin(index, text_at(block, "type") or "")
            open_block.block = dumps(block)
        elif kind == "usage":
            self.usage = dumps(at(chunk, "usage"))
        elif kind == "finish":
            self.finish = dumps(at(chunk, "reason"))

    def blocks(self) -> tuple[StreamBlock, ...]:
        """The blocks as they stand now."""
        return tuple(
            StreamBlock(
                block.index, block.kind, block.call_id, block.name, tuple(block.texts), block.block
            )
            for block in self._blocks
        )

    def _begin(self, index: int | float | None, kind: str) -> _OpenBlock:
        block = self._at_index[index] = _OpenBlock(index, kind)
        self._blocks.append(block)
        return block

    def _grow(
        self,
        index: int | float | None,
        kind: str,
        call_id: str | None,
        name: str | None,
        text: str | None,
    ) -> None:
        block = self._at_index.get(index)
        if block is None or not block.takes(kind, call_id):
            block = self._begin(index, kind)
        if call_id is not None and kind == "tool-call":
            block.call_id = call_id
            block.name = name if name is not None else block.name
        if text is not None:
            block.texts.append(text)
