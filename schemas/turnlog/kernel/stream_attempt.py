"""One attempt of a step to get a message from a model, as it was streamed."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from turnlog.events.event import Event
from turnlog.events.jsontext import loads

from .anchors import OWN_ITEM, ItemKey, OpenItem, Span
from .lenient import at, required
from .stream_blocks import BlockList, StreamBlock

__all__ = ["AttemptEnd", "OpenAttempt", "StreamAttempt"]


class AttemptEnd(StrEnum):
    """How an attempt ended."""

    MESSAGE = "message"
    RETRY = "retry"
    CANCEL = "cancel"


class StreamAttempt(msgspec.Struct, frozen=True, gc=False):
    """One attempt of a step to get a message, as far as it went; immutable.

    Anchored at its first chunk, or at the `llm/retry` where none came. `number` counts the attempts
    of the step from 1; `turn` and `step` are None where the events don't say. `ended_seq` is the
    event that ended it: of AttemptEnd.MESSAGE, the message. `final` is whether it has ended.
    """

    key: ItemKey
    spans: tuple[Span, ...]
    time_ms: int
    turn: int | float | None
    step: int | float | None
    number: int
    blocks: tuple[StreamBlock, ...]
    end: AttemptEnd | None
    ended_seq: int | None
    _usage: bytes | None
    _finish: bytes | None
    _retry: bytes | None

    @property
    def final(self) -> bool:
        """Whether nothing more can come."""
        return self.end is not None

    @property
    def usage(self) -> Any:
        """The last usage that was streamed, a new copy; None where there was none."""
        return None if self._usage is None else loads(self._usage)

    @property
    def finish_reason(self) -> Any:
        """The reason of the finish chunk, a new copy; None where there was none."""
        return None if self._finish is None else loads(self._finish)

    @property
    def retry(self) -> Any:
        """The data of the `llm/retry` that ended it, a new copy; None where none did.

        Raises MissingField where that event has no data.
        """
        if self._retry is None or self.ended_seq is None:
            return None
        return required(self._retry, self.ended_seq, "data")


class OpenAttempt(OpenItem):
    """One attempt while it grows."""

    __slots__ = ("_blocks", "_retry", "end", "ended_seq", "number", "step", "turn")

    def __init__(
        self, event: Event, turn: int | float | None, step: int | float | None, number: int
    ) -> None:
        super().__init__(ItemKey(event.seq, OWN_ITEM), event.time_ms)
        self.turn = turn
        self.step = step
        self.number = number
        self.end: AttemptEnd | None = None
        self.ended_seq: int | None = None
        self._blocks = BlockList()
        self._retry: bytes | None = None

    @property
    def final(self) -> bool:
        """Whether it has ended."""
        return self.end is not None

    def add_chunk(self, event: Event, data: Any) -> None:
        """Add a chunk."""
        self.spans.add(event.seq)
        if event.chunk is not None:
            self._blocks.add_delta(event.chunk)
        else:
            self._blocks.add(at(data, "chunk"))

    def close(self, end: AttemptEnd, event: Event) -> None:
        """End it by an event."""
        self.end = end
        self.ended_seq = event.seq
        if end is AttemptEnd.RETRY and event.type == "llm/retry":
            self.spans.add(event.seq)
            self._retry = event.text

    def item(self) -> StreamAttempt:
        """The attempt as it stands now."""
        return StreamAttempt(
            self.key,
            self.spans.spans(),
            self.time_ms,
            self.turn,
            self.step,
            self.number,
            self._blocks.blocks(),
            self.end,
            self.ended_seq,
            self._blocks.usage,
            self._blocks.finish,
            self._retry,
        )
