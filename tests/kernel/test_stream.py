"""Stream replay: attempts, their blocks, and how they end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from tests.kernel.turn_logs import (
    Value,
    chunk,
    log_of,
    other,
    packed,
    says,
    step_end,
    step_start,
    turn_end,
    turn_start,
    user,
)
from tests.kernel.view_logs import (
    call_delta,
    chunk_of_kind,
    retry,
    retry_started,
    splits,
    view_logs,
)
from turnlog.events.errors import MissingField
from turnlog.events.header import Header
from turnlog.events.rows import event_row
from turnlog.kernel.log import Log
from turnlog.kernel.stream import StreamFold, stream_attempts
from turnlog.kernel.stream_attempt import AttemptEnd, StreamAttempt
from turnlog.kernel.stream_blocks import StreamBlock


def _attempts(*values: Value) -> list[StreamAttempt]:
    return list(stream_attempts(log_of(*values)))


def _blocks(*values: Value) -> tuple[StreamBlock, ...]:
    (attempt,) = _attempts(*values)
    return attempt.blocks


def _shown(attempt: StreamAttempt) -> str:
    return "|".join(block.text for block in attempt.blocks)


# --- how attempts begin and end ------------------------------------------------------------------


def test_a_stream_starts_anew_at_a_retry_and_the_message_ends_it() -> None:
    first, second = _attempts(
        chunk("Here is "), chunk("the plan"), retry(), retry_started(), chunk("Here"), says()
    )
    assert (_shown(first), first.end, first.ended_seq) == ("Here is the plan", AttemptEnd.RETRY, 2)
    assert (_shown(second), second.end, second.ended_seq) == ("Here", AttemptEnd.MESSAGE, 5)
    assert (first.number, second.number) == (1, 2)


def test_call_arguments_start_anew_at_a_retry_too() -> None:
    first, second = _attempts(
        call_delta('{"a":', name="read"),
        retry(),
        call_delta('{"a":', name="read"),
        call_delta("1}"),
    )
    assert [_shown(first), _shown(second)] == ['{"a":', '{"a":1}']
    assert second.end is None
    assert not second.final


def test_an_attempt_that_failed_before_its_first_chunk_is_one() -> None:
    first, second = _attempts(step_start(), retry(), retry_started(), chunk())
    assert (first.key.seq, first.blocks, first.end) == (1, (), AttemptEnd.RETRY)
    assert (second.key.seq, second.number) == (3, 2)


def test_a_started_retry_alone_ends_the_failed_attempt() -> None:
    first, second = _attempts(chunk(), retry_started(), chunk())
    assert (first.end, first.ended_seq, first.retry) == (AttemptEnd.RETRY, 1, None)
    assert second.key.seq == 2


def test_a_retry_of_another_step_is_no_retry_of_the_open_attempt() -> None:
    first, second = _attempts(chunk(step=1), retry(step=2))
    assert (first.end, first.ended_seq) == (AttemptEnd.CANCEL, 1)
    assert (second.step, second.number, second.end) == (2, 1, AttemptEnd.RETRY)
    assert (first.spans, first.retry, second.spans) == (((0, 1),), None, ((1, 2),))


def test_a_retry_that_names_no_step_is_one_of_the_open_attempt() -> None:
    (attempt,) = _attempts(chunk(), other("llm/retry"))
    assert attempt.end is AttemptEnd.RETRY


@pytest.mark.parametrize("named", [{"turn": 2}, {"step": 2}])
def test_a_retry_that_names_another_turn_or_step_alone_is_none_of_the_open_attempt(
    named: Value,
) -> None:
    first, second = _attempts(chunk(), other("llm/retry", **named))
    assert (first.end, first.ended_seq) == (AttemptEnd.CANCEL, 1)
    assert second.end is AttemptEnd.RETRY


@pytest.mark.parametrize(
    "closing",
    [step_end(), turn_end(), turn_start(2), step_start(1, 2), other("session/end-seed")],
)
def test_an_attempt_without_a_message_is_cancelled_where_its_step_turn_or_lifetime_ends(
    closing: Value,
) -> None:
    first, second = _attempts(chunk("a"), closing, chunk("b"))
    assert (first.end, first.ended_seq) == (AttemptEnd.CANCEL, 1)
    assert (_shown(second), second.end) == ("b", None)


@pytest.mark.parametrize(
    "noise",
    [
        user(),
        other("hook/invoked"),
        other("todo/write"),
        says(step=2),
        says(turn=2),
        says(turn=True),
    ],
)
def test_other_events_and_messages_of_other_steps_leave_an_attempt_open(noise: Value) -> None:
    (attempt,) = _attempts(chunk("a"), noise, chunk("b"))
    assert (_shown(attempt), attempt.end) == ("ab", None)
    assert attempt.spans == ((0, 1), (2, 3))


def test_a_chunk_of_another_step_cancels_the_attempt() -> None:
    first, second = _attempts(chunk(step=1), chunk(step=2))
    assert (first.end, first.ended_seq) == (AttemptEnd.CANCEL, 1)
    assert (second.step, second.end) == (2, None)


def test_a_message_that_replaces_ends_its_steps_attempt() -> None:
    (attempt,) = _attempts(user(), chunk(), says(over=(0,)))
    assert (attempt.end, attempt.ended_seq) == (AttemptEnd.MESSAGE, 2)


def test_a_retry_is_an_event_of_the_attempt_and_can_be_read() -> None:
    (attempt,) = _attempts(turn_start(), chunk(), chunk(), retry())
    assert attempt.spans == ((1, 4),)
    assert attempt.retry["error"] == {"message": "busy"}
    assert (attempt.turn, attempt.step, attempt.time_ms) == (1, 1, 1_001)


def test_a_retry_without_data_says_so_when_it_is_read() -> None:
    row = event_row({"type": "llm/retry", "seq": 0, "time": 1})
    (attempt,) = stream_attempts(Log(Header.new("s", 1), (row,)))
    with pytest.raises(MissingField) as caught:
        _ = attempt.retry
    assert (caught.value.seq, caught.value.field) == (0, "data")


# --- blocks --------------------------------------------------------------------------------------


def test_token_boundaries_are_kept() -> None:
    (block,) = _blocks(chunk("a"), chunk(""), chunk("b"))
    assert (block.texts, block.text) == (("a", "", "b"), "ab")


def test_blocks_stand_in_the_order_of_their_beginning() -> None:
    blocks = _blocks(
        chunk_of_kind("block-start", index=1, blockType="reasoning"),
        chunk_of_kind("reasoning-delta", index=1, text="r"),
        chunk_of_kind("block-start", index=0, blockType="text"),
        chunk_of_kind("text-delta", index=0, text="t"),
        chunk_of_kind("reasoning-delta", index=1, text="s"),
    )
    assert [(block.index, block.kind, block.text) for block in blocks] == [
        (1, "reasoning", "rs"),
        (0, "text", "t"),
    ]


def test_a_block_start_begins_a_block_of_the_kind_that_it_names() -> None:
    blocks = _blocks(
        chunk_of_kind("block-start", index=0, blockType="image"),
        chunk_of_kind("block-start", index=0, blockType="text"),
        chunk("a"),
        chunk_of_kind("block-start", index=1),
    )
    assert [(block.index, block.kind, block.text, block.ended) for block in blocks] == [
        (0, "image", "", False),
        (0, "text", "a", False),
        (1, "", "", False),
    ]


def test_a_call_block_has_its_id_its_name_and_its_arguments() -> None:
    (block,) = _blocks(
        chunk_of_kind("block-start", index=0, blockType="tool-call"),
        call_delta("{", name="read"),
        call_delta("}"),
    )
    assert (block.kind, block.call_id, block.name, block.text) == ("tool-call", "c", "read", "{}")


def test_a_delta_of_another_kind_or_call_begins_a_block() -> None:
    blocks = _blocks(
        chunk("a"),
        chunk_of_kind("reasoning-delta", index=0, text="b"),
        call_delta("x"),
        call_delta("y", id="d"),
    )
    assert [(block.kind, block.call_id, block.text) for block in blocks] == [
        ("text", None, "a"),
        ("reasoning", None, "b"),
        ("tool-call", "c", "x"),
        ("tool-call", "d", "y"),
    ]


def test_the_block_of_a_block_end_is_kept_whole() -> None:
    whole = {"type": "text", "text": "ab", "extra": {"n": 1.0}}
    (block,) = _blocks(chunk("a"))
    assert (block.ended, block.block) == (False, None)
    (block,) = _blocks(chunk("a"), chunk_of_kind("block-end", index=0, block=whole))
    assert block.ended
    assert block.block == whole
    block.block.clear()
    assert block.block == whole


def test_what_comes_after_a_block_end_begins_a_block() -> None:
    end = chunk_of_kind("block-end", index=0, block={"type": "text", "text": "a"})
    blocks = _blocks(chunk("a"), end, chunk("b"), end, end)
    assert [(block.text, block.ended) for block in blocks] == [("a", True), ("b", True), ("", True)]
    assert [block.kind for block in blocks] == ["text"] * 3


def test_a_block_end_alone_is_a_block() -> None:
    first, second = _blocks(
        chunk_of_kind("block-end", index=3, block={"type": "text", "text": "a"}),
        chunk_of_kind("block-end", index=4, block={}),
    )
    assert (first.index, first.kind, first.ended) == (3, "text", True)
    assert (second.index, second.kind, second.ended) == (4, "", True)


def test_a_call_delta_with_further_keys_has_its_id_and_its_name() -> None:
    (block,) = _blocks(
        chunk_of_kind("tool-call-delta", index=0, id="c", name="f", argumentsDelta="{", extra=1),
        chunk_of_kind("tool-call-delta", index=0, argumentsDelta="}"),
    )
    assert (block.call_id, block.name, block.text) == ("c", "f", "{}")


def test_a_text_delta_has_no_call_id() -> None:
    (block,) = _blocks(chunk_of_kind("text-delta", index=0, id="c", name="f", text="a"))
    assert (block.call_id, block.name, block.text) == (None, None, "a")


def test_usage_and_finish_reason_are_those_that_came_last() -> None:
    (attempt,) = _attempts(
        chunk_of_kind("usage", usage={"outputTokens": 1}),
        chunk_of_kind("usage", usage={"outputTokens": 2}),
        chunk_of_kind("finish", reason={"kind": "stop"}),
    )
    assert (attempt.usage, attempt.finish_reason) == ({"outputTokens": 2}, {"kind": "stop"})
    (without,) = _attempts(chunk())
    assert (without.usage, without.finish_reason) == (None, None)


@pytest.mark.parametrize(
    "data",
    [
        None,
        1,
        [],
        {},
        {"chunk": 1},
        {"chunk": {"type": 1}},
        {"chunk": {"type": "audio-delta", "index": 0}},
    ],
)
def test_a_chunk_that_holds_no_known_delta_is_an_event_of_the_attempt_and_adds_nothing(
    data: Any,
) -> None:
    (attempt,) = _attempts({"type": "assistant/chunk", "data": data})
    assert (attempt.blocks, attempt.spans) == ((), ((0, 1),))


def test_a_malformed_delta_adds_what_it_has() -> None:
    blocks = _blocks(
        chunk_of_kind("text-delta", text="a"),
        chunk_of_kind("text-delta", index="0", text="b", extra=1),
        chunk_of_kind("text-delta", index=0, text=3),
        chunk_of_kind("tool-call-delta", index=1, id=3, name=3, argumentsDelta="x"),
    )
    assert [
        (block.index, block.kind, block.call_id, block.name, block.texts) for block in blocks
    ] == [
        (None, "text", None, None, ("a", "b")),
        (0, "text", None, None, ()),
        (1, "tool-call", None, None, ("x",)),
    ]


# --- the fold ------------------------------------------------------------------------------------


def test_the_open_attempt_grows_and_what_was_handed_out_does_not() -> None:
    fold = StreamFold()
    first, second, last = log_of(chunk("a"), chunk("b"), says()).events()
    assert fold.current is None
    assert fold.fold(first) == []
    before = fold.current
    assert fold.fold(second) == []
    after = fold.current
    assert before is not None
    assert after is not None
    assert before.ended_seq is None
    assert (_shown(before), _shown(after)) == ("a", "ab")
    (ended,) = fold.fold(last)
    assert ended.final
    assert fold.current is None


@settings(max_examples=100)
@given(view_logs())
def test_the_fold_at_every_split_is_that_of_the_log_up_to_there(log: Log) -> None:
    fold = StreamFold()
    ended: list[StreamAttempt] = []
    events = log.events()
    for length, prefix in splits(log):
        current = [] if fold.current is None else [fold.current]
        assert [*ended, *current] == list(stream_attempts(prefix)), length
        for event in events:
            ended += fold.fold(event)
            break


@settings(max_examples=100)
@given(view_logs())
def test_packed_rows_give_the_same_attempts(log: Log) -> None:
    assert list(stream_attempts(packed(log))) == list(stream_attempts(log))


@settings(max_examples=100)
@given(view_logs())
def test_each_chunk_is_in_one_attempt(log: Log) -> None:
    chunks = [event.seq for event in log.events() if event.type == "assistant/chunk"]
    retries = [event.seq for event in log.events() if event.type == "llm/retry"]
    covered = [
        seq
        for attempt in stream_attempts(log)
        for start, end in attempt.spans
        for seq in range(start, end)
    ]
    assert sorted(covered) == sorted(chunks + retries)
