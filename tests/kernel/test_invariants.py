from typing import Any

import pytest
from hypothesis import given, settings

from tests.kernel.turn_logs import (
    NOT_STARTED,
    Value,
    call,
    chunk,
    events,
    log_of,
    other,
    packed,
    result,
    says,
    sound_logs,
    step_end,
    step_start,
    turn_end,
    turn_start,
    user,
    wild_logs,
)
from turnlog.kernel.breach import Breach
from turnlog.kernel.invariants import InvariantFold, breaches, invariants
from turnlog.kernel.log import Log

OPEN_STEP = (turn_start(), step_start())


def rules(*values: Value) -> list[tuple[int, str]]:
    return [(breach.seq, breach.rule) for breach in breaches(log_of(*values))]


def test_a_whole_turn_keeps_every_relation() -> None:
    log = log_of(
        user(),
        turn_start(),
        other("request/header"),
        step_start(),
        chunk(),
        says("c", "d"),
        call("c"),
        result("c"),
        result("d", is_error=True, error=NOT_STARTED),
        step_end(),
        turn_end(),
        turn_start(2),
        step_start(2, 1),
    )
    state = invariants(log)
    assert state.ok
    assert breaches(log) == []
    assert (state.open_turn, state.open_step, state.next_turn, state.next_step) == (2, 1, 2, 1)
    assert (state.pending_calls, state.last_seq) == ((), 12)


def test_an_empty_log_waits_for_turn_one() -> None:
    state = invariants(log_of())
    assert state.ok
    assert (state.open_turn, state.open_step, state.next_turn, state.next_step) == (
        None,
        None,
        1,
        1,
    )
    assert (state.pending_calls, state.last_seq) == ((), None)


def test_the_next_step_is_kept_after_its_turn() -> None:
    state = invariants(log_of(*OPEN_STEP, step_end(), turn_end()))
    assert (state.open_turn, state.next_turn, state.next_step) == (None, 2, 2)


def test_pending_calls_stand_in_call_order_until_their_result_or_the_steps_end() -> None:
    log = log_of(*OPEN_STEP, call("b"), call("a"), call("c"), call("b"), result("a"), step_end())
    assert invariants(log.prefix(6)).pending_calls == ("b", "a", "c")
    assert invariants(log.prefix(7)).pending_calls == ("b", "c")
    assert invariants(log).pending_calls == ()


@pytest.mark.parametrize(
    ("values", "broken"),
    [
        ([turn_start(2)], (0, "turn-next")),
        ([turn_start("1")], (0, "turn-next")),
        ([turn_start(True)], (0, "turn-next")),
        ([turn_start(), turn_start(2)], (1, "turn-closed")),
        ([turn_end()], (0, "turn-open")),
        ([turn_start(), turn_end(2)], (1, "turn-named")),
        ([*OPEN_STEP, turn_end()], (2, "step-closed")),
        ([step_start()], (0, "turn-open")),
        ([turn_start(), step_start(2)], (1, "turn-named")),
        ([turn_start(), step_start(1, 2)], (1, "step-next")),
        ([*OPEN_STEP, step_start(1, 2)], (2, "step-closed")),
        ([turn_start(), step_end()], (1, "step-open")),
        ([*OPEN_STEP, step_end(1, 2)], (2, "step-named")),
        ([*OPEN_STEP, step_end(2, 1)], (2, "turn-named")),
        ([turn_start(), chunk()], (1, "step-open")),
        ([*OPEN_STEP, chunk(step=2)], (2, "step-named")),
        ([*OPEN_STEP, chunk(turn=2)], (2, "turn-named")),
        ([turn_start(), says()], (1, "step-open")),
        ([*OPEN_STEP, call(step=2)], (2, "step-named")),
        ([*OPEN_STEP, call(turn=2)], (2, "turn-named")),
        ([*OPEN_STEP, call(), result(turn=2)], (3, "turn-named")),
        ([*OPEN_STEP, call(5)], (2, "call-id")),
        ([*OPEN_STEP, result()], (2, "call-pending")),
        ([*OPEN_STEP, call("d"), result("c")], (3, "call-pending")),
        ([turn_start(), result()], (1, "step-open")),
        ([other("todo/write")], (0, "turn-open")),
        ([other("request/header")], (0, "turn-open")),
        ([other("request/context")], (0, "turn-open")),
    ],
)
def test_an_event_out_of_relation_is_named_with_its_rule(
    values: list[Value], broken: tuple[int, str]
) -> None:
    assert rules(*values) == [broken]
    assert not invariants(log_of(*values)).ok


@pytest.mark.parametrize(
    "type_", ["user/message", "session/end-seed", "agent/inbox/spliced", "vendor/x", "plan/mode"]
)
def test_other_types_are_free_outside_and_inside_a_turn(type_: str) -> None:
    assert rules(other(type_), turn_start(), other(type_), step_start(), other(type_)) == []


