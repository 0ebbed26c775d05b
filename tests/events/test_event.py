"""Events as read-only views: what they give, and what they say where a field is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from tests.exactness import nested, same
from tests.log_writer import Value
from tests.strategies import drafts, event_values, events_of, value_of_draft
from turnlog.events.errors import BadRow, BadShape, MissingField
from turnlog.events.event import (
    ENVELOPE_KEYS,
    Draft,
    Event,
    Replace,
    event_of_value,
    parse_sources,
    parse_surface,
    read_draft,
)
from turnlog.events.jsontext import dumps, loads


def event_of(**fields: Any) -> Event:
    value = {"type": "goal/change", "seq": 3, "time": 5, **fields}
    text = dumps(value)
    return event_of_value(loads(text), text)


@given(event_values())
def test_an_event_gives_what_is_stored(values: list[Value]) -> None:
    for value, event in zip(values, events_of(values), strict=True):
        assert (event.type, event.seq, event.time_ms) == (
            value["type"],
            value["seq"],
            value["time"],
        )
        assert event.ignorable is ("ignorable" in value)
        assert event.appends is (value.get("surfaceOp") == "append")
        assert event.surface_value == value.get("surfaceOp")
        assert event.sources_value == value.get("sourceEventSeqs")
        assert same(event.data, value["data"])
        assert same(event.data, value["data"])
        assert same(event.to_json(), value)
        assert event.text == dumps(value)


def test_an_event_can_not_be_changed() -> None:
    event = event_of(data={})
    for name in ("type", "seq", "data", "text", "ignorable"):
        with pytest.raises(AttributeError):
            setattr(event, name, None)


@pytest.mark.parametrize(
    "read", [lambda e: e.data, lambda e: e.to_json()["data"]], ids=["data", "json"]
)
def test_data_is_a_copy_each_time(read: Callable[[Event], Any]) -> None:
    event = event_of(data={"list": [1]})
    for _ in range(3):
        data = read(event)
        assert data == {"list": [1]}
        data["list"].append(2)
        data["new"] = 3
    assert loads(event.text)["data"] == {"list": [1]}


def test_an_event_without_data_says_so_when_asked_for_it() -> None:
    event = event_of()
    with pytest.raises(MissingField) as missing:
        _ = event.data
    assert (missing.value.seq, missing.value.field) == (3, "data")
    assert event.to_json() == {"type": "goal/change", "seq": 3, "time": 5}
    assert event_of(data=None).data is None


@pytest.mark.parametrize("ignorable", [None, False, 1, "true"], ids=repr)
def test_only_true_makes_a_stored_event_ignorable(ignorable: Any) -> None:
    assert event_of(data=1, ignorable=ignorable).ignorable is False
    assert event_of(data=1, ignorable=True).ignorable is True


def test_a_malformed_surface_or_source_is_named_when_asked_for() -> None:
    event = event_of(data=1, surfaceOp={"op": "replace"}, sourceEventSeqs=[1, "2"])
    with pytest.raises(BadShape) as refused:
        _ = event.surface
    assert refused.value.field == "surfaceOp"
    with pytest.raises(BadShape) as refused:
        _ = event.sources
    assert refused.value.field == "sourceEventSeqs"
    assert not event.appends


def test_readers_take_whole_floats() -> None:
    event = event_of(
        seq=7.0,
        time=-0.0,
        surfaceOp={"op": "replace", "start": 1.0, "end": 2},
        sourceEventSeqs=[1.0],
    )
    assert repr((event.seq, event.time_ms, event.surface, event.sources)) == repr(
        (7, 0, Replace(1, 2), (1,))
    )


def test_the_text_of_a_stored_event_is_kept_as_it_is() -> None:
    text = b'{ "seq":3 ,"time":5.0,"type":"\\u0061","data":1e0}'
    event = event_of_value(loads(text), text)
    assert event.text == text
    assert event.type == "a"


def test_the_repr_of_an_event_is_short() -> None:
    assert repr(event_of(data="x" * 9_000)) == "Event(seq=3, type='goal/change', time_ms=5)"


@pytest.mark.parametrize("value", [None, "append", Replace(1, 2)])
def test_a_surface_operation_is_read_in_each_form(value: Any) -> None:
    assert parse_surface(value) == value
    assert parse_surface({"op": "replace", "start": 1, "end": 2}) == Replace(1, 2)


def test_sources_are_read_in_each_form() -> None:
    assert parse_sources(None) is None
    assert parse_sources([]) == parse_sources(()) == ()
    assert parse_sources([3, 1.0, 3]) == (3, 1, 3)


@pytest.mark.parametrize("value", [0, "1", {}, {1}, [-1], [0.5], [None], [True], [2**53]], ids=repr)
def test_malformed_sources_are_refused(value: Any) -> None:
    with pytest.raises(BadShape):
        parse_sources(value)


@pytest.mark.parametrize("depth", [50_000])
def test_depth_is_no_limit(depth: int) -> None:
    deep = nested(depth)
    event = event_of(data=deep, surfaceOp=deep, sourceEventSeqs=deep, ignorable=deep, more=deep)
    assert same(event.data, deep)
    for read in (lambda: event.surface, lambda: event.sources):
        with pytest.raises(BadShape):
            read()
    for key in ("type", "seq", "time"):
        with pytest.raises(BadRow):
            event_of(**{key: deep})


# --- drafts in their JSON form ------------------------------------------------------------------


def test_a_draft_is_read_from_its_json_form() -> None:
    assert read_draft({"type": "a", "data": None}) == Draft("a", None)
    surface = {"op": "replace", "start": 0, "end": 1}
    value = {
        "type": "a",
        "data": {"x": 1},
        "surfaceOp": surface,
        "sourceEventSeqs": [0],
        "ignorable": True,
        "time": 5,
    }
    assert read_draft(value) == Draft("a", {"x": 1}, surface, [0], True, 5)


@given(drafts())
def test_a_draft_comes_back_from_its_json_form(draft: Draft) -> None:
    value = value_of_draft(draft, 0)
    del value["seq"]
    assert read_draft(value) == draft._replace(sources=value.get("sourceEventSeqs"))


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (None, "draft"),
        ([], "draft"),
        ({"type": "a", "data": 1, "seq": 0}, "draft"),
        ({"type": "a", "data": 1, "more": 0}, "draft"),
        ({"data": 1}, "draft.type"),
        ({"type": "a"}, "draft.data"),
        ({"type": "a", "data": 1, "surfaceOp": None}, "draft.surfaceOp"),
        ({"type": "a", "data": 1, "sourceEventSeqs": None}, "draft.sourceEventSeqs"),
        ({"type": "a", "data": 1, "ignorable": None}, "draft.ignorable"),
        ({"type": "a", "data": 1, "time": None}, "draft.time"),
    ],
    ids=str,
)
def test_what_is_no_draft_is_refused(value: Any, field: str) -> None:
    with pytest.raises(BadShape) as refused:
        read_draft(value)
    assert refused.value.field == field


def test_the_keys_of_the_envelope() -> None:
    assert {
        *("type", "seq", "time", "data"),
        *("surfaceOp", "sourceEventSeqs", "ignorable"),
    } == ENVELOPE_KEYS
