"""Statistics: eight totals over a log, folded event by event (semantics.md section 12)."""

from __future__ import annotations

from typing import Any

import msgspec

from turnlog.events.errors import MissingField
from turnlog.events.event import Event
from turnlog.events.jsontext import deep_equal, is_object

from .lenient import at, data_of, number_at, text_at
from .log import Log

__all__ = ["Statistics", "StatisticsFold", "statistics"]

_NO_TURN: Any = object()


class Statistics(msgspec.Struct, frozen=True, rename="camel"):
    """The totals of a log; times in milliseconds, 0 where nothing was measured.

    A negative span counts 0. `decode_ms` and `decode_tokens` come only from messages with both a
    first token and a usage, so their ratio is one of measured messages alone.
    """

    turns: int = 0
    steps: int = 0
    llm_ms: int = 0
    tool_ms: int = 0
    ttft_ms: int = 0
    ttft_steps: int = 0
    decode_ms: int = 0
    decode_tokens: int | float = 0

    def to_json(self) -> dict[str, Any]:
        """The totals as JSON, all eight, keys in camel case; a new copy."""
        value: dict[str, Any] = msgspec.to_builtins(self)
        return value


class _Step:
    """The open step: its numbers, its start, its first token once it came."""

    __slots__ = ("answered", "first_token_ms", "start_ms", "step", "turn")

    def __init__(self, turn: Any, step: Any, start_ms: int) -> None:
        self.turn = turn
        self.step = step
        self.start_ms = start_ms
        self.first_token_ms: int | None = None
        self.answered = False


class StatisticsFold:
    """The totals of a growing log."""

    def __init__(self) -> None:
        self._turns = 0
        self._steps = 0
        self._llm_ms = 0
        self._tool_ms = 0
        self._ttft_ms = 0
        self._ttft_steps = 0
        self._decode_ms = 0
        self._decode_tokens: int | float = 0
        self._last_turn = _NO_TURN
        self._open: _Step | None = None
        self._call_start_ms: dict[str, int] = {}

    @property
    def awaits_first_token(self) -> bool:
        """Whether a delta chunk can still change the totals; else `fold` need not be given any."""
        step = self._open
        return step is not None and not step.answered and step.first_token_ms is None

    def fold(self, event: Event) -> None:
        """Take the next event.

        Raises MissingField where a `tool/result` has no message or source; nothing is then changed.
        """
        match event.type:
            case "assistant/chunk":
                self._chunk(event)
            case "step/start":
                data = data_of(event)
                self._open = _Step(at(data, "turn"), at(data, "step"), event.time_ms)
            case "assistant/message":
                self._message(event)
            case "step/end":
                turn = at(data_of(event), "turn")
                self._open = None
                self._steps += 1
                if not deep_equal(turn, self._last_turn):
                    self._last_turn = turn
                    self._turns += 1
            case "tool/call":
                call_id = text_at(data_of(event), "callId")
                if call_id is not None:
                    self._call_start_ms[call_id] = event.time_ms
            case "tool/result":
                call_id = _call_id_of_result(event)
                if call_id is not None and call_id in self._call_start_ms:
                    self._tool_ms += _span_ms(self._call_start_ms.pop(call_id), event.time_ms)
            case "turn/end":
                self._call_start_ms.clear()
            case _:
                pass

    @property
    def totals(self) -> Statistics:
        """The totals so far."""
        return Statistics(
            self._turns,
            self._steps,
            self._llm_ms,
            self._tool_ms,
            self._ttft_ms,
            self._ttft_steps,
            self._decode_ms,
            self._decode_tokens,
        )

    def _chunk(self, event: Event) -> None:
        step = self._open
        if step is None or not self.awaits_first_token:
            return
        data = data_of(event)
        if _names(data, step) and _is_token(at(data, "chunk")):
            step.first_token_ms = event.time_ms

    def _message(self, event: Event) -> None:
        step = self._open
        if step is None or step.answered:
            return
        data = data_of(event)
        if not _names(data, step):
            return
        step.answered = True
        self._llm_ms += _span_ms(step.start_ms, event.time_ms)
        if step.first_token_ms is None:
            return
        self._ttft_ms += _span_ms(step.start_ms, step.first_token_ms)
        self._ttft_steps += 1
        tokens = number_at(data, "usage", "outputTokens")
        if tokens is not None and tokens >= 0:
            self._decode_ms += _span_ms(step.first_token_ms, event.time_ms)
            self._decode_tokens += tokens


def statistics(log: Log, start: int = 0) -> Statistics:
    """Give the totals of a log over its events from `start` (inclusive) on.

    A fork repeats its parent's events below `header.seed_length`: with that as `start` the totals
    are its own, and add up with its parent's.

    Raises MissingField where a `tool/result` has no message or source.
    """
    fold = StatisticsFold()
    for row in log.rows:
        # No step is open yet in a packed row that begins below `start`: no member of it counts.
        if row.first_seq < start or (row.packed and not fold.awaits_first_token):
            continue
        for event in row.events():
            fold.fold(event)
    return fold.totals


def _names(data: Any, step: _Step) -> bool:
    return deep_equal(at(data, "turn"), step.turn) and deep_equal(at(data, "step"), step.step)


def _is_token(chunk: Any) -> bool:
    """Tell whether a chunk carries something of the answer: the first one ends the wait."""
    kind = at(chunk, "type")
    if kind == "text-delta" or kind == "reasoning-delta":
        return bool(at(chunk, "text"))
    if kind == "tool-call-delta":
        return "name" in chunk or bool(at(chunk, "argumentsDelta"))
    return False


def _call_id_of_result(event: Event) -> str | None:
    """The id of the call that a result answers; None where its source names none."""
    data = data_of(event)
    for path in (("message",), ("message", "source")):
        if not is_object(at(data, *path)):
            raise MissingField(event.seq, ".".join(("data", *path)))
    return text_at(data, "message", "source", "callId")


def _span_ms(start_ms: int, end_ms: int) -> int:
    return max(0, end_ms - start_ms)