def test_a_whole_float_is_the_integer() -> None:
    assert (
        rules(turn_start(1.0), step_start(1.0, 1.0), chunk(turn=1.0), step_end(), turn_end()) == []
    )
    state = invariants(log_of(turn_start(1.0)))
    assert type(state.open_turn) is int


@pytest.mark.parametrize("repeated", [0, 1])
def test_a_repeated_or_lower_seq_is_named_by_itself(repeated: int) -> None:
    back = {**user(), "seq": repeated}
    assert rules(user(), user(), back, {**user(), "seq": repeated + 1}) == [(repeated, "seq")]


def test_a_gap_in_the_seqs_is_no_breach() -> None:
    assert rules({**user(), "seq": 5}, {**user(), "seq": 9}) == []


@pytest.mark.parametrize(
    ("is_error", "error"),
    [
        (None, NOT_STARTED),
        (False, NOT_STARTED),
        (1, NOT_STARTED),
        (True, {"name": "TOOL_NOT_STARTED", "code": "TOOL_OUTCOME_UNKNOWN"}),
        (True, {"name": "TOOL_NOT_STARTED"}),
        (True, None),
    ],
)
def test_only_an_error_that_says_not_started_needs_no_call(is_error: Any, error: Any) -> None:
    answer = result(is_error=is_error, error=error)
    assert rules(*OPEN_STEP, says("c"), answer) == [(3, "call-pending")]


def test_a_replacing_result_needs_an_open_turn_and_settles_nothing() -> None:
    log = log_of(
        *OPEN_STEP, call(), result(), call(), result(over=(3,), step=9), step_end(), turn_end()
    )
    assert breaches(log) == []
    assert invariants(log.prefix(6)).pending_calls == ("c",)
    again = result(over=(5,))
    assert rules(*(event.to_json() for event in log.events()), again) == [(8, "turn-open")]


@pytest.mark.parametrize(
    ("values", "broken"),
    [
        # The turn that started in spite of the open one is the open one.
        ([*OPEN_STEP, turn_start(2), step_start(2), step_end(2), turn_end(2)], (2, "turn-closed")),
        # A number that was left out is left out once.
        ([turn_start(3), turn_end(3), turn_start(4), turn_end(4)], (0, "turn-next")),
        ([turn_start(), step_start(1, 4), step_end(1, 4), step_start(1, 5)], (1, "step-next")),
        # What started without a number has the one that was due.
        ([turn_start("x"), step_start(), step_end(), turn_end()], (0, "turn-next")),
        # An end closes what is open, whatever it names.
        ([turn_start(), turn_end(7), turn_start(2)], (1, "turn-named")),
        ([*OPEN_STEP, step_end(1, 7), step_start(1, 2)], (2, "step-named")),
        # A turn that ends over its open step ends the step, and its calls with it.
        ([*OPEN_STEP, call(), turn_end(), turn_start(2)], (3, "step-closed")),
        # A call or a result that names another step is there all the same.
        ([*OPEN_STEP, call(step=2), result()], (2, "step-named")),
    ],
)
def test_a_breach_is_named_once_and_the_state_goes_on(
    values: list[Value], broken: tuple[int, str]
) -> None:
    assert rules(*values) == [broken]


def test_a_result_in_another_step_settles_its_call() -> None:
    log = log_of(*OPEN_STEP, call(), result(step=2))
    assert [breach.rule for breach in breaches(log)] == ["step-named"]
    assert invariants(log).pending_calls == ()


def test_a_step_outside_any_turn_opens_nothing() -> None:
    state = invariants(log_of(step_start()))
    assert (state.open_turn, state.open_step, state.next_step) == (None, None, 1)


def test_a_new_turn_forgets_the_calls_of_one_that_was_not_closed() -> None:
    assert invariants(log_of(*OPEN_STEP, call(), turn_start(2))).pending_calls == ()


def test_a_result_that_nobody_called_is_named_and_the_log_stays_readable() -> None:
    # Field case D5: a result of an unknown call, two results of one call, one after its turn.
    log = log_of(
        *OPEN_STEP,
        says("c"),
        call("c"),
        result("x"),
        result("c"),
        result("c"),
        step_end(),
        turn_end(kind="interrupted"),
        result("c"),
    )
    found = [(breach.seq, breach.rule) for breach in breaches(log)]
    assert found == [(4, "call-pending"), (6, "call-pending"), (9, "turn-open")]
    assert len(events(log)) == 10


