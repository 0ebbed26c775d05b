from typing import Any

import pytest

from tests.kernel.turn_logs import (
    Value,
    call,
    log_of,
    other,
    result,
    says,
    step_end,
    step_start,
    turn_end,
    turn_start,
    user,
    with_drafts,
)
from turnlog.events.errors import MissingField
from turnlog.kernel.messages import messages
from turnlog.kernel.repair import repair
from turnlog.kernel.view_check import unpaired, view_breaches


def rules(*values: Value) -> list[tuple[int, str]]:
    return [(breach.seq, breach.rule) for breach in view_breaches(log_of(*values))]


def test_a_view_whose_calls_and_results_pair_has_no_breach() -> None:
    assert rules() == []
    assert rules(user(), says("c", "d"), call("c"), result("d"), user("wait"), result("c")) == []


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([says("c")], [(0, "view-call")]),
        ([result("c")], [(0, "view-result")]),
        ([says("c"), result("c"), result("c")], [(2, "view-double")]),
        (
            [says("c"), result("c"), result("c"), result("c")],
            [(2, "view-double"), (3, "view-double")],
        ),
        # A result answers a call before it only.
        ([result("c"), says("c")], [(0, "view-result"), (1, "view-call")]),
        # An answered id may be called again.
        ([says("c"), result("c"), says("c"), result("c")], []),
        ([says("c"), result("c"), says("c")], [(2, "view-call")]),
        # Named again before its result it is the same call.
        ([says("c", "c"), result("c")], []),
        ([says("c"), says("c"), result("c")], []),
        ([says("c"), says("c")], [(1, "view-call")]),
        # A call without a usable id can't be answered.
        ([says("")], [(0, "view-call")]),
        ([says(5)], [(0, "view-call")]),
        # A tool/call that began is log-only: it is not in the view.
        ([call("c"), user()], []),
    ],
)
def test_what_does_not_pair_is_named(values: list[Value], expected: list[tuple[int, str]]) -> None:
    assert rules(*values) == expected


def test_breaches_stand_in_the_order_of_the_view() -> None:
    assert rules(says("a"), result("x"), says("b"), result("y")) == [
        (0, "view-call"),
        (1, "view-result"),
        (2, "view-call"),
        (3, "view-result"),
    ]


def test_breaches_of_a_message_that_replaced_stand_where_it_stands() -> None:
    log = log_of(user(), result("x"), says("b", "a", over=(0,)))
    found = [(breach.seq, breach.reason) for breach in view_breaches(log)]
    assert found == [
        (2, "call 'b' without a result"),
        (2, "call 'a' without a result"),
        (1, "a result without its call 'x'"),
    ]


def test_every_result_of_a_message_is_checked() -> None:
    told = user()
    told["data"]["content"] = [
        {"type": "tool-result", "toolCallId": name, "content": []} for name in ("c", "x")
    ]
    assert rules(says("c"), told) == [(1, "view-result")]


def test_the_reason_names_the_call() -> None:
    log = log_of(says("one"), result("two"), says("three"), result("three"), result("three"))
    assert [breach.reason for breach in view_breaches(log)] == [
        "call 'one' without a result",
        "a result without its call 'two'",
        "a second result for call 'three'",
    ]


def test_a_replace_over_a_call_but_not_its_result_is_a_breach() -> None:
    # Field case C2: the Surface allows it, the view does not pair.
    values = [user(), says("c"), result("c"), user("sum", over=(0, 1))]
    assert rules(*values) == [(2, "view-result")]


def test_a_replace_over_one_of_two_parallel_results_is_a_breach() -> None:
    # Field case C2.
    values = [says("c", "d"), result("c"), result("d"), user("sum", over=(1,))]
    assert rules(*values) == [(0, "view-call")]


def test_a_replace_over_the_whole_pair_mends_the_view() -> None:
    values = [user(), says("c"), user("sum", over=(0, 1))]
    assert rules(*values) == []
    assert rules(user(), says("c"), result("c"), user("sum", over=(1, 2))) == []


def test_a_result_after_its_closer_is_the_second_for_its_call() -> None:
    # Field case D5: a call, an interrupted end with its closer, then the real result.
    log = log_of(turn_start(), step_start(), says("c"), call("c"))
    mended = with_drafts(log, repair(log))
    assert view_breaches(mended) == []
    again = log_of(*(event.to_json() for event in mended.events()), result("c"), result("unknown"))
    found = [(breach.seq, breach.rule) for breach in view_breaches(again)]
    assert found == [(7, "view-double"), (8, "view-result")]


def test_calls_that_a_closed_step_left_open_are_named() -> None:
    values = [turn_start(), step_start(), says("c"), step_end(), turn_end()]
    assert rules(*values) == [(2, "view-call")]


def test_a_list_of_messages_is_checked_alike() -> None:
    log = log_of(says("c"), result("c"), says("d"))
    view = messages(log)
    assert unpaired(view) == view_breaches(log)
    assert unpaired(view[:2]) == []
    assert [breach.rule for breach in unpaired(view[1:2])] == ["view-result"]


@pytest.mark.parametrize("content", [{}, "text", None])
def test_a_message_without_a_list_of_content_is_named(content: Any) -> None:
    value = user()
    value["data"]["content"] = content
    with pytest.raises(MissingField) as caught:
        view_breaches(log_of(user("a"), value))
    assert (caught.value.seq, caught.value.field) == (1, "message content")


def test_blocks_of_any_shape_are_passed_over() -> None:
    value = user()
    value["data"]["content"] = [5, None, {}, {"type": 3}, {"type": "hologram"}, [{"type": "text"}]]
    assert rules(value, other("plan/mode")) == []
