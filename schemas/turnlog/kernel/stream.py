"""Stream replay: what a model streamed, attempt by attempt.

An attempt starts with nothing at its first chunk, so a stream starts anew after a retry. It ends by
the step's message, which is authoritative from then on; by a retry; or cancelled, when its step or
turn ends, or another lifetime begins, without a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import msgspec

from turnlog.events.chunk import CHUNK_TYPE
from turnlog.events.event import Event
from turnlog.events.jsontext import loads

from .anchors import OWN_ITEM, ItemKey, OpenItem, Span
from .lenient import at, data_of, number_at, required
from .log import Log
from .stream_blocks import BlockList, StreamBlock

__all__ = ["AttemptEnd", "OpenAttempt", "StreamAttempt", "StreamFold", "stream_attempts"]

_CANCELS = frozenset({"step/start", "step/end", "turn/start", "turn/end", "session/end-seed"})
_READS_DATA = frozenset({CHUNK_TYPE, "assistant/message", "llm/retry"})


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
        if event.type == "llm/retry":
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


class StreamFold:
    """The stream of a growing session: at most one attempt is open."""

    def __init__(self) -> None:
        self._open: OpenAttempt | None = None
        self._last: OpenAttempt | None = None

    @property
    def current(self) -> StreamAttempt | None:
        """The attempt that is open now; None where none is."""
        return None if self._open is None else self._open.item()

    def fold(self, event: Event) -> list[OpenAttempt]:
        """Take the next event; gives the attempts that it begins, grows or ends, in log order."""
        read = event.chunk is None and event.type in _READS_DATA
        return self.take(event, data_of(event) if read else None)

    def take(self, event: Event, data: Any) -> list[OpenAttempt]:
        """Take the next event, whose data the caller has decoded; otherwise as `fold`."""
        if event.type == CHUNK_TYPE:
            return self._chunk(event, data)
        if event.type == "llm/retry":
            return self._retry(event, data)
        attempt = self._open
        if attempt is None:
            return []
        if event.type == "assistant/message":
            if _step_of(data) != (attempt.turn, attempt.step):
                return []
            return [self._close(attempt, AttemptEnd.MESSAGE, event)]
        if event.type == "llm/retry-started":
            return [self._close(attempt, AttemptEnd.RETRY, event)]
        if event.type in _CANCELS:
            return [self._close(attempt, AttemptEnd.CANCEL, event)]
        return []

    def _chunk(self, event: Event, data: Any) -> list[OpenAttempt]:
        chunk = event.chunk
        turn, step = _step_of(data) if chunk is None else (chunk.head.turn, chunk.head.step)
        attempt = self._open
        if attempt is not None and attempt.turn == turn and attempt.step == step:
            attempt.add_chunk(event, data)
            return [attempt]
        touched = [self._close(attempt, AttemptEnd.CANCEL, event)] if attempt is not None else []
        attempt = self._begin(event, turn, step)
        attempt.add_chunk(event, data)
        return [*touched, attempt]

    def _retry(self, event: Event, data: Any) -> list[OpenAttempt]:
        turn, step = _step_of(data)
        attempt = self._open
        touched: list[OpenAttempt] = []
        unnamed = turn is None and step is None
        if attempt is not None and not unnamed and (attempt.turn, attempt.step) != (turn, step):
            touched.append(self._close(attempt, AttemptEnd.CANCEL, event))
            attempt = None
        if attempt is None:
            attempt = self._begin(event, turn, step)
        return [*touched, self._close(attempt, AttemptEnd.RETRY, event)]

    def _begin(
        self, event: Event, turn: int | float | None, step: int | float | None
    ) -> OpenAttempt:
        last = self._last
        again = last is not None and last.turn == turn and last.step == step
        number = last.number + 1 if last is not None and again else 1
        self._open = self._last = OpenAttempt(event, turn, step, number)
        return self._open

    def _close(self, attempt: OpenAttempt, end: AttemptEnd, event: Event) -> OpenAttempt:
        attempt.close(end, event)
        self._open = None
        return attempt


def stream_attempts(log: Log) -> Iterator[StreamAttempt]:
    """Give the attempts of a log in log order, the last perhaps still open; streams."""
    fold = StreamFold()
    for event in log.events():
        for attempt in fold.fold(event):
            if attempt.final:
                yield attempt.item()
    if fold.current is not None:
        yield fold.current


def _step_of(data: Any) -> tuple[int | float | None, int | float | None]:
    return number_at(data, "turn"), number_at(data, "step")
