"""Storage rows: packing loses nothing, unpacking refuses what is malformed."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.events.samples import DROP
from tests.exactness import nested, same
from tests.log_writer import Value
from tests.strategies import (
    agent_logs,
    any_text,
    chunk_values,
    event_values,
    events_of,
    stored_values,
)
from turnlog.events import rows as rows_module
from turnlog.events.chunk import CHUNK_TYPE
from turnlog.events.errors import BadRow
from turnlog.events.event import Event, event_of_value
from turnlog.events.gate import MAX_SAFE_INTEGER
from turnlog.events.jsontext import deep_equal, dumps, loads
from turnlog.events.packed import quick_packed
from turnlog.events.rows import (
    MIN_RUN,
    ChunkRun,
    Row,
    event_row,
    expand,
    pack,
    parse_row,
    row_of_value,
    unpack_value,
)
from turnlog.events.vocabulary import PACKED_TYPES


def text_row(**changes: Any) -> Value:
    """A sound packed row of three text deltas; `changes` go into the row, or into its data."""
    data = {"turn": 1, "step": 2, "index": 0, "dt": [5, -3], "texts": ["a", "", "c"]}
    row = {"type": "text-chunks", "seq0": 4, "time0": 1000, "data": data}
    return _changed(row, changes)


def call_row(**changes: Any) -> Value:
    """A sound packed row of two tool-call deltas."""
    data = {"turn": 1, "step": 2, "index": 0, "id": "c", "name": "n", "dt": [0], "args": ["{", "}"]}
    row = {"type": "tool-call-chunks", "seq0": 4, "time0": 1000, "data": data}
    return _changed(row, changes)


def _changed(row: Any, changes: Value) -> Value:
    for key, value in changes.items():
        target = row if key in ("type", "seq0", "time0", "data", "extra") else row["data"]
        if value is DROP:
            del target[key]
        else:
            target[key] = value
    return dict(row)


def values_of(rows: list[Row]) -> list[Any]:
    return [event.to_json() for event in expand(rows)]


# --- packing -------------------------------------------------------------------------------------


@given(chunk_values())
def test_unpacking_gives_the_packed_chunks_again(values: list[Value]) -> None:
    rows = list(pack(events_of(values)))
    assert deep_equal(values_of(rows), values)


@given(chunk_values())
def test_rows_read_back_from_their_text_are_the_rows(values: list[Value]) -> None:
    rows = list(pack(events_of(values)))
    again = [parse_row(row.text) for row in rows]
    assert again == rows
    assert deep_equal(values_of(again), values)
    assert deep_equal([event for row in rows for event in unpack_value(loads(row.text))], values)


@given(event_values())
def test_unpacking_gives_the_events_of_a_log_again(values: list[Value]) -> None:
    rows = list(pack(events_of(values)))
    assert same(values_of(rows), values)
    for row in rows:
        assert b"\n" not in row.text


@given(chunk_values())
def test_every_run_is_one_row_and_no_other_event_is_packed(values: list[Value]) -> None:
    spans = [(row.first_seq, row.count) for row in pack(events_of(values))]
    assert spans == [span for run in runs_of(values) for span in spans_of(run)]


def runs_of(values: list[Value]) -> list[list[Value]]:
    """Cut the values into runs by the words of the rule."""
    runs: list[list[Value]] = []
    for value in values:
        last = runs[-1][-1] if runs else None
        if last is not None and is_delta(last) and is_delta(value) and goes_on(last, value):
            runs[-1].append(value)
        else:
            runs.append([value])
    return runs


def spans_of(run: list[Value]) -> list[tuple[int, int]]:
    if len(run) >= 3:
        return [(run[0]["seq"], len(run))]
    return [(value["seq"], 1) for value in run]


def is_delta(value: Value) -> bool:
    data, chunk = value["data"], value["data"]["chunk"]
    text = "argumentsDelta" if chunk["type"] == "tool-call-delta" else "text"
    known = {"type", "index", text} | {"id", "name"}
    return bool(data.keys() == {"turn", "step", "chunk"} and chunk.keys() <= known)


def goes_on(last: Value, value: Value) -> bool:
    def shared(one: Value) -> Value:
        texts = ("text", "argumentsDelta")
        chunk = {key: item for key, item in one["data"]["chunk"].items() if key not in texts}
        return {**one["data"], "chunk": chunk}

    gap = value["time"] - last["time"]
    is_next = bool(value["seq"] == last["seq"] + 1 and abs(gap) <= MAX_SAFE_INTEGER)
    return bool(is_next and deep_equal(shared(last), shared(value)))


@given(agent_logs())
def test_no_two_rows_of_a_packed_log_could_be_one(log: Any) -> None:
    for left, right in pairwise(log.rows):
        if left.packed and right.packed:
            assert not goes_on(left.events()[-1].to_json(), right.events()[0].to_json())
    assert sum(row.count for row in log.rows) == len(log.values)


def test_packing_streams() -> None:
    taken: list[int] = []

    def source() -> Any:
        for seq in range(10):
            taken.append(seq)
            value = {"type": "goal/change", "seq": seq, "time": 0, "data": {}}
            yield event_of_value(value, dumps(value))

    assert next(pack(source())).first_seq == 0
    assert taken == [0]


@pytest.mark.parametrize(
    "more",
    [
        {"ignorable": True},
        {"sourceEventSeqs": [0]},
        {"surfaceOp": "append"},
        {"extra": 1},
    ],
)
def test_a_delta_with_a_further_key_is_stored_as_it_is(more: Value) -> None:
    values = [delta(seq) | more for seq in range(4)]
    rows = list(pack(events_of(values)))
    assert [row.text for row in rows] == list(map(dumps, values))


@pytest.mark.parametrize(
    "chunk",
    [
        {"type": "text-delta", "index": 0, "text": 1},
        {"type": "text-delta", "index": 0},
        {"type": "text-delta", "index": True, "text": "a"},
        {"type": "text-delta", "index": "0", "text": "a"},
        {"type": "text-delta", "index": 0, "text": "a", "id": "c"},
        {"type": "tool-call-delta", "index": 0, "argumentsDelta": "a"},
        {"type": "tool-call-delta", "index": 0, "id": 1, "argumentsDelta": "a"},
        {"type": "tool-call-delta", "index": 0, "id": "c", "argumentsDelta": None},
        {"type": "tool-call-delta", "index": 0, "id": "c", "name": None, "argumentsDelta": "a"},
        {"type": "tool-call-delta", "index": 0, "id": "c", "text": "a"},
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": ["text-delta"], "index": 0, "text": "a"},
        "text-delta",
        None,
        [],
    ],
    ids=repr,
)
def test_a_chunk_that_no_row_can_hold_is_stored_as_it_is(chunk: Any) -> None:
    values = [delta(seq, chunk) for seq in range(4)]
    rows = list(pack(events_of(values)))
    assert [row.text for row in rows] == list(map(dumps, values))
    assert all(event.chunk is None for event in expand(rows))


@pytest.mark.parametrize(
    "data",
    [
        None,
        {"turn": 1, "step": 1},
        {"turn": "1", "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": ""}},
        {"turn": 1, "step": None, "chunk": {"type": "text-delta", "index": 0, "text": ""}},
    ],
    ids=repr,
)
def test_chunk_data_of_another_shape_is_stored_as_it_is(data: Any) -> None:
    values = [delta(seq) | {"data": data} for seq in range(3)]
    assert [row.text for row in pack(events_of(values))] == list(map(dumps, values))


def delta(seq: int, chunk: Any = DROP) -> Value:
    if chunk is DROP:
        chunk = {"type": "text-delta", "index": 0, "text": "a"}
    data = {"turn": 1, "step": 1, "chunk": chunk}
    return {"type": CHUNK_TYPE, "seq": seq, "time": 1_000 + seq, "data": data}


def test_an_event_is_stored_with_its_text_as_it_was() -> None:
    text = b'{ "data" : [1.0, 1e2,"\\u0061"] ,"seq":0,"time":1,"type":"goal/change"}'
    (row,) = pack([event_of_value(loads(text), text)])
    assert row == Row(text, 0)


# --- one run -------------------------------------------------------------------------------------


@given(st.lists(any_text, min_size=1, max_size=9), st.integers(0, 8), st.booleans())
def test_a_run_may_be_cut_anywhere(texts: list[str], cut: int, call: bool) -> None:
    chunk: Value = {"type": "text-delta", "index": 0}
    if call:
        chunk = {"type": "tool-call-delta", "index": 0, "id": "c", "name": ""}
    key = "argumentsDelta" if call else "text"
    values = [delta(seq, {**chunk, key: text}) for seq, text in enumerate(texts)]
    events = events_of(values)
    pieces = [*pack(events[:cut]), *pack(events[cut:])]
    assert deep_equal(values_of(pieces), values)


@given(st.lists(any_text, min_size=1, max_size=6))
def test_the_rows_of_a_growing_run_may_be_asked_for_at_any_time(texts: list[str]) -> None:
    events = events_of([delta(seq, text_delta(text)) for seq, text in enumerate(texts)])
    run = run_of(events[0])
    for end, event in enumerate(events[1:], start=1):
        assert run.rows() == list(pack(events[:end]))
        assert run.take(event)
    assert run.rows() == run.rows() == list(pack(events))


@given(chunk_values(), st.integers(0, 29))
def test_a_run_takes_many_as_it_takes_one_by_one(values: list[Value], start: int) -> None:
    events = [event for event in events_of(values) if event.chunk is not None]
    if not events:
        return
    start %= len(events)
    one, many = run_of(events[start]), run_of(events[start])
    end = start + 1
    while end < len(events) and one.take(events[end]):
        end += 1
    assert many.take_from(events, start + 1) == end
    assert many.rows() == one.rows()
    assert many.next_seq == one.next_seq
    assert many.last_time_ms == one.last_time_ms


def text_delta(text: str) -> Value:
    return {"type": "text-delta", "index": 0, "text": text}


def run_of(event: Event) -> ChunkRun:
    assert event.chunk is not None
    return ChunkRun(event.chunk.run_key, event.seq, event.time_ms, event.chunk.text)


@pytest.mark.parametrize(
    ("change", "taken"),
    [
        ({}, True),
        ({"time": -5}, True),
        ({"time": 5 + MAX_SAFE_INTEGER}, True),
        ({"time": 6 + MAX_SAFE_INTEGER}, False),
        ({"time": 5 - MAX_SAFE_INTEGER}, True),
        ({"time": 4 - MAX_SAFE_INTEGER}, False),
        ({"seq": 0}, False),
        ({"seq": 2}, False),
        ({"type": "goal/change"}, False),
        ({"data": {"turn": 2, "step": 1, "chunk": text_delta("")}}, False),
        ({"data": {"turn": 1, "step": 2, "chunk": text_delta("")}}, False),
        ({"data": {"turn": 1, "step": 1, "chunk": {**text_delta(""), "index": 1}}}, False),
        ({"data": {"turn": 1, "step": 1, "chunk": {**text_delta(""), "more": 1}}}, False),
        ({"data": {"turn": 1.0, "step": 1, "chunk": text_delta("")}}, True),
        (
            {
                "data": {
                    "turn": 1,
                    "step": 1,
                    "chunk": {**text_delta(""), "type": "reasoning-delta"},
                }
            },
            False,
        ),
    ],
)
def test_a_run_goes_on_as_its_rule_says(change: Value, taken: bool) -> None:
    run = run_of(events_of([delta(0) | {"time": 5}])[0])
    value = delta(1) | change
    # Times beyond a safe integer stand in no log: an event made by hand shows the bound of the gap.
    event = event_of_value(loads(dumps(value | {"time": 0})), dumps(value))
    event = Event(event.type, event.seq, value["time"], chunk=event.chunk)
    before = run.rows()
    assert run.take(event) is taken
    assert taken or run.rows() == before


@pytest.mark.parametrize(
    ("change", "taken"),
    [
        ({}, True),
        ({"argumentsDelta": "more"}, True),
        ({"id": "d"}, False),
        ({"name": "other"}, False),
        ({"name": ""}, False),
        ({"name": DROP}, False),
    ],
)
def test_a_run_of_calls_goes_on_with_one_id_and_name(change: Value, taken: bool) -> None:
    chunk = {"type": "tool-call-delta", "index": 0, "id": "c", "name": "n", "argumentsDelta": ""}
    run = run_of(events_of([delta(0, chunk)])[0])
    after = {key: item for key, item in {**chunk, **change}.items() if item is not DROP}
    assert run.take(events_of([delta(1, after)])[0]) is taken


# --- golden bytes: stored for ever ---------------------------------------------------------------

GOLDEN: dict[bytes, list[Value]] = {
    b'{"type":"text-chunks","seq0":4,"time0":1000,"data":{"turn":1,"step":2,"index":0,'
    b'"dt":[5,-3],"texts":["a","","\xc3\xa9"]}}': [
        {"type": "text-delta", "index": 0, "text": text} for text in ("a", "", "é")
    ],
    b'{"type":"reasoning-chunks","seq0":4,"time0":1000,"data":{"turn":1,"step":2,"index":1,'
    b'"dt":[5,-3],"texts":["\\u0000","\\u2028\\ud83d","x"]}}': [
        {"type": "reasoning-delta", "index": 1, "text": text}
        for text in ("\x00", "\u2028\ud83d", "x")
    ],
    b'{"type":"tool-call-chunks","seq0":4,"time0":1000,"data":{"turn":1,"step":2,"index":0,'
    b'"id":"c","name":"n","dt":[5,-3],"args":["{","\\"a\\":1","}"]}}': [
        {"type": "tool-call-delta", "index": 0, "id": "c", "name": "n", "argumentsDelta": text}
        for text in ("{", '"a":1', "}")
    ],
    b'{"type":"tool-call-chunks","seq0":4,"time0":1000,"data":{"turn":1,"step":2,"index":0,'
    b'"id":"","dt":[5,-3],"args":["","",""]}}': [
        {"type": "tool-call-delta", "index": 0, "id": "", "argumentsDelta": ""} for _ in range(3)
    ],
}


@pytest.mark.parametrize("text", GOLDEN, ids=["text", "reasoning", "named call", "call"])
def test_the_bytes_of_a_packed_row(text: bytes) -> None:
    values = [
        {
            "type": CHUNK_TYPE,
            "seq": 4 + k,
            "time": time,
            "data": {"turn": 1, "step": 2, "chunk": chunk},
        }
        for k, (time, chunk) in enumerate(zip([1000, 1005, 1002], GOLDEN[text], strict=True))
    ]
    (row,) = pack(events_of(values))
    assert row == Row(text, 4, 3, packed=True)
    assert same([event.to_json() for event in row.events()], values)


def test_the_bytes_of_a_member_that_stands_alone() -> None:
    (first, second) = pack(events_of([delta(0), delta(1)]))
    assert first.text == (
        b'{"type":"assistant/chunk","seq":0,"time":1000,"data":{"turn":1,"step":1,'
        b'"chunk":{"type":"text-delta","index":0,"text":"a"}}}'
    )
    assert second.first_seq == 1
    assert MIN_RUN == 3


# --- refusals ------------------------------------------------------------------------------------

SOUND: list[Value] = [
    text_row(),
    text_row(type="reasoning-chunks"),
    text_row(dt=[], texts=[""]),
    text_row(turn=1.5, step=-1, index=1e300),
    text_row(seq0=4.0, time0=-0.0, dt=[1.0, 2]),
    text_row(time0=MAX_SAFE_INTEGER, dt=[-1, 1]),
    text_row(time0=-MAX_SAFE_INTEGER, dt=[MAX_SAFE_INTEGER, MAX_SAFE_INTEGER]),
    text_row(seq0=MAX_SAFE_INTEGER - 2),
    text_row(texts=["\ud800", "\x00", "x"]),
    call_row(),
    call_row(name=DROP),
    call_row(id="", name=""),
]

MALFORMED: dict[str, Value] = {
    "a further key": text_row(extra=1),
    "no seq0": text_row(seq0=DROP),
    "no time0": text_row(time0=DROP),
    "no data": text_row(data=DROP),
    "seq and time of an event": text_row() | {"seq": 4, "time": 0},
    "data null": text_row(data=None),
    "data a list": text_row(data=[]),
    "a further key in data": text_row(more=1),
    "an id on texts": text_row(id="c"),
    "no turn": text_row(turn=DROP),
    "turn true": text_row(turn=True),
    "turn null": text_row(turn=None),
    "step a string": text_row(step="1"),
    "index a list": text_row(index=[0]),
    "no texts": text_row(texts=DROP),
    "args on texts": text_row(texts=DROP) | {"args": []},
    "texts null": text_row(texts=None),
    "no member": text_row(dt=[], texts=[]),
    "a member null": text_row(texts=["a", None, "c"]),
    "a member a number": text_row(texts=["a", 1, "c"]),
    "texts a string": text_row(texts="abc"),
    "no dt": text_row(dt=DROP),
    "dt null": text_row(dt=None),
    "dt too short": text_row(dt=[5]),
    "dt too long": text_row(dt=[5, -3, 1]),
    "dt of no member": text_row(dt=[5], texts=[]),
    "a gap null": text_row(dt=[5, None]),
    "a gap true": text_row(dt=[5, True]),
    "a gap of a half": text_row(dt=[5, 0.5]),
    "a gap too large": text_row(dt=[2**53, -(2**53)]),
    "a gap too small": text_row(dt=[-(2**53), 2**53]),
    "a gap too large to a sound time": text_row(time0=-5, dt=[2**53, 0]),
    "a gap too small to a sound time": text_row(time0=5, dt=[-(2**53), 0]),
    "a gap too large among floats": text_row(time0=-5, dt=[2.0**53, 0]),
    "a further key beside reasoning": text_row(type="reasoning-chunks", extra=1),
    "a further key in reasoning": text_row(type="reasoning-chunks", more=1),
    "no index in reasoning": text_row(type="reasoning-chunks", index=DROP),
    "a further key beside a call": call_row(extra=1),
    "seq0 negative": text_row(seq0=-1),
    "seq0 a half": text_row(seq0=0.5),
    "seq0 true": text_row(seq0=True),
    "seq0 a string": text_row(seq0="4"),
    "a member's seq too large": text_row(seq0=MAX_SAFE_INTEGER - 1),
    "seq0 too large": text_row(seq0=2**53),
    "time0 a half": text_row(time0=0.5),
    "time0 null": text_row(time0=None),
    "time0 too large": text_row(time0=2**53, dt=[-1, -1]),
    "a member's time too large": text_row(time0=MAX_SAFE_INTEGER, dt=[1, -5]),
    "a member's time too small": text_row(time0=-MAX_SAFE_INTEGER, dt=[0, -1]),
    "a time too large, as floats": text_row(time0=float(MAX_SAFE_INTEGER), dt=[1.0, -5.0]),
    "no id": call_row(id=DROP),
    "id null": call_row(id=None),
    "name null": call_row(name=None),
    "name a number": call_row(name=1),
    "texts on a call": call_row(args=DROP) | {"texts": ["a", "b"]},
    "a further key on a call": call_row(more=1),
    "a call's args a string": call_row(args="{}"),
}


@pytest.mark.parametrize("value", SOUND, ids=range(len(SOUND)))
def test_a_sound_packed_row_is_read(value: Value) -> None:
    text = dumps(value)
    row = parse_row(text)
    members = value["data"].get("texts", value["data"].get("args"))
    assert row == Row(text, int(value["seq0"]), len(members), packed=True)
    assert row == row_of_value(loads(text), text)
    events = row.events()
    assert [event.seq for event in events] == list(range(row.first_seq, row.first_seq + row.count))
    gaps = [later.time_ms - event.time_ms for event, later in pairwise(events)]
    assert events[0].time_ms == value["time0"]
    assert gaps == value["data"]["dt"]
    keys = ("turn", "step")
    for event, text_of_member in zip(events, members, strict=True):
        data = event.to_json()["data"]
        assert [data[key] for key in keys] == [value["data"][key] for key in keys]
        assert text_of_member in data["chunk"].values()


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_packed_row_is_refused(name: str) -> None:
    value = MALFORMED[name]
    text = dumps(value)
    with pytest.raises(BadRow, match="malformed"):
        parse_row(text)
    with pytest.raises(BadRow):
        row_of_value(loads(text), text)
    with pytest.raises(BadRow):
        unpack_value(loads(text))


NOT_SEQS: list[Any] = [None, True, "0", 0.5, 2**53, [], {}]
NOT_TYPES: list[Any] = [None, 1, ["text-chunks"], {}]
NO_EVENTS: list[Any] = [
    *(None, True, 1, "text", [], [text_row()], {}, {"type": "a"}, {"seq": 0, "time": 0}),
    *({"type": "a", "seq": seq, "time": 0} for seq in NOT_SEQS),
    *({"type": "a", "seq": 0, "time": time} for time in NOT_SEQS),
    *({"type": type_, "seq": 0, "time": 0} for type_ in NOT_TYPES),
]


@pytest.mark.parametrize("value", NO_EVENTS, ids=repr)
def test_what_is_no_event_is_no_row(value: Any) -> None:
    with pytest.raises(BadRow, match="storage row: expected"):
        parse_row(dumps(value))


@pytest.mark.parametrize("text", [b"", b"{", b"nul", b"{}{}", b'{"a":NaN}', b"\xff", b"[" * 10**5])
def test_what_is_no_json_is_no_row(text: bytes) -> None:
    with pytest.raises(BadRow, match="storage row: JSON text"):
        parse_row(text)


def test_a_row_is_one_line() -> None:
    text = dumps(text_row()).replace(b",", b",\n")
    with pytest.raises(BadRow, match="line end"):
        parse_row(text)


def test_an_event_row_asks_for_type_seq_and_time_alone() -> None:
    row = parse_row(b'{"seq":-3.0,"time":-0.0,"type":"","further":[]}')
    assert (row.first_seq, row.count, row.packed) == (-3, 1, False)
    (event,) = row.events()
    assert (event.type, event.seq, event.time_ms) == ("", -3, 0)


@pytest.mark.parametrize("type_", sorted(PACKED_TYPES))
def test_an_event_may_not_be_read_as_a_packed_row_and_back(type_: str) -> None:
    event = {"type": type_, "seq": 0, "time": 0, "data": {}}
    row = event_row(event)
    assert not row.packed
    assert row.events()[0].type == type_
    with pytest.raises(BadRow):
        parse_row(row.text)


def test_a_row_of_any_depth_is_read() -> None:
    value = {"type": "a", "seq": 0, "time": 0, "data": nested(50_000)}
    text = dumps(value)
    (event,) = parse_row(text).events()
    assert deep_equal(event.to_json(), value)
    for broken in (text_row(texts=nested(50_000)), text_row(data=nested(50_000, objects=True))):
        with pytest.raises(BadRow):
            parse_row(dumps(broken))


def test_what_unpacks_to_itself() -> None:
    values: list[Any] = [None, [], {"type": "a"}, {"type": ["text-chunks"]}, delta(0)]
    for value in values:
        assert unpack_value(value) == [value]


# --- the two readers of packed rows --------------------------------------------------------------


def exact_packed(text: bytes) -> tuple[int, int] | None:
    try:
        row = row_of_value(loads(text), text)
    except BadRow:
        return None
    return (row.first_seq, row.count) if row.packed else None


def check_quick(text: bytes) -> None:
    """The quick reader may leave any row to the exact one, but may not answer otherwise."""
    quick = quick_packed(text)
    if quick is not None:
        assert quick == exact_packed(text)


def test_the_usual_rows_are_for_the_quick_reader() -> None:
    for value in (text_row(), text_row(type="reasoning-chunks"), call_row(), call_row(name=DROP)):
        assert quick_packed(dumps(value)) == (4, len(value["data"]["dt"]) + 1)


@pytest.mark.parametrize("name", MALFORMED)
def test_the_quick_reader_takes_no_malformed_row(name: str) -> None:
    assert quick_packed(dumps(MALFORMED[name])) is None


numbers = st.one_of(
    st.integers(-2, 2),
    st.sampled_from([2**40, 2**40 + 1, 2**52, 2**52 + 1, 2**53 - 1, 2**53, 2**64]),
    st.sampled_from([1.0, 0.5, -0.0, True, None, "1"]),
)


@given(
    st.sampled_from([text_row, call_row]),
    st.dictionaries(
        st.sampled_from(["seq0", "time0", "turn", "step", "index"]), numbers, max_size=3
    ),
    st.lists(numbers, max_size=3),
    st.lists(st.one_of(any_text, st.none()), max_size=4),
)
def test_both_readers_agree_on_rows_of_all_numbers(
    make: Callable[..., Value], changes: Value, gaps: list[Any], texts: list[Any]
) -> None:
    key = "texts" if make is text_row else "args"
    check_quick(dumps(make(**changes, dt=gaps, **{key: texts})))


@given(
    st.sampled_from([dumps(value) for value in SOUND]),
    st.integers(0, 150),
    st.integers(0, 3),
    st.one_of(
        st.binary(max_size=3),
        st.sampled_from([b'"dt":[1],', b'"type":"text-chunks",', b'"seq0":9,', b"\\ud800", b"1e2"]),
    ),
)
def test_both_readers_agree_on_damaged_rows(text: bytes, at: int, cut: int, put: bytes) -> None:
    check_quick(text[:at] + put + text[at + cut :])


@pytest.mark.parametrize("count", [2**11 - 1, 2**11, 2**11 + 1, 5_000])
def test_a_row_of_many_members_is_read_by_one_reader_or_the_other(count: int) -> None:
    value = text_row(texts=["x"] * count, dt=[-(2**40)] * (count - 1), time0=-(2**52))
    text = dumps(value)
    assert (quick_packed(text) is not None) == (count <= 2**11)
    check_quick(text)
    assert parse_row(dumps(text_row(texts=["x"] * count, dt=[1] * (count - 1)))).count == count


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_the_quick_reader_bears_any_depth(opening: bytes) -> None:
    start = b'{"type":"text-chunks",'
    for before in (start, start + b'"data":', start + b'"x":', start + b'"data":{"texts":'):
        assert quick_packed(before + opening * 10**6) is None
    assert quick_packed(b'{"data":' + opening * 10**6) is None


def test_a_row_that_json_itself_writes_is_read() -> None:
    text = json.dumps(text_row(), indent=None).encode()
    assert parse_row(text).packed


@given(stored_values)
def test_rows_of_any_data_keep_it(value: Any) -> None:
    event = {"type": "goal/change", "seq": 0, "time": 0, "data": value}
    row = event_row(deepcopy(event))
    assert same(row.events()[0].to_json(), event)
    assert same(row.events()[0].data, value)


def test_the_names_of_the_module_are_listed() -> None:
    for name in rows_module.__all__:
        assert hasattr(rows_module, name)
