from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernel.turn_logs import (
    Value,
    chunk,
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
)
from turnlog.events.errors import BadSessionId, BadShape, InvalidBoundary, OpenTurn
from turnlog.events.header import Header
from turnlog.kernel.fork import LAST_CLOSED_TURN, child_header, plan_fork
from turnlog.kernel.invariants import invariants
from turnlog.kernel.log import Log
from turnlog.kernel.messages import messages

TURN = (turn_start(), step_start(), says(), step_end(), turn_end())


def parent(**fields: Any) -> Log:
    return log_of(*TURN, header=Header.new("parent", 7, **fields))


@pytest.mark.parametrize(
    ("values", "boundary", "seed_length"),
    [
        ([user(), *TURN], None, 6),
        ([user(), *TURN], 5, 6),
        ([user(), *TURN], 0, 1),
        ([user(), *TURN, turn_start(2)], 5, 6),
        ([user(), *TURN, user("next")], 6, 7),
        ([user(), *TURN], 5.0, 6),
        ([user(), *TURN], 0.0, 1),
        ([user(), other("session/end-seed")], None, 2),
    ],
)
def test_the_events_up_to_the_boundary_are_the_seed(
    values: list[Value], boundary: Any, seed_length: int
) -> None:
    log = log_of(*values)
    plan = plan_fork(log, boundary)
    assert (plan.seed_length, plan.boundary) == (seed_length, seed_length - 1)
    assert type(plan.boundary) is int
    assert plan.rows == log.rows[:seed_length]
    assert plan.parent == log.header


def test_an_empty_log_may_be_forked_by_default_alone() -> None:
    plan = plan_fork(log_of())
    assert (plan.seed_length, plan.boundary, plan.rows) == (0, None, ())
    with pytest.raises(InvalidBoundary):
        plan_fork(log_of(), 0)


@pytest.mark.parametrize(
    "boundary",
    [6, 7, 10**6, 2**53, -1, 0.5, -0.5, "0", "", True, False, [], {}, object()],
)
def test_a_boundary_that_is_no_seq_of_the_log_is_refused(boundary: Any) -> None:
    # Field case D10.
    log = log_of(user(), *TURN)
    with pytest.raises(InvalidBoundary) as caught:
        plan_fork(log, boundary)
    assert caught.value.boundary is boundary
    assert caught.value.next_seq == 6


def test_a_boundary_of_any_depth_or_size_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for boundary in (deep, 10**5000):
        with pytest.raises(InvalidBoundary):
            plan_fork(log_of(*TURN), boundary)


@pytest.mark.parametrize("boundary", [1, 2, 3, 4])
def test_a_boundary_inside_a_turn_is_refused_with_the_turns_start(boundary: int) -> None:
    # Field case D10.
    log = log_of(user(), *TURN)
    with pytest.raises(OpenTurn) as caught:
        plan_fork(log, boundary)
    assert (caught.value.boundary, caught.value.turn_seq) == (boundary, 1)


def test_the_default_never_trims() -> None:
    with pytest.raises(OpenTurn) as caught:
        plan_fork(log_of(*TURN, turn_start(2), user()))
    assert (caught.value.boundary, caught.value.turn_seq) == (6, 5)


@pytest.mark.parametrize("kind", ["aborted", "interrupted", "blocked", "error", "max-tokens"])
def test_a_turn_that_ended_in_any_way_can_be_forked(kind: str) -> None:
    # Field case D10.
    assert plan_fork(log_of(turn_start(), turn_end(kind=kind)), 1).seed_length == 2


def test_a_log_without_turns_can_be_forked_anywhere() -> None:
    log = log_of(user("a"), other("plan/mode"), user("b"))
    assert [plan_fork(log, seq).seed_length for seq in range(3)] == [1, 2, 3]


def test_the_last_closed_turn_is_where_an_open_one_is_left_out() -> None:
    log = log_of(user(), *TURN, user("next"), turn_start(2), step_start(2))
    assert plan_fork(log, LAST_CLOSED_TURN).seed_length == 6
    assert plan_fork(log_of(*TURN, user("next")), "last-closed-turn").seed_length == 5


