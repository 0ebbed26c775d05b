"""The header: its fields, and the ids that a session may have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.events.samples import DROP
from tests.exactness import nested, same
from tests.log_writer import Value
from tests.strategies import headers
from turnlog.events.errors import BadSessionId, BadShape, NotLossless
from turnlog.events.header import Header, check_session_id

FULL: Value = {
    "version": 0,
    "id": "s",
    "createdAt": 5,
    "cwd": "/work",
    "parentSession": "p",
    "seedLength": 3,
    "origin": "subagent",
    "delegationDepth": 1,
    "agentPreset": "minimal",
}


def test_the_fields_of_a_header() -> None:
    header = Header.of(FULL)
    assert header.id == "s"
    assert header.created_at_ms == 5
    assert header.cwd == "/work"
    assert header.parent_session == "p"
    assert header.seed_length == 3
    assert header.origin == "subagent"
    assert header.delegation_depth == 1
    assert header.agent_preset == "minimal"
    assert same(header.value, FULL)


def test_a_field_that_is_absent_is_none() -> None:
    header = Header.of({"version": 0, "id": "", "createdAt": 0})
    assert header.id == ""
    optional = (
        *(header.cwd, header.parent_session, header.seed_length),
        *(header.origin, header.delegation_depth, header.agent_preset),
    )
    assert optional == (None,) * 6


@given(headers())
def test_a_header_comes_back_exactly(header: Header) -> None:
    assert Header.of(header.value) == header
    assert same(Header.of(header.value).value, header.value)


def test_readers_take_whole_floats() -> None:
    header = Header.of(FULL | {"version": -0.0, "createdAt": 5.0, "seedLength": 3.0})
    assert repr((header.created_at_ms, header.seed_length)) == "(5, 3)"


NOT_STRING: list[Any] = [None, 1, True, [], {}]
NOT_SEQ: list[Any] = [None, True, "1", -1, 0.5, 2**53, []]
WRONG: dict[str, list[Any]] = {
    "version": [DROP, None, 1, "0", False, 0.5, []],
    "id": [DROP, *NOT_STRING],
    "createdAt": [DROP, *NOT_SEQ],
    "cwd": [*NOT_STRING, "", "work", "./", "C:\\"],
    "parentSession": NOT_STRING,
    "seedLength": NOT_SEQ,
    "origin": [*NOT_STRING, "", "user"],
    "delegationDepth": NOT_SEQ,
    "agentPreset": NOT_STRING,
}


@pytest.mark.parametrize("key", WRONG)
def test_a_wrong_field_is_named(key: str) -> None:
    for value in WRONG[key]:
        fields = {**FULL, key: value}
        if value is DROP:
            del fields[key]
        with pytest.raises(BadShape) as refused:
            Header.of(fields)
        assert refused.value.field == f"header.{key}"


@pytest.mark.parametrize("value", [None, [], "header", 0], ids=repr)
def test_what_is_no_object_is_no_header(value: Any) -> None:
    with pytest.raises(BadShape) as refused:
        Header.of(value)
    assert refused.value.field == "header"


def test_the_header_must_name_the_session_that_was_asked_for() -> None:
    assert Header.of(FULL, id="s").id == "s"
    with pytest.raises(BadShape) as refused:
        Header.of(FULL, id="t")
    assert refused.value.field == "header.id"


def test_a_header_can_not_be_changed() -> None:
    source = {**FULL, "more": [1]}
    header = Header.of(source)
    source["more"].append(2)
    header.value["more"].append(3)
    assert header.value["more"] == [1]
    with pytest.raises(AttributeError):
        header.id = "t"  # type: ignore[misc]


def test_a_new_header_has_the_fields_that_are_named() -> None:
    header = Header.new("s", 5, cwd="/", parentSession=None, seedLength=0)
    assert same(
        header.value, {"version": 0, "id": "s", "createdAt": 5, "cwd": "/", "seedLength": 0}
    )


def test_a_new_header_is_checked() -> None:
    with pytest.raises(BadShape):
        Header.new("s", -1)
    with pytest.raises(BadShape):
        Header.new("s", 0, cwd="relative")
    with pytest.raises(NotLossless):
        Header.new("s", 0, more=(1,))
    with pytest.raises(BadSessionId):
        Header.new("", 0)


def test_a_new_header_keeps_nothing_of_the_callers() -> None:
    more = [1]
    header = Header.new("s", 0, more=more)
    more.append(2)
    assert header.value["more"] == [1]


@pytest.mark.parametrize("depth", [100_000])
def test_depth_is_no_limit(depth: int) -> None:
    deep = nested(depth)
    assert same(Header.of(FULL | {"more": deep}).value["more"], deep)
    for key in FULL:
        with pytest.raises(BadShape):
            Header.of(FULL | {key: deep})


# --- session ids (field case M4) -----------------------------------------------------------------

GOOD_IDS = [
    *("a", "A", ".", "..", "../x", "/etc/passwd", "a/b\\c", "con", "a" * 255, "\U0001f600" * 255),
    *(" ", "\x7f", "\x80", "\u2028", "\ufeff", "%00", "ß", "e\u0301", "\udbff\udfff"[:0] or "é"),
]
BAD_IDS = [
    *("", "a" * 256, "\U0001f600" * 256, "\x00", "a\x00b", "a\n", "\x1f", "\x1b[2J", "\t"),
    *("\ud800", "a\udfffb", "\ude00\ud83d"),
]


@pytest.mark.parametrize("id", GOOD_IDS, ids=ascii)
def test_an_id_of_code_points_is_taken_as_it_is(id: str) -> None:
    assert check_session_id(id) == id
    assert Header.new(id, 0).id == id


@pytest.mark.parametrize("id", BAD_IDS, ids=ascii)
def test_a_bad_id_is_refused_with_the_reason(id: str) -> None:
    with pytest.raises(BadSessionId) as refused:
        check_session_id(id)
    assert refused.value.reason
    str(refused.value).encode()


@pytest.mark.parametrize("id", [None, 1, b"a", ["a"], True], ids=repr)
def test_an_id_is_a_string(id: Any) -> None:
    with pytest.raises(BadSessionId, match=type(id).__name__):
        check_session_id(id)


@given(st.text(st.characters(exclude_categories=()), max_size=300))
def test_an_id_is_good_or_bad_by_the_rule(id: str) -> None:
    good = 1 <= len(id) <= 255 and not any(
        ord(char) < 0x20 or 0xD800 <= ord(char) <= 0xDFFF for char in id
    )
    try:
        check_session_id(id)
    except BadSessionId:
        assert not good
    else:
        assert good
