"""The model calls of a step, and the request of each."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernel.log_builder import LogBuilder, header_of, random_logs
from turnlog.kernel.attempts import attempts, request_at
from turnlog.kernel.log import Log
from turnlog.kernel.request import Request, derived_request


def _texts(request: Request | None) -> list[str]:
    assert request is not None
    return [message["content"][0]["text"] for message in request.messages]


@pytest.mark.parametrize("packed", [True, False])
def test_a_steps_request_holds_what_stood_just_before_its_first_chunk(packed: bool) -> None:
    builder = LogBuilder()
    builder.user("before")
    builder.begin()
    builder.user("inside the step")
    builder.header()
    first = builder.chunks(["a", "b", "c", "d"]) - 3
    builder.user("while it streams")
    builder.header("change", system="later")
    builder.answer()
    request = request_at(builder.log(packed=packed), 1, 1)
    assert request is not None
    assert _texts(request) == ["before", "inside the step"]
    assert (request.header, request.seq) == (header_of(), first)


def test_a_call_without_chunks_begins_with_its_message_or_its_retry() -> None:
    builder = LogBuilder()
    builder.user("one")
    builder.begin()
    message = builder.answer()
    builder.begin(1, 2)
    builder.user("two")
    retry = builder.retry(1, 2, started=False)
    builder.user("three")
    builder.answer("late", 1, 2)
    log = builder.log()
    assert attempts(log, 1, 1) == (message,)
    assert attempts(log, 1, 2) == (retry,)
    assert _texts(request_at(log, 1, 2)) == ["one", "ok", "two"]


def test_a_call_that_streams_in_several_runs_begins_once() -> None:
    builder = LogBuilder()
    builder.begin()
    first = builder.chunks(["a", "b", "c"]) - 2
    builder.user("while it streams")
    builder.chunks(["d", "e", "f"])
    builder.answer()
    assert attempts(builder.log(packed=True), 1, 1) == (first,)
    assert attempts(builder.log(packed=False), 1, 1) == (first,)


def test_each_attempt_after_a_started_retry_has_its_own_request() -> None:
    builder = LogBuilder()
    asked = builder.user("a long question")
    builder.begin()
    first = builder.chunks(["Here is ", "the ", "plan"]) - 2
    builder.retry()
    operation = {"op": "replace", "start": asked, "end": asked}
    builder.user("a short one", surface=operation, sourceEventSeqs=[asked])
    builder.header("change", system="terse")
    second = builder.chunks(["Here is ", "the ", "plan"]) - 2
    builder.answer("Here is the plan")
    log = builder.log()
    assert attempts(log, 1, 1) == (first, second)
    assert _texts(request_at(log, 1, 1, 0)) == ["a long question"]
    assert _texts(request_at(log, 1, 1, 1)) == ["a short one"]
    last = request_at(log, 1, 1)
    assert last is not None
    assert (last.seq, last.header) == (second, header_of(system="terse"))
    assert _texts(request_at(log, 1, 1, -2)) == ["a long question"]


def test_a_retry_that_made_no_call_is_no_attempt() -> None:
    builder = LogBuilder()
    builder.begin()
    first = builder.chunks(["a"])
    builder.retry()
    builder.retry(1, 2)
    builder.add("step/end", {"turn": 1, "step": 1})
    assert attempts(builder.log(), 1, 1) == (first,)


def test_a_step_or_attempt_that_made_no_call_has_no_request() -> None:
    builder = LogBuilder()
    builder.header()
    builder.begin()
    assert request_at(builder.log(), 1, 1) is None
    builder.answer()
    log = builder.log()
    assert request_at(log, 1, 1, 0) is not None
    assert request_at(log, 1, 1, -1) is not None
    assert request_at(log, 1, 1, 1) is None
    assert request_at(log, 1, 1, -2) is None
    assert request_at(log, 1, 2) is None
    assert request_at(log, 2, 1) is None


def test_a_step_is_named_by_value_and_true_is_not_one() -> None:
    builder = LogBuilder()
    builder.add("assistant/chunk", {"turn": True, "step": 1, "chunk": {"type": "finish"}})
    builder.add("assistant/chunk", None)
    named = builder.add("assistant/chunk", {"turn": 1.0, "step": 1, "chunk": {"type": "finish"}})
    assert attempts(builder.log(), 1, 1) == (named,)


def _values(request: Request) -> Any:
    return request.header, request.context, request.messages


def _attempts_one_by_one(log: Log, turn: int, step: int) -> tuple[int, ...]:
    """The same answer by looking at the events of one step at a time."""
    named: list[tuple[int, str]] = []
    for event in log.events():
        data = event.data
        if type(data) is dict and (data.get("turn"), data.get("step")) == (turn, step):
            named.append((event.seq, event.type))
    calls = ("assistant/chunk", "assistant/message", "llm/retry")
    starts = [0, *(seq for seq, name in named if name == "llm/retry-started")]
    firsts = [
        min((s for s, name in named if s >= start and name in calls), default=-1)
        for start in starts
    ]
    return tuple(sorted({seq for seq in firsts if seq >= 0}))


@settings(max_examples=100)
@given(random_logs(), st.integers(0, 3), st.integers(0, 3))
def test_attempts_of_packed_and_plain_logs_are_those_of_the_events(
    builder: LogBuilder, turn: int, step: int
) -> None:
    expected = _attempts_one_by_one(builder.log(packed=False), turn, step)
    assert attempts(builder.log(packed=False), turn, step) == expected
    assert attempts(builder.log(), turn, step) == expected
    for index, seq in enumerate(expected):
        request = request_at(builder.log(), turn, step, index)
        assert request is not None
        assert _values(request) == _values(derived_request(builder.log(end=seq)))