@pytest.mark.parametrize("data", [None, 5, [], {}, {"turn": [1]}, {"turn": {}, "step": None}])
@pytest.mark.parametrize(
    "type_", ["turn/start", "turn/end", "step/end", "tool/call", "tool/result", "assistant/chunk"]
)
def test_malformed_data_breaks_the_relation_and_raises_nothing(type_: str, data: Any) -> None:
    log = log_of(turn_start(), step_start(), {"type": type_, "data": data, "surfaceOp": "append"})
    assert [breach.seq for breach in breaches(log)] == [2]


def test_an_event_without_data_breaks_the_relation_and_raises_nothing() -> None:
    assert rules({"type": "turn/start"}) == [(0, "turn-next")]


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (2, "2"),
        ("1", "'1'"),
        (True, "True"),
        (None, "nothing"),
        ({}, "an object"),
        ([1], "a list"),
    ],
)
def test_the_reason_says_what_was_expected_and_found(number: Any, shown: str) -> None:
    (breach,) = breaches(log_of(turn_start(number)))
    assert breach.reason == f"expected turn 1, found {shown}"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (turn_start(2), "expected no open turn, found turn 1"),
        (turn_end(2), "expected the open turn 1, found 2"),
        (step_end(), "expected an open step, found none"),
        ({**user(), "seq": 0}, "expected a seq above 0, found 0"),
    ],
)
def test_the_reason_says_what_is_open(value: Value, reason: str) -> None:
    assert [breach.reason for breach in breaches(log_of(turn_start(), value))] == [reason]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (call(None), "expected a call id, found nothing"),
        (result("d"), "expected the id of a pending call, found 'd'"),
    ],
)
def test_the_reason_names_the_call(value: Value, reason: str) -> None:
    assert [breach.reason for breach in breaches(log_of(*OPEN_STEP, value))] == [reason]


def test_a_number_of_any_depth_is_shown_short() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    (breach,) = breaches(log_of(turn_start(deep)))
    assert len(breach.reason) < 200


def test_a_breach_of_a_packed_row_is_named_for_each_member() -> None:
    log = packed(log_of(turn_start(), *[chunk() for _ in range(3)]))
    assert [row.packed for row in log.rows] == [False, True]
    assert [(breach.seq, breach.rule) for breach in breaches(log)] == [
        (1, "step-open"),
        (2, "step-open"),
        (3, "step-open"),
    ]


def test_a_packed_row_in_its_step_is_passed_over_to_its_last_seq() -> None:
    log = packed(log_of(*OPEN_STEP, *[chunk() for _ in range(4)], other("plan/mode")))
    assert log.rows[2].packed
    assert breaches(log) == []
    assert invariants(Log(log.header, log.rows[:3])).last_seq == 5


def test_a_log_may_begin_with_a_packed_row() -> None:
    log = packed(log_of(*[chunk() for _ in range(3)]))
    assert [breach.rule for breach in breaches(log)] == ["turn-open"] * 3


def test_a_packed_row_that_restarts_lower_is_named() -> None:
    log = packed(log_of(*OPEN_STEP, *[{**chunk(), "seq": seq} for seq in (1, 2, 3)]))
    assert log.rows[-1].packed
    assert [(breach.seq, breach.rule) for breach in breaches(log)] == [(1, "seq")]


def test_a_copy_stands_where_its_fold_stands() -> None:
    fold = InvariantFold()
    for event in events(log_of(*OPEN_STEP, call(), other("todo/write"), turn_start(5), call("d"))):
        fold.check(event)
    assert not fold.state.ok
    assert fold.copy().state == fold.state
    (wrong,) = events(log_of({**turn_end(9), "seq": 9}))
    assert fold.copy().check(wrong) == fold.check(wrong) != ()
    (wrong,) = events(log_of({**step_end(9, 9), "seq": 10}))
    assert fold.copy().check(wrong) == fold.check(wrong) != ()


@given(sound_logs())
@settings(max_examples=60)
def test_a_sound_log_has_no_breach_packed_or_not(log: Log) -> None:
    assert breaches(log) == [] == breaches(packed(log))
    assert invariants(packed(log)) == invariants(log)


@given(wild_logs())
@settings(max_examples=100)
def test_the_fold_at_every_split_is_the_fold_from_scratch(log: Log) -> None:
    fold = InvariantFold()
    found: list[Breach] = []
    for seq, event in enumerate(log.events(), 1):
        found += fold.check(event)
        prefix = log.prefix(seq)
        assert fold.state == invariants(prefix)
        assert found == breaches(prefix)
        assert fold.state.first_breach == (found[0] if found else None)


@given(wild_logs())
@settings(max_examples=100)
def test_packed_and_unpacked_logs_give_the_same(log: Log) -> None:
    assert breaches(packed(log)) == breaches(log)
    assert invariants(packed(log)) == invariants(log)
