"""Restore: what is checked of a stored log, and where the first fault is."""

from __future__ import annotations

from typing import Any

import pytest

from turnlog.events import (
    BadRow,
    Header,
    Registry,
    RestoreRefused,
    UnknownRequiredType,
    event_row,
    parse_row,
)
from turnlog.events.jsontext import dumps
from turnlog.kernel import check_known, restore

HEADER = {"version": 0, "id": "s", "createdAt": 1}


def noted(seq: float, **fields: Any) -> dict[str, Any]:
    return {"type": "plan/mode", "seq": seq, "time": 1, "data": {}, **fields}


def refused(index: int | None, *events: Any, header: Any = HEADER, id: str | None = None) -> str:
    """Give the reason of the refusal that must come, at this index."""
    with pytest.raises(RestoreRefused) as caught:
        restore(header, map(event_row, events), id=id)
    assert caught.value.index == index
    return caught.value.reason


def test_a_sound_log_is_restored_with_its_state() -> None:
    said = {"type": "user/message", "seq": 1, "time": -5, "surfaceOp": "append"}
    said["data"] = {"id": "u", "role": "user", "source": {"kind": "x"}, "content": []}
    done = restore(HEADER, map(event_row, [noted(0), said]), id="s")
    assert (done.first_live_seq, done.state.nodes, done.needs_end_seed) == (2, (1,), True)
    assert done.log.next_seq == 2
    assert done.log.header.value == HEADER


def test_an_end_seed_is_needed_unless_the_log_ends_with_one() -> None:
    end = {"type": "session/end-seed", "seq": 0, "time": 1, "data": {}}
    assert restore(HEADER, []).needs_end_seed
    assert not restore(HEADER, [event_row(end)]).needs_end_seed
    assert restore(HEADER, [event_row(end), event_row(noted(1))]).needs_end_seed


@pytest.mark.parametrize(
    "fields",
    [
        {"more": 1},
        {"": 1},
        {"ignorable": False},
        {"ignorable": 1},
        {"ignorable": None},
        {"ignorable": [[[]]]},
        {"surfaceOp": None},
        {"sourceEventSeqs": None},
        {"surfaceOp": "append"},
        {"type": "request/header-delta"},
        {"type": "user/message"},
        {"type": "request/header", "data": {"header": {"config": {}}}},
        {"seq": 2},
        {"seq": 0},
    ],
)
def test_the_first_fault_is_named_by_index(fields: dict[str, Any]) -> None:
    refused(1, noted(0), noted(1) | fields, noted(2, more=1))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"more": 1}, "event: expected the keys of the envelope, found 'more'"),
        ({"seq": -1}, "seq: expected a non-negative integer, found -1"),
        ({"seq": 2}, "seq: expected 1, found 2"),
        ({"ignorable": "yes"}, "ignorable: expected true or absent, found 'yes'"),
        ({"surfaceOp": None}, "surfaceOp: expected an operation or nothing, found null"),
        (
            {"sourceEventSeqs": None},
            "sourceEventSeqs: expected an operation or nothing, found null",
        ),
        (
            {"type": "request/header-delta"},
            "type: expected a supported type, found the older form 'request/header-delta'",
        ),
    ],
)
def test_the_reason_says_what_was_expected_and_found(fields: dict[str, Any], reason: str) -> None:
    assert refused(1, noted(0), noted(1) | fields) == reason


def test_an_event_without_data_is_refused() -> None:
    event = noted(0)
    del event["data"]
    assert refused(0, event) == "data: expected a value, found nothing"


def test_an_event_may_have_every_key_of_the_envelope() -> None:
    message = {"id": "u", "role": "user", "source": {"kind": "x"}, "content": []}
    said = noted(1, type="user/message", data=message, surfaceOp="append", ignorable=True)
    rows = map(event_row, [noted(0), said | {"sourceEventSeqs": [0]}])
    assert restore(HEADER, rows).first_live_seq == 2


@pytest.mark.parametrize("event", [[], "x", 3, None, {"seq": 0}, noted(0, type=3), noted(0.5)])
def test_what_is_no_event_is_refused_where_it_stands(event: Any) -> None:
    refused(1, noted(0), event)


def test_the_header_is_checked_and_must_be_of_the_session() -> None:
    assert refused(None, header={**HEADER, "version": 1}) == ("header.version: expected 0, found 1")
    refused(None, header={**HEADER, "id": 7})
    refused(None, header=None)
    refused(None, header=HEADER, id="other")
    refused(None, header=Header.of(HEADER), id="other")


def test_a_packed_row_counts_for_its_whole_span() -> None:
    data = {"turn": 1, "step": 1, "index": 0, "dt": [0, 0], "texts": ["a", "b", "c"]}
    row = {"type": "text-chunks", "seq0": 1, "time0": 1, "data": data}
    rows = [event_row(noted(0)), parse_row(dumps(row)), event_row(noted(4))]
    assert restore(HEADER, rows).first_live_seq == 5
    for overlap in (noted(3), noted(5)):
        with pytest.raises(RestoreRefused) as caught:
            restore(HEADER, [*rows[:2], event_row(overlap)])
        assert caught.value.index == 4
    with pytest.raises(RestoreRefused) as caught:
        restore(HEADER, [*rows, rows[1]])
    assert caught.value.index == 5
    assert caught.value.reason == "seq0: expected 5, found 1"


def test_a_broken_row_is_named_by_the_index_it_would_have() -> None:
    def rows() -> Any:
        yield event_row(noted(0))
        raise BadRow("broken")

    with pytest.raises(RestoreRefused) as caught:
        restore(HEADER, rows())
    assert (caught.value.index, caught.value.reason) == (1, "storage row: broken")


def test_unknown_required_types_are_refused_only_with_a_registry() -> None:
    events = [noted(0, type="own/x", ignorable=True), noted(1, type="own/y"), noted(2, type="")]
    rows = list(map(event_row, events))
    assert restore(HEADER, rows).first_live_seq == 3
    with pytest.raises(UnknownRequiredType) as caught:
        restore(HEADER, rows, Registry())
    assert (caught.value.type, caught.value.seq) == ("own/y", 1)
    registry = Registry()
    registry.register("own/y")
    with pytest.raises(UnknownRequiredType) as caught:
        restore(HEADER, rows, registry)
    assert (caught.value.type, caught.value.seq) == ("", 2)
    with pytest.raises(UnknownRequiredType) as caught:
        check_known(restore(HEADER, rows).log, registry)
    assert (caught.value.type, caught.value.seq) == ("", 2)
    check_known(restore(HEADER, rows[:2]).log, registry)


def test_a_fault_of_the_log_goes_before_an_unknown_type() -> None:
    rows = map(event_row, [noted(0, type="own/x"), noted(5)])
    with pytest.raises(RestoreRefused):
        restore(HEADER, rows, Registry())
