"""The Surface: append, replace, cited sources, and what a replacing result may change."""

from __future__ import annotations

from typing import Any

import pytest

from turnlog.events import Event, Header, SurfaceRefused, event_row
from turnlog.kernel import Log, Surface, surface_of
from turnlog.kernel.surface import result_identity


def event(seq: int, type: str = "user/message", **fields: Any) -> Event:
    fields.setdefault("data", {"id": f"m{seq}", "content": [{"type": "text", "text": "x"}]})
    return event_row({"type": type, "seq": seq, "time": 1, **fields}).events()[0]


def replace(start: Any, end: Any) -> dict[str, Any]:
    return {"op": "replace", "start": start, "end": end}


def result(seq: int, text: str = "x", **more: Any) -> dict[str, Any]:
    block = {"type": "tool-result", "toolCallId": "c", "content": [{"type": "text", "text": text}]}
    message = {"id": "r", "source": {"kind": "tool", "callId": "c"}, "content": [block]}
    return {"turn": 1, "step": 1, "message": message, **more}


def surface(*events: Event) -> Surface:
    folded = Surface()
    for each in events:
        folded.apply(folded.plan(each))
    return folded


def three() -> Surface:
    return surface(*(event(seq, surfaceOp="append") for seq in range(3)))


def test_appends_stand_in_log_order() -> None:
    folded = three()
    assert list(folded.nodes) == [0, 1, 2]
    assert (folded.replace_generation, folded.node_count) == (0, 3)
    assert 1 in folded
    assert 7 not in folded


def test_log_only_events_do_not_stand_on_it() -> None:
    folded = three()
    folded.apply(folded.plan(event(3, "plan/mode")))
    assert list(folded.nodes) == [0, 1, 2]


def test_a_replace_puts_the_event_in_the_place_of_the_range() -> None:
    folded = three()
    change = folded.plan(event(3, surfaceOp=replace(0, 1), sourceEventSeqs=[1, 0]))
    assert change is not None
    assert (change.seq, change.place, change.shadowed, change.replaces) == (3, 0, (0, 1), True)
    assert list(folded.nodes) == [0, 1, 2]
    folded.apply(change)
    assert list(folded.nodes) == [3, 2]
    assert folded.replace_generation == 1
    assert 0 not in folded


def test_order_is_the_surfaces_not_the_seqs() -> None:
    folded = three()
    folded.apply(folded.plan(event(3, surfaceOp=replace(1, 1), sourceEventSeqs=[1])))
    assert list(folded.nodes) == [0, 3, 2]
    folded.apply(folded.plan(event(4, surfaceOp=replace(3, 2), sourceEventSeqs=[3, 2])))
    assert list(folded.nodes) == [0, 4]


def test_summaries_of_summaries_keep_every_message_visible_or_cited() -> None:
    folded = surface(*(event(seq, surfaceOp="append") for seq in range(6)))
    folded.apply(folded.plan(event(6, surfaceOp=replace(0, 1), sourceEventSeqs=[0, 1])))
    folded.apply(folded.plan(event(7, surfaceOp="append")))
    folded.apply(folded.plan(event(8, surfaceOp="append")))
    assert list(folded.nodes) == [6, 2, 3, 4, 5, 7, 8]
    folded.apply(folded.plan(event(9, surfaceOp=replace(6, 3), sourceEventSeqs=[6, 2, 3])))
    assert list(folded.nodes) == [9, 4, 5, 7, 8]


REFUSED = [
    {"surfaceOp": replace(0, 9), "sourceEventSeqs": [0, 1, 2]},
    {"surfaceOp": replace(9, 1), "sourceEventSeqs": [0, 1, 2]},
    {"surfaceOp": replace(3, 3), "sourceEventSeqs": [0]},
    {"surfaceOp": replace(2, 0), "sourceEventSeqs": [0, 1, 2]},
    {"surfaceOp": replace(0, 2), "sourceEventSeqs": [0, 2]},
    {"surfaceOp": replace(0, 0)},
    {"surfaceOp": replace(0, 0) | {"more": 1}, "sourceEventSeqs": [0]},
    {"surfaceOp": replace(0, 0.5), "sourceEventSeqs": [0]},
    {"surfaceOp": replace(True, 1), "sourceEventSeqs": [0, 1]},
    {"surfaceOp": {"op": "splice", "start": 0, "end": 0}, "sourceEventSeqs": [0]},
    {"surfaceOp": "prepend"},
    {"surfaceOp": ["append"]},
    {},
    {"surfaceOp": "append", "sourceEventSeqs": []},
    {"surfaceOp": "append", "sourceEventSeqs": [1, 1]},
    {"surfaceOp": "append", "sourceEventSeqs": [3]},
    {"surfaceOp": "append", "sourceEventSeqs": [0, 4]},
    {"surfaceOp": "append", "sourceEventSeqs": [-1]},
    {"surfaceOp": "append", "sourceEventSeqs": [True]},
    {"surfaceOp": "append", "sourceEventSeqs": "0"},
    {"type": "plan/mode", "surfaceOp": "append"},
    {"type": "plan/mode", "sourceEventSeqs": [0]},
]


@pytest.mark.parametrize("fields", REFUSED, ids=range(len(REFUSED)))
def test_what_breaks_a_rule_is_refused_and_changes_nothing(fields: dict[str, Any]) -> None:
    folded = three()
    before = folded.save()
    with pytest.raises(SurfaceRefused) as caught:
        folded.plan(event(3, **fields))
    assert caught.value.seq == 3
    assert folded.save() == before


