"""Logs for the tests of views: any events in any order, malformed ones among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from tests.kernel.turn_logs import (
    NOT_STARTED,
    Value,
    call,
    chunk,
    log_of,
    other,
    result,
    result_message,
    says,
    sound_logs,
    step_end,
    step_start,
    turn_end,
    turn_start,
    user,
    wild_logs,
)
from turnlog.events.header import Header
from turnlog.kernel.log import Log

__all__ = [
    "chunk_of_kind",
    "late",
    "readable_logs",
    "retry",
    "retry_started",
    "splits",
    "view_logs",
]


def chunk_of_kind(kind: str, turn: Any = 1, step: Any = 1, **fields: Any) -> Value:
    """A chunk of any kind; fields are as given."""
    data = {"turn": turn, "step": step, "chunk": {"type": kind, **fields}}
    return {"type": "assistant/chunk", "data": data}


def call_delta(arguments: str, index: int = 0, id: str = "c", **name: Any) -> Value:
    """A delta of a call's arguments."""
    return chunk_of_kind("tool-call-delta", index=index, id=id, argumentsDelta=arguments, **name)


def retry(turn: Any = 1, step: Any = 1) -> Value:
    return other("llm/retry", turn=turn, step=step, retry=1, error={"message": "busy"})


def retry_started(turn: Any = 1, step: Any = 1) -> Value:
    return other("llm/retry-started", turn=turn, step=step)


def late(call_id: str = "c", text: str = "late", is_error: Any = None) -> Value:
    data = {"turn": 1, "step": 1, "callId": call_id}
    message = result_message(call_id, text, is_error)
    return {"type": "tool/late-result", "data": {**data, "message": message}, "ignorable": True}


_NUMBERS = st.integers(1, 2)
_IDS = st.sampled_from(["c", "d"])
_STEP = {"turn": _NUMBERS, "step": _NUMBERS}
_OUTCOME_UNKNOWN = {"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"}
_KINDS = ["block-start", "text-delta", "reasoning-delta", "block-end", "usage", "finish", "odd"]
_DATA: st.SearchStrategy[Any] = st.sampled_from(
    [None, 1, "x", [], {}, {"message": 1}, {"message": {"content": [1]}}]
)
_OPERATIONS: st.SearchStrategy[Any] = st.sampled_from(
    [None, 1, "append", "gone", {}, {"op": "replace", "start": 0, "end": 0}]
)
_TYPES = st.sampled_from(
    [
        "user/message",
        "assistant/message",
        "tool/result",
        "tool/call",
        "tool/late-result",
        "turn/end",
        "todo/write",
        "assistant/chunk",
        "llm/retry",
        "llm/retry-started",
        "compaction/prune",
        "vendor/x",
    ]
)


def _says_all(call_ids: list[str], **step: Any) -> Value:
    return says(*call_ids, **step)


def _odd(type: str, data: Any, operation: Any, sources: Any) -> Value:
    value = {"type": type, "data": data, "surfaceOp": operation, "sourceEventSeqs": sources}
    return {key: item for key, item in value.items() if item is not None}


def _replace(start: int, end: int, made: Value) -> Value:
    operation = {"op": "replace", "start": start, "end": end}
    sources = list(range(min(start, end), max(start, end) + 1))
    return {**made, "surfaceOp": operation, "sourceEventSeqs": sources}


_EVENTS = st.one_of(
    st.builds(turn_start, _NUMBERS),
    st.builds(turn_end, _NUMBERS, st.sampled_from(["completed", "error", "interrupted"])),
    st.builds(step_start, _NUMBERS, _NUMBERS),
    st.builds(step_end, _NUMBERS, _NUMBERS),
    st.builds(chunk, st.sampled_from(["", "a", "b"]), **_STEP),
    st.builds(chunk, st.just("a")),
    st.builds(chunk_of_kind, st.sampled_from(_KINDS), index=_NUMBERS, text=st.just("t")),
    st.builds(call_delta, st.sampled_from(["", "{"]), _NUMBERS, _IDS),
    st.builds(call_delta, st.just("}"), _NUMBERS, _IDS, name=st.just("read")),
    st.builds(retry, **_STEP),
    st.builds(retry_started, **_STEP),
    st.builds(_says_all, st.lists(_IDS, max_size=3), **_STEP),
    st.builds(call, _IDS, **_STEP),
    st.builds(result, _IDS, **_STEP),
    st.builds(
        result,
        _IDS,
        is_error=st.just(True),
        error=st.sampled_from([NOT_STARTED, _OUTCOME_UNKNOWN, {"name": "E", "code": "C"}]),
    ),
    st.builds(late, _IDS),
    st.builds(user, st.sampled_from(["hi", " ", "\ufeffx"])),
    st.builds(_replace, st.integers(0, 9), st.integers(0, 9), st.just(user("sum"))),
    st.builds(_replace, st.integers(0, 9), st.integers(0, 9), st.builds(result, _IDS)),
    st.just(other("compaction/prune", shadowedTokenCount=7)),
    st.just(other("session/end-seed")),
    st.just(other("vendor/noise")),
    st.builds(
        _odd, _TYPES, _DATA, _OPERATIONS, st.sampled_from([None, 1, [], [0], [-1, 2.0, "x"]])
    ),
)

_HEADERS = st.builds(
    lambda fields: Header.of({"version": 0, "id": "s", "createdAt": 1, **fields}),
    st.sampled_from([{}, {"seedLength": 0}, {"seedLength": 5, "parentSession": "p"}]),
)


@st.composite
def view_logs(draw: st.DrawFn) -> Log:
    """Dense logs of any events in any order: a view reads them all, and raises for none."""
    values = draw(st.lists(_EVENTS, max_size=24))
    return log_of(*values, header=draw(_HEADERS))


def readable_logs() -> st.SearchStrategy[Log]:
    """Logs in which no event lacks the field that a view reads."""
    return st.one_of(sound_logs(), wild_logs())


def splits(log: Log) -> Iterator[tuple[int, Log]]:
    """Each length of the log with the log of that length."""
    for length in range(log.next_seq + 1):
        yield length, log.prefix(length)
