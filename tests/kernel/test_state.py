"""The hot state: dense seqs, all or nothing, checkpoints that are used only where they fit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnlog.events import BadCheckpoint, BadShape, Event, SurfaceRefused, event_row
from turnlog.kernel import SessionState
from turnlog.kernel.state import FOLD_VERSION, STATE_VERSION


def said(seq: int, **fields: Any) -> Event:
    fields.setdefault("surfaceOp", "append")
    value = {"type": "user/message", "seq": seq, "time": 1, "data": {"content": [1]}, **fields}
    return event_row(value).events()[0]


def noted(seq: int) -> Event:
    return event_row({"type": "plan/mode", "seq": seq, "time": 1, "data": {}}).events()[0]


def result(seq: int) -> Event:
    block = {"type": "tool-result", "toolCallId": "c", "content": []}
    data = {"message": {"content": [block]}}
    value = {"type": "tool/result", "seq": seq, "time": 1, "data": data, "surfaceOp": "append"}
    return event_row(value).events()[0]


def delta(seq: int) -> Event:
    data = {"turn": 1, "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": "x"}}
    return event_row({"type": "assistant/chunk", "seq": seq, "time": 1, "data": data}).events()[0]


def test_an_event_and_a_batch_are_added_in_order() -> None:
    state = SessionState()
    assert [change.seq for change in state.apply(said(0))] == [0]
    assert state.apply(noted(1)) == []
    assert state.apply(delta(2)) == []
    assert [change.seq for change in state.apply([said(3), delta(4), said(5)])] == [3, 5]
    assert [change.seq for change in state.apply(iter([said(6), said(7)]))] == [6, 7]
    assert state.apply([]) == []
    assert (state.next_seq, state.nodes, state.node_count) == (8, (0, 3, 5, 6, 7), 5)
    assert state.nodes_from(3) == [6, 7]
    state.skip(10)
    assert state.next_seq == 18


@pytest.mark.parametrize(
    ("batch", "expected", "found"),
    [
        ([noted(2)], "1", "2"),
        ([said(0)], "1", "0"),
        ([delta(0)], "1", "0"),
        ([noted(1), delta(3)], "2", "3"),
    ],
)
def test_a_seq_that_is_not_the_next_is_refused(
    batch: list[Event], expected: str, found: str
) -> None:
    state = SessionState()
    state.apply(said(0))
    before = state.save()
    with pytest.raises(BadShape) as caught:
        state.apply(batch if len(batch) > 1 else batch[0])
    error = caught.value
    assert (error.field, error.expected, error.found) == ("seq", expected, found)
    assert state.save() == before


def test_a_batch_is_all_or_nothing() -> None:
    state = SessionState()
    state.apply([said(0), said(1)])
    before = state.save()
    wrong = said(4, surfaceOp={"op": "replace", "start": 9, "end": 9}, sourceEventSeqs=[0])
    for batch in (
        [said(2), noted(3), wrong],
        [noted(2), noted(3), wrong],
        [said(2), said(3), wrong],
    ):
        with pytest.raises(SurfaceRefused):
            state.apply(batch)
        assert state.save() == before


def test_a_batch_sees_its_own_changes() -> None:
    state = SessionState()
    again = said(1, surfaceOp={"op": "replace", "start": 0, "end": 0}, sourceEventSeqs=[0])
    state.apply([said(0), again])
    assert (state.nodes, state.replace_generation) == ((1,), 1)


def test_a_copy_and_a_loaded_state_equal_the_state() -> None:
    state = SessionState()
    state.apply([said(0), result(1), noted(2)])
    for other in (state.copy(), SessionState.load(state.save())):
        assert other.save() == state.save()
        other.apply(said(3))
        assert other.next_seq == state.next_seq + 1


def test_golden_checkpoint() -> None:
    state = SessionState()
    state.apply([said(0), result(1)])
    digest = "71e8dd3433c34e1d936adae444e14c37575c75004d651df1039ce725ead574db"
    assert state.save() == (
        b'{"state_version":1,"fold_version":1,"next_seq":2,"nodes":[0,1],"results":{"1":"'
        + digest.encode()
        + b'"},"replace_generation":0}'
    )


def saved(**changes: Any) -> bytes:
    state = SessionState()
    state.apply([said(0), result(1), said(2)])
    return json.dumps(json.loads(state.save()) | changes).encode()


def test_the_unchanged_checkpoint_loads() -> None:
    assert SessionState.load(saved()).nodes == (0, 1, 2)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"null",
        b"[" * 100_000,
        b"\xff",
        saved(state_version=STATE_VERSION + 1),
        saved(fold_version=FOLD_VERSION + 1),
        saved(further=1),
        saved(nodes=[0, 0, 1]),
        saved(nodes=[0, 3, 1]),
        saved(nodes=[0, -1, 1]),
        saved(nodes=[0, 2]),
        saved(nodes="012"),
        saved(results={"1": "00"}),
        saved(results={"x": "00" * 32}),
        saved(results={"1": "zz" * 32}),
        saved(next_seq=-1, nodes=[], results={}),
        saved(replace_generation=-1),
        saved(results={"1": "00" * 32, "+1": "00" * 32}),
        saved(results={"01": "00" * 32}),
        saved(results={"1": "AB" * 32}),
        saved(results={"1": "ab " * 32}),
        saved(replace_generation=9),
        saved(replace_generation=1),
        saved(nodes=[], results={}, replace_generation=1),
        saved(nodes=[2, 1, 0]),
        saved(nodes=[3, 2, 1], next_seq=9, replace_generation=1),
    ],
    ids=range(27),
)
def test_a_checkpoint_that_does_not_fit_is_never_used(data: bytes) -> None:
    with pytest.raises(BadCheckpoint):
        SessionState.load(data)


def test_the_refusal_of_a_checkpoint_says_what_it_lacks() -> None:
    with pytest.raises(BadCheckpoint, match="state_version"):
        SessionState.load(b"{}")
