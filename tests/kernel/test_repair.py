from typing import Any

import pytest
from hypothesis import given, settings

from tests.kernel.turn_logs import (
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
    with_drafts,
)
from turnlog.events.errors import MissingField
from turnlog.events.event import Draft
from turnlog.kernel.calls import named_calls
from turnlog.kernel.invariants import breaches, invariants
from turnlog.kernel.log import Log
from turnlog.kernel.repair import NOT_STARTED_TEXT, OUTCOME_UNKNOWN_TEXT, RepairFold, repair
from turnlog.kernel.surface import surface_of
from turnlog.kernel.view_check import view_breaches

OPEN_STEP = (turn_start(), step_start())
INTERRUPTED = ("turn/end", {"turn": 1, "reason": {"kind": "interrupted"}})


def closed(*values: Value) -> list[tuple[str, Any]]:
    return [(draft.type, draft.data) for draft in repair(log_of(*values))]


def answered(*values: Value) -> list[tuple[str, str, Any]]:
    """Each closing result: its call, its error's code, the seqs that it cites."""
    return [
        (draft.data["message"]["source"]["callId"], draft.data["error"]["code"], draft.sources)
        for draft in repair(log_of(*values))
        if draft.type == "tool/result"
    ]


@pytest.mark.parametrize(
    "values",
    [
        [],
        [user(), other("plan/mode")],
        [turn_start(), turn_end()],
        [*OPEN_STEP, says("c"), call(), turn_end(kind="aborted")],
    ],
)
def test_a_log_without_an_open_turn_needs_nothing(values: list[Value]) -> None:
    assert closed(*values) == []


def test_an_open_turn_is_ended_as_interrupted() -> None:
    assert closed(turn_start(), user()) == [INTERRUPTED]


def test_an_open_step_is_ended_first() -> None:
    assert closed(*OPEN_STEP, chunk()) == [("step/end", {"turn": 1, "step": 1}), INTERRUPTED]


def test_a_step_outside_the_turn_is_none_of_its_steps() -> None:
    assert closed(step_start(), turn_start()) == [INTERRUPTED]


def test_a_call_that_began_gets_an_unknown_outcome_that_cites_it() -> None:
    draft, *rest = repair(log_of(*OPEN_STEP, says("c"), call("c")))
    assert draft == Draft(
        "tool/result",
        {
            "turn": 1,
            "step": 1,
            "message": {
                "id": "interrupted-tool-result-c-4",
                "role": "user",
                "source": {"kind": "tool", "callId": "c"},
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "c",
                        "isError": True,
                        "content": [{"type": "text", "text": OUTCOME_UNKNOWN_TEXT}],
                    }
                ],
            },
            "error": {"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"},
        },
        "append",
        (3,),
        time_ms=1_003,
    )
    assert [(draft.type, draft.data) for draft in rest] == [
        ("step/end", {"turn": 1, "step": 1}),
        INTERRUPTED,
    ]


def test_a_call_that_never_began_says_so_and_cites_nothing() -> None:
    draft = repair(log_of(*OPEN_STEP, says("c")))[0]
    assert draft.data["error"] == {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}
    assert draft.data["message"]["content"][0]["content"][0]["text"] == NOT_STARTED_TEXT
    assert draft.sources is None


def test_results_stand_in_the_order_of_naming_with_their_seqs_and_the_last_time() -> None:
    drafts = repair(log_of(*OPEN_STEP, says("b", "a"), call("a"), other("plan/mode")))
    assert [draft.data["message"]["id"] for draft in drafts[:2]] == [
        "interrupted-tool-result-b-5",
        "interrupted-tool-result-a-6",
    ]
    assert {draft.time_ms for draft in drafts} == {1_004}


def test_a_log_that_ends_in_a_packed_row_goes_on_after_it() -> None:
    log = packed(log_of(*OPEN_STEP, says("c"), *[chunk() for _ in range(5)]))
    assert log.rows[-1].packed
    draft = repair(log)[0]
    assert draft.data["message"]["id"] == "interrupted-tool-result-c-8"
    assert draft.time_ms == 1_007


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # The call stands before the message that names it: it is not that message's.
        ([call(), says("c")], [("c", "TOOL_NOT_STARTED", None)]),
        # A call that no message named.
        ([call()], []),
        # A result settles its call, whether it appends or replaces.
        ([says("c"), call(), result()], []),
        ([says("c"), call(), result(), says("c"), result(over=(4,))], []),
        # A result before the naming is not of that naming.
        ([call(), result(), says("c")], [("c", "TOOL_NOT_STARTED", None)]),
        # A message that replaces names calls too, and a replaced one has named its calls.
        (
            [says("c"), says("d", over=(2,))],
            [("c", "TOOL_NOT_STARTED", None), ("d", "TOOL_NOT_STARTED", None)],
        ),
        # Naming again keeps the place and forgets the call.
        (
            [says("c", "d"), call("c"), says("c")],
            [("c", "TOOL_NOT_STARTED", None), ("d", "TOOL_NOT_STARTED", None)],
        ),
        ([says("c"), call(), call()], [("c", "TOOL_OUTCOME_UNKNOWN", (4,))]),
        # The end of a step forgets, a step that starts without it does not.
        ([says("c"), step_end(), step_start(1, 2), says("d")], [("d", "TOOL_NOT_STARTED", None)]),
        ([says("c"), step_start(1, 2)], [("c", "TOOL_NOT_STARTED", None)]),
        # A new turn forgets.
        ([says("c"), turn_start(2)], []),
        # An end-seed inside changes nothing.
        ([says("c"), call(), other("session/end-seed")], [("c", "TOOL_OUTCOME_UNKNOWN", (3,))]),
        # What no result could answer is passed over.
        ([says("", 5, None)], []),
    ],
)
def test_which_calls_are_answered(
    values: list[Value], expected: list[tuple[str, str, Any]]
) -> None:
    assert answered(*OPEN_STEP, *values) == expected


