"""The gate of `append` up to the log: order of its steps, its refusals, its two ways for chunks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.events.samples import CHUNKS, DROP, SAMPLES, SURFACES, changed
from tests.exactness import nested, same
from tests.strategies import any_text, drafts, json_values, value_of_draft
from turnlog.events.admit import _admit_any, admit, admit_all
from turnlog.events.chunk import CHUNK_TYPE
from turnlog.events.errors import BadShape, CallerError, NotLossless, TooLarge, UnregisteredType
from turnlog.events.event import Draft, Event, Replace
from turnlog.events.gate import MAX_EVENT_BYTES, MAX_SAFE_INTEGER
from turnlog.events.hot_chunks import hot_chunk, hot_chunks
from turnlog.events.jsontext import deep_equal
from turnlog.events.vocabulary import CORE_TYPES, KNOWN_TYPES, LEGACY_TYPES, PACKED_TYPES, Registry

NOW = 1_700_000_000_000


def draft_of(name: str = "turn/start", **more: Any) -> Draft:
    """A draft of a sample; `more` are its fields."""
    type_ = name.split()[0]
    fields = {"data": SAMPLES.get(name, {}), "surface": SURFACES.get(type_), **more}
    return Draft(type_, **fields)


def take(draft: Draft, seq: int = 7, registry: Registry | None = None) -> Event:
    return admit(draft, seq, NOW, registry or Registry())


def delta(text: Any = "a", kind: Any = "text-delta", **more: Any) -> Draft:
    """A text delta; `more` are turn, step, index."""
    place = {"turn": 1, "step": 1} | {key: more.pop(key) for key in ("turn", "step") if key in more}
    chunk = {"type": kind, "index": 0, "text": text, **more}
    return Draft(CHUNK_TYPE, {**place, "chunk": chunk})


# --- what is taken -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_a_valid_draft_becomes_its_event(name: str) -> None:
    draft = draft_of(name, time_ms=-5)
    event = take(draft)
    assert (event.type, event.seq, event.time_ms) == (draft.type, 7, -5)
    assert same(event.data, draft.data)
    assert same(event.to_json(), value_of_draft(draft, 7))
    assert event.surface == draft.surface
    assert event.sources is None
    assert event.ignorable is False


@given(drafts(), st.integers(0, MAX_SAFE_INTEGER))
def test_a_draft_comes_back_exactly(draft: Draft, seq: int) -> None:
    event = take(draft, seq)
    value = value_of_draft(draft, seq)
    assert deep_equal(event.to_json(), value)
    if event.chunk is None:
        assert same(event.to_json(), value)


def test_the_writers_clock_stands_in_for_a_missing_time() -> None:
    assert take(draft_of()).time_ms == take(delta()).time_ms == NOW
    assert take(draft_of(time_ms=0)).time_ms == take(delta()._replace(time_ms=0)).time_ms == 0


@pytest.mark.parametrize(
    "surface", ["append", Replace(1, 2), {"op": "replace", "start": 1, "end": 2}], ids=str
)
@pytest.mark.parametrize("sources", [None, (), [1, 2], (1, 2)], ids=str)
def test_surface_and_sources_are_taken_in_each_form(surface: Any, sources: Any) -> None:
    event = take(draft_of("user/message", surface=surface, sources=sources))
    assert event.surface == ("append" if surface == "append" else Replace(1, 2))
    assert event.sources == (None if sources is None else tuple(sources))
    again = event.to_json()
    assert again.get("sourceEventSeqs") == (None if sources is None else list(sources))


def test_the_keys_of_a_stored_event_stand_in_their_order() -> None:
    draft = draft_of("user/message", sources=[1], ignorable=True)
    keys = ["type", "seq", "time", "data", "surfaceOp", "sourceEventSeqs", "ignorable"]
    assert list(take(draft).to_json()) == keys


def place_of_refusal(draft: Draft) -> str:
    """The field that a refusal names, whichever step of the gate it came from."""
    with pytest.raises(CallerError) as refused:
        take(draft)
    error = refused.value
    if isinstance(error, NotLossless):
        return ".".join(map(str, error.path))
    assert isinstance(error, BadShape)
    return error.field


# --- what is refused, and in which order ---------------------------------------------------------


@pytest.mark.parametrize(
    "type_", [None, 1, True, "", [], {}, b"turn/start", ("turn/start",)], ids=repr
)
def test_a_type_that_is_no_filled_string_is_refused(type_: Any) -> None:
    assert place_of_refusal(Draft(type_, {"turn": 1})) == "type"


@pytest.mark.parametrize("type_", sorted(PACKED_TYPES | LEGACY_TYPES))
@pytest.mark.parametrize("ignorable", [False, True])
def test_types_of_rows_and_of_older_forms_are_refused(type_: str, ignorable: bool) -> None:
    with pytest.raises(BadShape) as refused:
        take(Draft(type_, {}, ignorable=ignorable))
    assert refused.value.field == "type"


def test_the_older_reason_of_a_request_header_is_refused() -> None:
    data = changed(SAMPLES["request/header"], ("reason",), "fallback")
    with pytest.raises(BadShape) as refused:
        take(Draft("request/header", data))
    assert refused.value.field == "data.reason"


@pytest.mark.parametrize("time", [True, 1.0, "1", [], math.nan, 2**53, -(2**53)], ids=repr)
def test_a_time_that_is_no_integer_is_refused(time: Any) -> None:
    for draft in (draft_of(time_ms=time), delta()._replace(time_ms=time)):
        assert place_of_refusal(draft) == "time"


@pytest.mark.parametrize("ignorable", [None, 0, 1, "true", [], {}], ids=repr)
def test_ignorable_is_true_or_absent(ignorable: Any) -> None:
    for draft in (draft_of(ignorable=ignorable), delta()._replace(ignorable=ignorable)):
        with pytest.raises(BadShape) as refused:
            take(draft)
        assert refused.value.field == "ignorable"


@pytest.mark.parametrize(
    "surface",
    [
        "",
        "prepend",
        True,
        1,
        [],
        {},
        {"op": "append"},
        {"op": "replace", "start": 0},
        {"op": "replace", "start": 0, "end": 1, "more": 2},
        {"op": "remove", "start": 0, "end": 1},
        {"op": None, "start": 0, "end": 1},
        {"op": "replace", "start": -1, "end": 1},
        {"op": "replace", "start": 0, "end": None},
        {"op": "replace", "start": True, "end": 1},
        {"op": "replace", "start": 0.0, "end": 1},
        {"op": "replace", "start": 0, "end": 1.0},
        Replace(-1, 0),
        Replace("0", 1),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_a_malformed_surface_operation_is_refused(surface: Any) -> None:
    with pytest.raises(BadShape) as refused:
        take(draft_of("user/message", surface=surface))
    assert refused.value.field.startswith("surfaceOp")


@pytest.mark.parametrize(
    "sources", [True, 1, "0", {}, [None], [True], ["0"], [-1], [0.0], [[]]], ids=repr
)
def test_malformed_sources_are_refused(sources: Any) -> None:
    with pytest.raises(BadShape) as refused:
        take(draft_of("user/message", sources=sources))
    assert refused.value.field == "sourceEventSeqs"


def test_the_shape_of_a_core_event_is_checked() -> None:
    for draft in (draft_of(data={}), draft_of(data={"turn": 1.0}), draft_of(data={"turn": -1})):
        with pytest.raises(BadShape) as refused:
            take(draft)
        assert refused.value.field == "data.turn"


LARGE = "x" * (MAX_EVENT_BYTES - 60)  # too large with its envelope, and with nothing else

# Each breaks the step it names and those behind it: the first decides.
BROKEN: list[tuple[str, Draft, type[CallerError]]] = [
    ("lossless", Draft("", {"turn": math.nan}, ignorable=None, time_ms=1.5), NotLossless),  # type: ignore[arg-type]
    ("lossless", Draft("x/own", [LARGE, LARGE, math.nan]), TooLarge),
    ("lossless", Draft("turn/start", {"turn": ()}), NotLossless),
    ("envelope", Draft("x/own", LARGE, surface="prepend"), BadShape),
    ("envelope", Draft("turn/start", {"turn": -1}, time_ms=1.5), BadShape),  # type: ignore[arg-type]
    ("type", Draft("x/own", LARGE), UnregisteredType),
    ("shape", Draft("turn/start", {"turn": -1, "t": LARGE}), BadShape),
    ("size", Draft("turn/start", {"turn": 1, "t": LARGE}), TooLarge),
]


@pytest.mark.parametrize(("step", "draft", "error"), BROKEN, ids=range(len(BROKEN)))
def test_the_steps_of_the_gate_stand_in_order(
    step: str, draft: Draft, error: type[CallerError]
) -> None:
    with pytest.raises(error):
        take(draft)


@pytest.mark.parametrize("type_", ["x/own", "turn/Start", "tool/late-result", "\ud800", " "])
def test_an_unregistered_type_needs_to_be_ignorable(type_: str) -> None:
    with pytest.raises(UnregisteredType) as refused:
        take(Draft(type_, {}))
    assert refused.value.type == type_
    event = take(Draft(type_, {}, ignorable=True))
    assert event.ignorable is True
    assert event.to_json()["ignorable"] is True


@pytest.mark.parametrize("type_", sorted(KNOWN_TYPES - CORE_TYPES))
def test_a_known_type_is_carried_with_any_data(type_: str) -> None:
    assert same(take(Draft(type_, [None, {"": 1.0}])).data, [None, {"": 1.0}])


# --- an embedder's types -------------------------------------------------------------------------


def registry_of(shape: Callable[[Any], None] | None = None) -> Registry:
    registry = Registry()
    registry.register("x/own", shape=shape)
    return registry


def test_a_registered_type_is_taken() -> None:
    assert take(Draft("x/own", 1.5), registry=registry_of()).data == 1.5


def test_an_embedders_shape_refuses() -> None:
    def shape(data: Any) -> None:
        raise BadShape("data.mine", "something else", repr(data))

    with pytest.raises(BadShape) as refused:
        take(Draft("x/own", 1), registry=registry_of(shape))
    assert refused.value.field == "data.mine"


def test_an_embedders_shape_sees_a_copy() -> None:
    def shape(data: Any) -> None:
        assert data == {"list": [1]}
        data["list"].append(2)
        data["new"] = 3

    data = {"list": [1]}
    event = take(Draft("x/own", data), registry=registry_of(shape))
    assert data == event.data == event.to_json()["data"] == {"list": [1]}


def test_an_embedders_shape_is_asked_after_the_gate_alone() -> None:
    def shape(data: Any) -> None:
        raise AssertionError("the value is not lossless: the shape must not see it")

    with pytest.raises(NotLossless):
        take(Draft("x/own", {1: 2}), registry=registry_of(shape))


# --- size ----------------------------------------------------------------------------------------


def sized(size: int, filler: str = "x") -> Draft:
    """A draft whose event's text has exactly that many bytes, or less than one filler more."""
    empty = Draft("goal/change", {"t": ""}, time_ms=0)
    room = size - len(admit(empty, 0, 0, Registry()).text)
    width = len(admit(empty._replace(data={"t": filler}), 0, 0, Registry()).text)
    width -= len(admit(empty, 0, 0, Registry()).text)
    data = {"t": filler * (room // width) + "x" * (room % width)}
    return empty._replace(data=data)


@pytest.mark.parametrize("filler", ["x", "é", "\U0001f600", "\x00", '"', "\u2028"], ids=ascii)
def test_the_size_limit_is_that_of_the_stored_bytes_and_exact(filler: str) -> None:
    event = admit(sized(MAX_EVENT_BYTES, filler), 0, 0, Registry())
    assert len(event.text) == MAX_EVENT_BYTES
    with pytest.raises(TooLarge) as refused:
        admit(sized(MAX_EVENT_BYTES + 1, filler), 0, 0, Registry())
    assert (refused.value.found, refused.value.limit) == (MAX_EVENT_BYTES + 1, MAX_EVENT_BYTES)


@pytest.mark.parametrize("char", ["x", "\x00", "\ud800"], ids=ascii)
def test_a_chunk_is_measured_as_any_event(char: str) -> None:
    for size in (MAX_EVENT_BYTES // 16, MAX_EVENT_BYTES // 16 + 1):
        assert take(delta(char * size)).to_json()["data"]["chunk"]["text"] == char * size
    for draft in (delta(char * MAX_EVENT_BYTES), delta("a", more=char * MAX_EVENT_BYTES)):
        with pytest.raises(TooLarge):
            take(draft)


# --- the caller's value --------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_the_event_is_a_copy(name: str) -> None:
    data = changed(SAMPLES[name], ("x-list",), [1, [2]])
    sources, surface = [1], {"op": "replace", "start": 1, "end": 2}
    event = take(draft_of(name, data=data, sources=sources, surface=surface))
    data["x-list"][1].append(3)
    data.clear()
    sources.append(9)
    surface["start"] = 9
    value = event.to_json()
    assert value["data"]["x-list"] == event.data["x-list"] == [1, [2]]
    assert value["sourceEventSeqs"] == [1]
    assert event.surface == Replace(1, 2)


def test_a_chunk_is_a_copy() -> None:
    draft = delta("before")
    event = take(draft)
    draft.data["chunk"]["text"] = "after"
    draft.data["turn"] = 9
    assert event.data == delta("before").data


def test_what_an_event_gives_is_a_copy_each_time() -> None:
    for draft in (delta(), draft_of("user/message")):
        event = take(draft)
        for _ in range(3):
            for value in (event.data, event.to_json()["data"]):
                assert value == draft.data
                value.clear()


@given(any_text)
def test_call_arguments_are_opaque(arguments: str) -> None:  # field case A4
    for path, name in ((("arguments",), "tool/call"), (("chunk", "argumentsDelta"), "delta")):
        sample = SAMPLES.get(name, SAMPLES["assistant/chunk tool-call-delta"])
        type_ = "tool/call" if name == "tool/call" else CHUNK_TYPE
        data = changed(sample, path, arguments)
        assert same(take(Draft(type_, data)).data, data)


@pytest.mark.parametrize(
    "arguments", ['{"path":"in a qu', "", "7", "[" * 100_000, "\ud83d"], ids=range(5)
)
def test_arguments_that_are_no_json_are_taken(arguments: str) -> None:  # field cases A4, A5
    data = SAMPLES["tool/call"] | {"arguments": arguments}
    assert take(Draft("tool/call", data)).data == data


@pytest.mark.parametrize("objects", [False, True])
def test_depth_is_no_limit(objects: bool) -> None:  # field case A5
    deep = nested(20_000, objects=objects)
    assert same(take(Draft("goal/change", deep)).data, deep)
    for fields in (
        {"type": deep},
        {"surface": deep},
        {"sources": [deep]},
        {"ignorable": deep},
        {"time_ms": deep},
    ):
        with pytest.raises(BadShape):
            take(Draft(**{"type": "user/message", "data": {}, **fields}))


# --- the hot ways and the general one ------------------------------------------------------------


class Text(str):
    """A string that is more than a string."""


def outcome(run: Callable[[], Sequence[Event]]) -> Any:
    """What comes of it: the events as JSON and as chunks, or the refusal with its place."""
    try:
        return [(event.to_json(), event.chunk, event.text) for event in run()]
    except NotLossless as error:
        return NotLossless, error.path, error.found
    except BadShape as error:
        return BadShape, error.field, error.expected
    except (UnregisteredType, TooLarge) as error:
        return type(error)


def general(drafts: Sequence[Draft], seq: int) -> list[Event]:
    registry = Registry()
    return [_admit_any(draft, at, NOW, registry) for at, draft in enumerate(drafts, seq)]


def agree(drafts: Sequence[Draft], seq: int = 0) -> None:
    """Hold the three ways against each other: general, one by one, all at once."""
    registry = Registry()
    expected = outcome(lambda: general(drafts, seq))
    one_by_one = outcome(
        lambda: [admit(draft, at, NOW, registry) for at, draft in enumerate(drafts, seq)]
    )
    assert one_by_one == expected
    assert outcome(lambda: admit_all(drafts, seq, NOW, registry)) == expected


def test_plain_deltas_go_the_hot_ways() -> None:
    for kind in ("text-delta", "reasoning-delta"):
        draft = delta("\0é", kind, turn=0, step=MAX_SAFE_INTEGER, index=-1)
        event = hot_chunk(draft.data, 3, NOW)
        events = hot_chunks([draft, draft], 3, NOW)
        timed = hot_chunks([draft._replace(time_ms=1), draft._replace(time_ms=0)], 3, NOW)
        assert event is not None
        assert events is not None
        assert timed is not None
        assert event.to_json() == events[0].to_json() == take(draft, 3).to_json()
        assert [(event.seq, event.time_ms) for event in events] == [(3, NOW), (4, NOW)]
        assert [(event.seq, event.time_ms) for event in timed] == [(3, 1), (4, 0)]


def test_a_lone_surrogate_goes_the_hot_way_alone() -> None:
    draft = delta("\ud800")
    assert hot_chunk(draft.data, 3, NOW) is not None
    assert hot_chunks([draft, draft], 3, NOW) is None
    agree([draft, draft], 3)


odd = st.one_of(
    json_values,
    st.sampled_from([math.nan, -0.0, (), b"a", Text("a"), 2**53, -1, 1.0, True, None, "append"]),
)


@st.composite
def odd_deltas(draw: st.DrawFn) -> Draft:
    """Deltas, some with something odd in one place."""
    kinds = ["text-delta", "reasoning-delta", "tool-call-delta", "finish"]
    draft = delta(draw(any_text), draw(st.sampled_from(kinds[:2])), turn=draw(st.integers(0, 2)))
    match draw(st.integers(0, 9)):
        case 0:
            path = draw(st.sampled_from([(), ("turn",), ("step",), ("chunk",), ("chunk", "index")]))
            return draft._replace(data=changed(draft.data, path, draw(odd)))
        case 1:
            key = draw(st.sampled_from(["type", "text", "more"]))
            return draft._replace(data=changed(draft.data, ("chunk", key), draw(odd)))
        case 2:
            field = draw(st.sampled_from(["time_ms", "sources", "surface", "ignorable", "type"]))
            fields: dict[str, Any] = {field: draw(odd)}
            return draft._replace(**fields)
        case 3:
            key = draw(st.sampled_from(["turn", "step", "chunk"]))
            data = dict(draft.data)
            data[Text(key) if draw(st.booleans()) else key + "x"] = data.pop(key)
            return draft._replace(data=data)
        case 4:
            chunk = dict(draft.data["chunk"])
            key = draw(st.sampled_from(sorted(chunk)))
            chunk[draw(st.sampled_from([Text(key), 1, "x"]))] = chunk.pop(key)
            return draft._replace(data=draft.data | {"chunk": chunk})
        case 5:
            return draft._replace(time_ms=draw(st.integers(-5, 5)))
        case _:
            return draft


@given(st.lists(odd_deltas(), max_size=5), st.integers(0, 3))
def test_the_ways_for_chunks_agree_with_the_general_one(drafts: list[Draft], seq: int) -> None:
    agree(drafts, seq)


@given(st.lists(drafts(), max_size=4))
def test_the_ways_agree_on_what_an_agent_writes(drafts: list[Draft]) -> None:
    agree(drafts)


@pytest.mark.parametrize("kind", CHUNKS)
def test_the_ways_agree_on_each_kind_of_chunk(kind: str) -> None:
    for key in (*CHUNKS[kind], "more"):
        values: list[Any] = [DROP, None, 1, 1.0, "a", "\ud800", Text("a"), True, [], -1, 2**53]
        for value in values:
            if value is DROP and key == "more":
                continue
            data = {"turn": 1, "step": 1, "chunk": changed(CHUNKS[kind], (key,), value)}
            agree([Draft(CHUNK_TYPE, data)])
            agree([delta(), Draft(CHUNK_TYPE, data), delta()])


@pytest.mark.parametrize("key", ["turn", "step", "chunk"])
@pytest.mark.parametrize(
    "value", [DROP, None, 0, 1.0, -1, True, "1", 2**53, Text("a"), [], {}], ids=repr
)
def test_the_ways_agree_on_each_field_of_a_delta(key: str, value: Any) -> None:
    data = changed(delta().data, (key,), value)
    agree([Draft(CHUNK_TYPE, data)])
    agree([delta(), Draft(CHUNK_TYPE, data)])


def liar() -> Any:
    """Give a liar that passes for any type."""
    return Liar()


class Liar:
    """Equal to everything, and never false."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("turn")

    def __bool__(self) -> bool:
        raise LookupError


@pytest.mark.parametrize(
    "draft",
    [
        Draft(liar(), delta().data),
        delta()._replace(ignorable=liar()),
        delta()._replace(surface=liar()),
        delta()._replace(sources=liar()),
        delta()._replace(time_ms=liar()),
        delta()._replace(data=liar()),
        delta(liar()),
        delta("a", liar()),
        delta(index=liar()),
        delta(turn=liar()),
        Draft(CHUNK_TYPE, {liar(): 1, "step": 1, "chunk": delta().data["chunk"]}),
        Draft(CHUNK_TYPE, {"turn": 1, "step": 1, "chunk": {liar(): 1, "index": 0, "text": ""}}),
    ],
    ids=range(12),
)
def test_an_object_that_equals_everything_is_refused(draft: Draft) -> None:
    for several in ([draft], [delta(), draft]):
        with pytest.raises(NotLossless):
            admit_all(several, 0, NOW, Registry())
    with pytest.raises(NotLossless):
        take(draft)


def test_all_drafts_are_taken_or_none() -> None:
    assert admit_all([], 5, NOW, Registry()) == []
    events = admit_all([delta(), draft_of("user/message"), delta()], 5, NOW, Registry())
    assert [event.seq for event in events] == [5, 6, 7]
    with pytest.raises(BadShape):
        admit_all([delta(), delta(turn=-1), delta()], 5, NOW, Registry())


@pytest.mark.parametrize("other", [None, (), ("turn/start", {}), {"type": "turn/start"}], ids=repr)
def test_what_is_no_draft_is_refused(other: Any) -> None:
    with pytest.raises(BadShape) as refused:
        admit_all([delta(), other], 0, NOW, Registry())
    assert refused.value.field == "draft"