def test_without_a_closed_turn_nothing_is_inherited() -> None:
    plan = plan_fork(log_of(user(), turn_start()), LAST_CLOSED_TURN)
    assert (plan.seed_length, plan.boundary, plan.rows) == (0, None, ())


def test_a_boundary_inside_a_packed_row_splits_it() -> None:
    values = [chunk() for _ in range(6)]
    log = packed(log_of(user(), *values))
    plan = plan_fork(log, 4)
    assert (plan.seed_length, sum(row.count for row in plan.rows)) == (5, 5)
    child = Log(log.header, plan.rows)
    assert [event.to_json() for event in child.events()] == [
        event.to_json() for event in log.events(0, 5)
    ]


def test_the_child_inherits_the_folder_and_no_capability() -> None:
    log = parent(
        cwd="/w",
        parentSession="grandparent",
        seedLength=2,
        origin="subagent",
        delegationDepth=3,
        agentPreset="plan",
    )
    assert child_header(plan_fork(log, 4), "child", 99).value == {
        "version": 0,
        "id": "child",
        "createdAt": 99,
        "cwd": "/w",
        "parentSession": "parent",
        "seedLength": 5,
    }


def test_a_child_without_a_folder_or_a_seed_says_so() -> None:
    empty = log_of(header=Header.new("parent", 7))
    assert child_header(plan_fork(empty), "child", 99).value == {
        "version": 0,
        "id": "child",
        "createdAt": 99,
        "parentSession": "parent",
        "seedLength": 0,
    }


@pytest.mark.parametrize(
    ("of_parent", "asked", "depth"), [({}, None, 1), ({"delegationDepth": 2}, None, 3), ({}, 0, 0)]
)
def test_a_sub_agent_is_one_deeper_unless_the_caller_says(
    of_parent: dict[str, int], asked: int | None, depth: int
) -> None:
    header = child_header(
        plan_fork(parent(**of_parent)), "child", 99, origin="subagent", delegation_depth=asked
    )
    assert (header.origin, header.delegation_depth) == ("subagent", depth)


def test_what_the_caller_names_is_the_childs() -> None:
    header = child_header(
        plan_fork(parent(agentPreset="plan")), "child", 99, agent_preset="code", delegation_depth=4
    )
    assert (header.agent_preset, header.delegation_depth, header.origin) == ("code", 4, None)


def test_a_bad_id_or_origin_is_refused() -> None:
    plan = plan_fork(parent())
    with pytest.raises(BadSessionId):
        child_header(plan, "", 99)
    with pytest.raises(BadShape):
        child_header(plan, "child", 99, origin="cron")


@given(sound_logs(), st.data())
@settings(max_examples=100)
def test_a_fork_is_a_prefix_with_equal_messages_or_lies_in_an_open_turn(
    log: Log, data: st.DataObject
) -> None:
    seqs = st.integers(0, log.next_seq - 1) if log.next_seq else st.none()
    boundary = data.draw(seqs)
    length = 0 if boundary is None else boundary + 1
    for source in (log, packed(log)):
        if invariants(log.prefix(length)).open_turn is not None:
            with pytest.raises(OpenTurn):
                plan_fork(source, boundary)
            continue
        plan = plan_fork(source, boundary)
        child = Log(child_header(plan, "child", 1), plan.rows)
        assert (plan.seed_length, child.next_seq) == (length, length)
        assert [e.text for e in child.events()] == [e.text for e in log.events(0, length)]
        assert [m.value for m in messages(child)] == [m.value for m in messages(log, length)]


@given(sound_logs())
@settings(max_examples=60)
def test_the_last_closed_turn_of_any_sound_log_can_be_forked(log: Log) -> None:
    plan = plan_fork(log, LAST_CLOSED_TURN)
    ends = [event.seq for event in log.events() if event.type == "turn/end"]
    assert plan.boundary == (ends[-1] if ends else None)
    assert invariants(Log(log.header, plan.rows)).open_turn is None


def test_a_fork_leaves_its_parent_as_it_was() -> None:
    log = log_of(*TURN, result())
    before = log.rows
    plan_fork(log, 4)
    assert log.rows == before
