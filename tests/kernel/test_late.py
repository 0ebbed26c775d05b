from typing import Any

import pytest

from tests.kernel.turn_logs import (
    call,
    chunk,
    log_of,
    other,
    packed,
    result_message,
    says,
    step_end,
    step_start,
    turn_end,
    turn_start,
    user,
    with_drafts,
)
from turnlog.events.errors import BadShape, InvariantBreach, NotLossless
from turnlog.kernel.invariants import breaches
from turnlog.kernel.late import late_result
from turnlog.kernel.log import Log
from turnlog.kernel.messages import messages
from turnlog.kernel.repair import repair
from turnlog.kernel.view_check import view_breaches

REAL = result_message("c", "42 rows")


def interrupted() -> Log:
    """A turn whose call `c` was closed by repair."""
    log = log_of(turn_start(), step_start(), says("c", "d"), call("c"))
    return with_drafts(log, repair(log))


def refusal(log: Log, turn: int = 1, step: int = 1, call_id: str = "c") -> InvariantBreach:
    with pytest.raises(InvariantBreach) as caught:
        late_result(log, turn, step, call_id, {**REAL, **result_message(call_id)})
    assert (caught.value.seq, caught.value.rule) == (log.next_seq, "late-result")
    return caught.value


def test_a_late_result_is_logged_aside_and_told_to_the_model() -> None:
    log = interrupted()
    aside, told = late_result(log, 1, 1, "c", REAL)
    assert (aside.type, aside.ignorable, aside.surface) == ("tool/late-result", True, None)
    assert aside.data == {"turn": 1, "step": 1, "callId": "c", "message": REAL}
    assert (told.type, told.ignorable, told.surface) == ("user/message", False, "append")
    assert told.data["id"] == f"late-tool-result-c-{log.next_seq + 1}"
    assert told.data["source"] == {
        "kind": "late-tool-result",
        "turn": 1,
        "step": 1,
        "callId": "c",
    }


def test_an_appended_late_result_breaks_nothing_and_changes_no_earlier_message() -> None:
    log = interrupted()
    after = with_drafts(log, late_result(log, 1, 1, "c", REAL))
    assert breaches(after) == []
    assert view_breaches(after) == []
    before = [message.value for message in messages(log)]
    assert [message.value for message in messages(after)][:-1] == before
    assert messages(after)[-1].id == f"late-tool-result-c-{after.next_seq - 1}"


@pytest.mark.parametrize(
    ("is_error", "outcome"),
    [(None, "and is the real one"), (False, "and is the real one"), (True, "with an error")],
)
def test_the_model_reads_what_came_and_that_it_counts(is_error: Any, outcome: str) -> None:
    message = result_message("c", "42 rows", is_error)
    told = late_result(interrupted(), 1, 1, "c", message)[1]
    assert told.data["content"] == [
        {
            "type": "text",
            "text": "The result of tool call c (turn 1, step 1) came after that turn was closed, "
            f"{outcome}. It counts instead of what was said of the call before. The result:",
        },
        {"type": "text", "text": "42 rows"},
    ]


def test_a_call_known_from_its_message_alone_may_be_answered() -> None:
    assert late_result(interrupted(), 1, 1, "d", result_message("d"))


def test_a_turn_that_was_never_ended_is_closed_by_the_next() -> None:
    log = log_of(turn_start(), step_start(), call("c"), turn_start(2))
    assert late_result(log, 1, 1, "c", REAL)


def test_packed_rows_are_no_hindrance() -> None:
    values = [turn_start(), step_start(), call("c"), *[chunk()] * 4, step_end(), turn_end()]
    assert late_result(packed(log_of(*values)), 1, 1, "c", REAL)[1].data["id"].endswith("-10")


def test_in_the_open_turn_a_late_result_is_refused() -> None:
    log = log_of(turn_start(), step_start(), call("c"), step_end())
    assert "tool/result" in refusal(log).reason


@pytest.mark.parametrize(
    ("turn", "step", "call_id"), [(2, 1, "c"), (1, 2, "c"), (1, 1, "x"), (0, 1, "c")]
)
def test_an_unknown_call_is_refused(turn: int, step: int, call_id: str) -> None:
    assert "has no call" in refusal(interrupted(), turn, step, call_id).reason


def test_malformed_events_are_no_call() -> None:
    refusal(log_of(other("tool/call"), {"type": "assistant/message"}, user()))


def test_a_second_late_result_of_one_call_is_refused() -> None:
    log = interrupted()
    after = with_drafts(log, late_result(log, 1, 1, "c", REAL))
    assert f"seq {log.next_seq}" in refusal(after).reason
    assert late_result(after, 1, 1, "d", result_message("d"))


@pytest.mark.parametrize(
    "message",
    [
        None,
        {},
        {**REAL, "role": "assistant"},
        {**REAL, "id": ""},
        {**REAL, "source": {"kind": "user", "callId": "c"}},
        {**REAL, "content": []},
        {**REAL, "content": REAL["content"] * 2},
        result_message("d"),
    ],
)
def test_a_message_that_is_no_result_of_the_call_is_refused(message: Any) -> None:
    with pytest.raises(BadShape):
        late_result(interrupted(), 1, 1, "c", message)


def test_a_message_of_another_call_is_refused_at_its_source() -> None:
    with pytest.raises(BadShape) as caught:
        late_result(interrupted(), 1, 1, "c", result_message("d"))
    error = caught.value
    assert (error.field, error.expected, error.found) == ("message.source.callId", "'c'", "'d'")


@pytest.mark.parametrize("type_", ["tool-call", "tool-result"])
def test_an_inner_block_that_would_pair_in_the_view_is_refused(type_: str) -> None:
    message = result_message("c")
    message["content"][0]["content"].append({"type": type_, "id": "e", "toolCallId": "e"})
    with pytest.raises(BadShape) as caught:
        late_result(interrupted(), 1, 1, "c", message)
    assert caught.value.field == "message.content[0].content[1].type"
    assert caught.value.found == repr(type_)


def test_a_message_that_json_can_not_hold_is_refused() -> None:
    with pytest.raises(NotLossless):
        late_result(interrupted(), 1, 1, "c", {**REAL, "note": (1,)})


@pytest.mark.parametrize("number", [True, -1, 1.0, "1", None, 2**53])
def test_a_turn_or_step_that_is_no_number_of_one_is_refused(number: Any) -> None:
    for turn, step, field in ((number, 1, "turn"), (1, number, "step")):
        with pytest.raises(BadShape) as caught:
            late_result(interrupted(), turn, step, "c", REAL)
        assert caught.value.field == field


def test_the_drafts_share_nothing_with_the_callers_message_or_each_other() -> None:
    message = result_message("c", "42 rows")
    aside, told = late_result(interrupted(), 1, 1, "c", message)
    message["content"][0]["content"][0]["text"] = "changed"
    told.data["content"][1]["text"] = "changed too"
    assert aside.data["message"] == REAL
