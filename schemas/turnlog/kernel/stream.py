"""Stream replay: what a model streamed, attempt by attempt.

An attempt starts with nothing at its first chunk, so a stream starts anew after a retry. It ends by
the step's message, which is authoritative from then on; by a retry; or cancelled, when its step or
turn ends, or another lifetime begins, without a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.events.chunk import CHUNK_TYPE
from turnlog.events.event import Event

from .lenient import data_of, number_at
from .log import Log
from .stream_attempt import AttemptEnd, OpenAttempt, StreamAttempt

__all__ = ["AttemptTracker", "StreamFold", "stream_attempts"]

_CANCELS = frozenset({"step/start", "step/end", "turn/start", "turn/end", "session/end-seed"})
_READS_DATA = frozenset({CHUNK_TYPE, "assistant/message", "llm/retry"})


class StreamFold:
    """The stream of a growing session: at most one attempt is open."""

    def __init__(self) -> None:
        self._tracker = AttemptTracker()

    @property
    def current(self) -> StreamAttempt | None:
        """The attempt that is open now; None where none is."""
        attempt = self._tracker.open
        return None if attempt is None else attempt.item()

    def fold(self, event: Event) -> list[StreamAttempt]:
        """Take the next event; gives the attempts that it ends, in log order."""
        read = event.chunk is None and event.type in _READS_DATA
        touched = self._tracker.take(event, data_of(event) if read else None)
        return [attempt.item() for attempt in touched if attempt.final]


class AttemptTracker:
    """The growing attempts themselves, for folds that hold them."""

    def __init__(self) -> None:
        self.open: OpenAttempt | None = None
        self._last: OpenAttempt | None = None

    def take(self, event: Event, data: Any) -> list[OpenAttempt]:
        """Take the next event and its data; gives the attempts that it begins, grows or ends.

        `data` may be None for a delta that has a `chunk`.
        """
        if event.type == CHUNK_TYPE:
            return self._chunk(event, data)
        if event.type == "llm/retry":
            return self._retry(event, data)
        attempt = self.open
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
        turn, step = _step_of(data) if chunk is None else (chunk.run_key.turn, chunk.run_key.step)
        attempt = self.open
        if attempt is not None and attempt.turn == turn and attempt.step == step:
            attempt.add_chunk(event, data)
            return [attempt]
        touched = [self._close(attempt, AttemptEnd.CANCEL, event)] if attempt is not None else []
        attempt = self._begin(event, turn, step)
        attempt.add_chunk(event, data)
        return [*touched, attempt]

    def _retry(self, event: Event, data: Any) -> list[OpenAttempt]:
        turn, step = _step_of(data)
        attempt = self.open
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
        self.open = self._last = OpenAttempt(event, turn, step, number)
        return self.open

    def _close(self, attempt: OpenAttempt, end: AttemptEnd, event: Event) -> OpenAttempt:
        attempt.close(end, event)
        self.open = None
        return attempt


def stream_attempts(log: Log) -> Iterator[StreamAttempt]:
    """Give the attempts of a log in log order, the last perhaps still open; streams."""
    fold = StreamFold()
    for event in log.events():
        yield from fold.fold(event)
    if fold.current is not None:
        yield fold.current


def _step_of(data: Any) -> tuple[int | float | None, int | float | None]:
    return number_at(data, "turn"), number_at(data, "step")