def test_a_block_that_is_no_call_names_none() -> None:
    message = says("c")
    message["data"]["message"]["content"] += [{"type": "image", "id": "x"}, {"id": "y"}, "z"]
    assert [call_id for call_id, _, _ in answered(*OPEN_STEP, message)] == ["c"]


def test_a_result_names_the_step_of_its_call() -> None:
    first, _, end, _ = repair(log_of(*OPEN_STEP, says("c"), step_start(1, 2), says("d", step=2)))
    assert (first.data["step"], end.data["step"]) == (1, 2)


def test_numbers_are_carried_as_the_log_has_them() -> None:
    assert closed(turn_start("1"))[0][1]["turn"] == "1"
    assert closed(turn_start(True))[0][1]["turn"] is True
    whole = closed(turn_start(2.0))[0][1]["turn"]
    assert (whole, type(whole)) == (2, int)


@pytest.mark.parametrize(
    ("values", "seq", "field"),
    [
        ([{"type": "assistant/message", "data": {}}], 0, "data.message"),
        ([{"type": "assistant/message"}, turn_start()], 0, "data.message"),
        ([{"type": "tool/result", "data": {"message": 3}}], 0, "data.message"),
        ([{"type": "tool/result", "data": {"message": {}}}], 0, "data.message.content"),
        ([other("assistant/message", message={"content": {}})], 0, "data.message.content"),
        ([user(), other("turn/start")], 1, "data.turn"),
        ([turn_start(), other("step/start", turn=1)], 1, "data.step"),
    ],
)
def test_a_missing_field_is_named_with_its_seq(values: list[Value], seq: int, field: str) -> None:
    with pytest.raises(MissingField) as caught:
        repair(log_of(*values))
    assert (caught.value.seq, caught.value.field) == (seq, field)


def test_a_missing_field_that_no_closer_needs_is_no_hindrance() -> None:
    malformed = [other("tool/call"), other("turn/start"), other("step/start"), other("turn/end")]
    assert closed(*malformed) == []


def test_calls_of_an_earlier_step_are_not_answered_later() -> None:
    # Field case D3: nine calls without results, a user message, nine new calls.
    old, new = [f"old{n}" for n in range(9)], [f"new{n}" for n in range(9)]
    log = log_of(
        *OPEN_STEP,
        says(*old),
        step_end(),
        user("stop"),
        step_start(1, 2),
        says(*new, step=2),
        call(new[4], step=2),
    )
    drafts = repair(log)
    assert [draft.data["message"]["source"]["callId"] for draft in drafts[:-2]] == new
    mended = with_drafts(log, drafts)
    assert repair(mended) == []
    assert {breach.reason.split("'")[1] for breach in view_breaches(mended)} == set(old)


def test_in_one_open_step_all_unanswered_calls_are_answered() -> None:
    # Field case D3 again, the user message inside the step.
    old, new = [f"old{n}" for n in range(9)], [f"new{n}" for n in range(9)]
    log = log_of(*OPEN_STEP, says(*old), user("go on"), says(*new))
    mended = with_drafts(log, repair(log))
    assert mended.next_seq == log.next_seq + 20
    assert view_breaches(mended) == []


def test_the_drafts_are_the_callers_own() -> None:
    log = log_of(*OPEN_STEP, says("c"))
    fold = RepairFold()
    for event in log.events():
        fold.fold(event)
    fold.closers()[0].data["message"]["content"].clear()
    assert fold.closers() == repair(log)


@given(sound_logs())
@settings(max_examples=120)
def test_a_repaired_sound_log_is_closed_sound_and_repaired_once(log: Log) -> None:
    mended = with_drafts(log, repair(log))
    assert repair(mended) == []
    assert invariants(mended).open_turn is None
    assert breaches(mended) == []
    before = surface_of(log).nodes
    assert surface_of(mended).nodes[: len(before)] == before
    assert mended.prefix(log.next_seq).rows == log.rows
    for event in events(mended)[log.next_seq :]:
        if event.type == "tool/result":
            assert event.data["message"]["id"].endswith(f"-{event.seq}")


@given(sound_logs())
@settings(max_examples=60)
def test_every_call_of_an_open_step_has_one_result_after_repair(log: Log) -> None:
    named: list[str] = []
    answers: list[str] = []
    for event in with_drafts(log, repair(log)).events():
        if event.type == "step/start":
            named, answers = [], []
        elif event.type == "assistant/message":
            named += named_calls(event.data["message"]["content"])
        elif event.type == "tool/result":
            answers.append(event.data["message"]["source"]["callId"])
    if invariants(log).open_step is not None:
        assert sorted(named) == sorted(answers)


@given(wild_logs())
@settings(max_examples=120)
def test_any_log_is_closed_by_one_repair(log: Log) -> None:
    mended = with_drafts(log, repair(log))
    assert repair(mended) == []
    assert invariants(mended).open_turn is None


@given(wild_logs())
@settings(max_examples=80)
def test_the_fold_at_every_split_is_repair_from_scratch(log: Log) -> None:
    fold = RepairFold()
    assert fold.closers() == []
    for seq, event in enumerate(log.events(), 1):
        fold.fold(event)
        assert fold.closers() == repair(log.prefix(seq)) == repair(packed(log.prefix(seq)))
