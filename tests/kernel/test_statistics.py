"""The eight totals of a log."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from tests.kernel.log_builder import LogBuilder, any_logs, random_logs
from turnlog.events.errors import MissingField
from turnlog.events.rows import event_row
from turnlog.kernel.log import Log
from turnlog.kernel.statistics import Statistics, StatisticsFold, statistics


def _step(builder: LogBuilder, turn: int, step: int = 1, *, tokens: int | None = 5) -> None:
    """A step of 10 ms to the first token, 30 ms of decoding, and a call of 7 ms."""
    usage = None if tokens is None else {"outputTokens": tokens}
    builder.begin(turn, step)
    builder.chunks(["Here ", "is ", "the plan"], turn, step)
    builder.answer("Here is the plan", turn, step, usage=usage)
    builder.call("k", turn=turn, step=step)
    builder.result("k", 7, turn=turn, step=step)


def _turn(builder: LogBuilder, turn: int, *, tokens: int | None = 5) -> None:
    _step(builder, turn, tokens=tokens)
    builder.close(turn)


_ONE_TURN = Statistics(
    turns=1,
    steps=1,
    llm_ms=40,
    tool_ms=7,
    ttft_ms=10,
    ttft_steps=1,
    decode_ms=30,
    decode_tokens=5,
)


@pytest.mark.parametrize("packed", [True, False])
def test_a_turn_is_measured_by_its_own_events(packed: bool) -> None:
    builder = LogBuilder()
    _turn(builder, 1)
    assert statistics(builder.log(packed=packed)) == _ONE_TURN


def test_all_eight_totals_are_there_also_for_an_empty_log() -> None:
    assert statistics(LogBuilder().log()).to_json() == {
        "turns": 0,
        "steps": 0,
        "llmMs": 0,
        "toolMs": 0,
        "ttftMs": 0,
        "ttftSteps": 0,
        "decodeMs": 0,
        "decodeTokens": 0,
    }


def test_a_response_stored_as_several_messages_is_counted_once() -> None:
    builder = LogBuilder()
    builder.begin()
    builder.chunks(["a"])
    first = builder.answer("a", usage={"outputTokens": 5})
    builder.answer("b", usage={"outputTokens": 5})
    rewritten = {"op": "replace", "start": first, "end": first}
    builder.answer("c", usage={"outputTokens": 9}, surface=rewritten, sourceEventSeqs=[first])
    builder.close()
    totals = statistics(builder.log())
    assert (totals.decode_tokens, totals.llm_ms, totals.decode_ms) == (5, 20, 10)


@pytest.mark.parametrize("usage", [None, [], {}, {"outputTokens": None}, {"outputTokens": "5"}])
def test_an_unknown_usage_takes_part_in_no_rate(usage: Any) -> None:
    builder = LogBuilder()
    _turn(builder, 1)
    builder.begin(2)
    builder.chunks(["a"], 2)
    builder.answer("a", 2, after_ms=1_000, usage=usage)
    builder.close(2)
    totals = statistics(builder.log())
    assert (totals.decode_ms, totals.decode_tokens) == (30, 5)
    assert (totals.ttft_steps, totals.llm_ms) == (2, 40 + 1_010)


@pytest.mark.parametrize("tokens", [-1, True])
def test_what_is_no_count_of_tokens_is_unknown(tokens: Any) -> None:
    builder = LogBuilder()
    _turn(builder, 1, tokens=tokens)
    assert (statistics(builder.log()).decode_ms, statistics(builder.log()).decode_tokens) == (0, 0)


def test_a_measured_usage_of_zero_takes_part() -> None:
    builder = LogBuilder()
    _turn(builder, 1, tokens=0)
    assert statistics(builder.log()).decode_ms == 30


def test_a_canceled_answer_measures_nothing_but_its_step() -> None:
    builder = LogBuilder()
    builder.begin()
    builder.chunks(["Here ", "is"])
    builder.add("assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": "usage", "usage": {}}})
    builder.close()
    assert statistics(builder.log()) == Statistics(turns=1, steps=1)


def test_a_failed_attempt_and_a_good_one_are_one_answer() -> None:
    builder = LogBuilder()
    builder.begin()
    builder.chunks(["Here ", "is"])
    builder.retry()
    builder.chunks(["Here ", "is"])
    builder.answer(usage={"outputTokens": 2})
    builder.close()
    totals = statistics(builder.log())
    assert (totals.steps, totals.ttft_steps, totals.ttft_ms) == (1, 1, 10)
    assert (totals.llm_ms, totals.decode_ms, totals.decode_tokens) == (70, 60, 2)


def test_a_fork_counts_what_is_its_own_and_its_parent_the_rest() -> None:
    parent = LogBuilder()
    _turn(parent, 1)
    _turn(parent, 2)
    boundary = len(parent)
    child = LogBuilder(parentSession="parent", seedLength=boundary)
    _turn(child, 1)
    _turn(child, 2)
    child.add("session/end-seed", {})
    grandchild_at = len(child)
    _turn(child, 3)
    log = child.log()
    seed_length = log.header.seed_length
    assert seed_length is not None
    assert statistics(log).decode_tokens == 15
    assert statistics(log, seed_length) == _ONE_TURN
    own, inherited = statistics(log, seed_length).to_json(), statistics(parent.log()).to_json()
    whole = statistics(log).to_json()
    assert {key: own[key] + inherited[key] for key in whole} == whole
    assert statistics(log, grandchild_at) == statistics(log, seed_length)
    assert statistics(log, len(child)) == Statistics()


def test_a_start_inside_a_packed_row_leaves_the_members_before_it_out() -> None:
    builder = LogBuilder()
    start = builder.begin()
    builder.chunks(["", "", "", "a"])
    builder.answer()
    assert statistics(builder.log(), start).ttft_ms == 40
    assert statistics(builder.log(), start + 1).ttft_steps == 0
    begun = LogBuilder()
    begun.chunks(["a"] * 4)
    begun.begin()
    begun.answer()
    assert statistics(begun.log(), 2).ttft_steps == 0


def test_turns_are_counted_at_each_change_of_number() -> None:
    builder = LogBuilder()
    for turn in (1, 1, 1.0, True, 2, 1):
        builder.add("step/end", {"turn": turn, "step": 1})
    assert (statistics(builder.log()).turns, statistics(builder.log()).steps) == (4, 6)


def test_the_steps_of_a_turn_are_one_turn() -> None:
    builder = LogBuilder()
    for step in (1, 2, 3):
        builder.add("step/end", {"turn": 1, "step": step})
    assert (statistics(builder.log()).turns, statistics(builder.log()).steps) == (1, 3)


def test_a_step_that_names_no_turn_is_of_one() -> None:
    builder = LogBuilder()
    builder.add("step/end", {"step": 1})
    builder.add("step/end", {"step": 2})
    assert (statistics(builder.log()).turns, statistics(builder.log()).steps) == (1, 2)


def test_what_names_another_step_is_ignored() -> None:
    builder = LogBuilder()
    builder.begin()
    builder.chunks(["a"], 1, 2)
    builder.answer("a", 2, 1)
    assert statistics(builder.log()) == Statistics()
    builder.chunks(["a"])
    builder.answer()
    assert (statistics(builder.log()).llm_ms, statistics(builder.log()).ttft_ms) == (40, 30)


def test_a_turn_end_closes_no_step_and_a_step_end_does() -> None:
    builder = LogBuilder()
    builder.begin()
    builder.add("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    builder.answer()
    assert statistics(builder.log()).llm_ms == 20
    builder = LogBuilder()
    builder.begin()
    builder.add("step/end", {"turn": 1, "step": 1})
    builder.answer()
    assert statistics(builder.log()).llm_ms == 0


@pytest.mark.parametrize(
    ("chunk", "is_token"),
    [
        ({"type": "text-delta", "text": "a"}, True),
        ({"type": "text-delta", "text": ""}, False),
        ({"type": "text-delta"}, False),
        ({"type": "reasoning-delta", "text": " ", "note": 1}, True),
        ({"type": "reasoning-delta", "text": ""}, False),
        ({"type": "tool-call-delta", "argumentsDelta": "{"}, True),
        ({"type": "tool-call-delta", "argumentsDelta": ""}, False),
        ({"type": "tool-call-delta", "argumentsDelta": "", "name": ""}, True),
        ({"type": "block-start", "text": "a"}, False),
        ({"type": "block-end", "text": "a"}, False),
        ({"type": "finish", "reason": "stop"}, False),
        ("text-delta", False),
    ],
    ids=str,
)
def test_the_first_delta_that_carries_something_is_the_first_token(
    chunk: Any, is_token: bool
) -> None:
    builder = LogBuilder()
    builder.begin()
    builder.add("assistant/chunk", {"turn": 1, "step": 1, "chunk": chunk})
    builder.answer()
    assert statistics(builder.log()).ttft_steps == is_token


def test_chunks_are_awaited_until_a_step_has_its_first_token_or_its_message() -> None:
    for ended_by in ("chunk", "message"):
        builder = LogBuilder()
        builder.add("turn/start", {"turn": 1})
        builder.add("step/start", {"turn": 1, "step": 1})
        if ended_by == "chunk":
            builder.chunks(["", "a"])
        else:
            builder.answer()
        fold = StatisticsFold()
        awaited: list[bool] = []
        for event in builder.events():
            fold.fold(event)
            awaited.append(fold.awaits_first_token)
        assert awaited == [False, *[True] * (len(awaited) - 2), False]


def test_times_that_step_back_count_zero() -> None:
    builder = LogBuilder()
    builder.begin()
    builder.chunks(["a"], after_ms=-50)
    builder.answer(after_ms=-50, usage={"outputTokens": 3})
    builder.call("k")
    builder.result("k", -5)
    totals = statistics(builder.log())
    assert (totals.llm_ms, totals.ttft_ms, totals.decode_ms, totals.tool_ms) == (0, 0, 0, 0)
    assert (totals.ttft_steps, totals.decode_tokens) == (1, 3)


def test_a_call_is_measured_from_its_last_start_to_its_first_result() -> None:
    builder = LogBuilder()
    builder.call("k")
    builder.call("q", 100)
    builder.call("k", 100)
    builder.result("k", 5)
    builder.result("k", 50)
    assert statistics(builder.log()).tool_ms == 5
    builder.result("q", 1)
    assert statistics(builder.log()).tool_ms == 5 + 156


def test_a_call_left_open_is_dropped_at_the_end_of_the_turn_alone() -> None:
    builder = LogBuilder()
    builder.call("k")
    builder.add("step/end", {"turn": 1, "step": 1})
    builder.begin(2)
    builder.result("k", 5)
    assert statistics(builder.log()).tool_ms == 35
    builder.call("k")
    builder.close()
    builder.result("k")
    assert statistics(builder.log()).tool_ms == 35


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({}, "data.message"),
        (None, "data.message"),
        ({"message": []}, "data.message"),
        ({"message": {"id": "r"}}, "data.message.source"),
    ],
)
def test_a_result_without_its_message_is_named_and_changes_nothing(data: Any, field: str) -> None:
    builder = LogBuilder()
    _turn(builder, 1)
    seq = builder.add("tool/result", data, surfaceOp={"op": "none"})
    with pytest.raises(MissingField) as caught:
        statistics(builder.log())
    assert (caught.value.seq, caught.value.field) == (seq, field)
    fold = StatisticsFold()
    for event in builder.events()[:-1]:
        fold.fold(event)
    with pytest.raises(MissingField):
        fold.fold(builder.events()[-1])
    assert fold.totals == _ONE_TURN


def test_malformed_events_that_are_not_read_hide_nothing() -> None:
    builder = LogBuilder()
    for name in ("step/start", "step/end", "turn/end", "tool/call", "assistant/chunk"):
        builder.add(name, None)
    builder.add("assistant/message", {"turn": 9})
    builder.add("tool/result", {"message": {"source": {}}})
    _turn(builder, 1)
    assert statistics(builder.log()).llm_ms == _ONE_TURN.llm_ms


def _folded(log: Log) -> Statistics:
    fold = StatisticsFold()
    for event in log.events():
        fold.fold(event)
    return fold.totals


@settings(max_examples=80)
@given(any_logs())
def test_the_fold_of_each_prefix_is_that_of_the_log_up_to_there(log: Log) -> None:
    fold = StatisticsFold()
    plain = tuple(event_row(event.to_json()) for event in log.events())
    for end, event in enumerate(log.events(), 1):
        awaited, before = fold.awaits_first_token, fold.totals
        fold.fold(event)
        if event.type == "assistant/chunk":
            assert fold.totals == before
            assert awaited or not fold.awaits_first_token
        assert fold.totals == statistics(log.prefix(end))
        assert fold.totals == statistics(Log(log.header, plain[:end]))


@settings(max_examples=80)
@given(any_logs())
def test_no_total_is_negative_or_shrinks(log: Log) -> None:
    fold = StatisticsFold()
    before = fold.totals.to_json()
    for event in log.events():
        fold.fold(event)
        after = fold.totals.to_json()
        assert all(0 <= before[key] <= after[key] for key in after)
        before = after


@settings(max_examples=80)
@given(random_logs())
def test_log_only_noise_changes_no_total(builder: LogBuilder) -> None:
    before = statistics(builder.log())
    builder.add("plugin/noise", {"turn": 1, "step": 1, "callId": "k"}, ignorable=True)
    builder.header()
    assert statistics(builder.log()) == before == _folded(builder.log())