def test_whole_floats_name_seqs() -> None:
    folded = three()
    fields: dict[str, Any] = {"surfaceOp": replace(0.0, 1.0), "sourceEventSeqs": [0.0, 1.0]}
    folded.apply(folded.plan(event(3, **fields)))
    assert list(folded.nodes) == [3, 2]


def test_an_assistant_message_may_cite_an_empty_stream() -> None:
    folded = three()
    folded.plan(event(3, "assistant/message", surfaceOp="append", sourceEventSeqs=[]))


def with_result() -> Surface:
    return surface(
        event(0, surfaceOp="append"),
        event(1, "tool/result", data=result(1, meta={"n": 1}), surfaceOp="append"),
        event(2, "tool/result", data=result(2), surfaceOp="append"),
    )


def rewrite(start: int, end: int, data: Any) -> Event:
    fields: dict[str, Any] = {"surfaceOp": replace(start, end), "sourceEventSeqs": [0, 1, 2]}
    return event(3, "tool/result", data=data, **fields)


@pytest.mark.parametrize(
    "data", [result(1, "other", meta={"n": 1}), result(1, "", meta={"n": 1.0})]
)
def test_a_result_may_rewrite_the_content_of_its_block(data: Any) -> None:
    folded = with_result()
    folded.apply(folded.plan(rewrite(1, 1, data)))
    assert list(folded.nodes) == [0, 3, 2]


@pytest.mark.parametrize(
    "data",
    [
        result(1, meta={"n": 2}),
        result(1, meta={"n": True}),
        result(1, meta={"n": 1, "m": None}),
        result(1),
        result(1, meta={"n": 1}, error={"name": "E", "code": "E"}),
        result(1, meta={"n": 1}) | {"turn": 2},
    ],
)
def test_a_result_may_rewrite_nothing_else(data: Any) -> None:
    with pytest.raises(SurfaceRefused):
        with_result().plan(rewrite(1, 1, data))


@pytest.mark.parametrize(("start", "end"), [(0, 0), (1, 2), (0, 1)])
def test_a_result_rewrites_exactly_one_result(start: int, end: int) -> None:
    with pytest.raises(SurfaceRefused):
        with_result().plan(rewrite(start, end, result(1, meta={"n": 1})))


def test_a_message_may_replace_results() -> None:
    folded = with_result()
    fields: dict[str, Any] = {"surfaceOp": replace(1, 2), "sourceEventSeqs": [1, 2]}
    folded.apply(folded.plan(event(3, **fields)))
    assert list(folded.nodes) == [0, 3]


def test_a_result_identity_ignores_key_order_and_number_form() -> None:
    one, other = {"a": 1, "b": [1.0, {"x": 2, "y": 3}]}, {"b": [1, {"y": 3.0, "x": 2}], "a": 1.0}
    assert result_identity(dict(one)) == result_identity(dict(other))
    for different in ({"a": True, "b": []}, {"a": 1.5}, {"a": "1"}, [1], None):
        assert result_identity({"a": 1, "b": []}) != result_identity(different)


def test_the_surface_at_a_seq_is_that_of_the_events_before() -> None:
    rows = tuple(
        event_row({"type": "user/message", "seq": n, "time": 1, "data": {}, "surfaceOp": "append"})
        for n in range(4)
    )
    log = Log(Header.new("s", 1), rows)
    assert surface_of(log, 2).nodes == (0, 1)
    assert surface_of(log).nodes == (0, 1, 2, 3)
    assert surface_of(log, 0).nodes == ()


def test_a_copy_goes_its_own_way() -> None:
    folded = with_result()
    other = folded.copy()
    other.apply(other.plan(event(3, surfaceOp="append")))
    assert (folded.node_count, other.node_count) == (3, 4)
    assert other.nodes_from(3) == [3]
    assert folded.nodes_from(1) == [1, 2]


def test_an_append_is_planned_for_the_end() -> None:
    change = three().plan(event(3, surfaceOp="append"))
    assert change is not None
    assert (change.seq, change.place, change.shadowed, change.replaces) == (3, 3, (), False)


def test_a_seq_that_stands_on_the_surface_is_refused() -> None:
    folded = three()
    with pytest.raises(SurfaceRefused, match="stands on the Surface already") as caught:
        folded.plan(event(1, surfaceOp="append"))
    assert caught.value.seq == 1


def test_each_replace_is_a_generation() -> None:
    folded = three()
    for seq, end in ((3, 1), (4, 2)):
        start = folded.nodes[0]
        operation = replace(start, end)
        folded.apply(folded.plan(event(seq, surfaceOp=operation, sourceEventSeqs=[start, 1, 2])))
    assert (list(folded.nodes), folded.replace_generation) == ([4], 2)


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ("prepend", "surfaceOp: "),
        (replace(7, 1), "replace start: expected a seq on the Surface, found 7"),
        (replace(1, 7), "replace end: expected a seq on the Surface, found 7"),
    ],
)
def test_the_reason_says_what_is_wrong_with_the_operation(operation: Any, reason: str) -> None:
    with pytest.raises(SurfaceRefused) as caught:
        three().plan(event(3, surfaceOp=operation, sourceEventSeqs=[1]))
    assert caught.value.reason.startswith(reason)
