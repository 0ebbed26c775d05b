"""The tokenizer that looks for records in a damaged line judges JSON as the readers do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.events.test_jsontext import damaged, json_like
from tests.exactness import nested
from tests.strategies import any_text, json_values
from turnlog.events.errors import BrokenLog
from turnlog.events.jsontext import dumps, loads
from turnlog.events.salvage import is_json, salvage


def agree(text: bytes) -> None:
    """Hold the tokenizer against the reader; it alone does not see a number beyond a double."""
    if b"\n" in text:  # never inside a line
        return
    refusal = refusal_of(text)
    if refusal != "a number beyond a double":
        assert is_json(text) is (refusal == "")


def refusal_of(text: bytes) -> str:
    try:
        loads(text)
    except BrokenLog as error:
        return error.reason.removeprefix("JSON text: ").split(" at ")[0]
    return ""


@given(st.one_of(json_like.map(str.encode), damaged()))
def test_it_agrees_on_objects_of_pieces_and_of_damaged_json(text: bytes) -> None:
    agree(b'{"a":' + text + b"}")
    agree(b'{"a":[{},' + text + b"]}")
    agree(b"{" + text + b"}")


@given(st.dictionaries(any_text, json_values, min_size=1))
def test_it_finds_a_whole_object_at_its_place(value: dict[str, object]) -> None:
    text = dumps(value)
    for before, after in ((b"", b""), (b"junk", b"junk"), (b"\x00 ", b'"'), (text, text)):
        line = before + text + after
        spans = [(start, end) for start, end, _ in salvage(line, bytes, ended=True)]
        assert (len(before), len(before) + len(text)) in spans


@given(st.binary(max_size=60))
def test_its_spans_are_disjoint_objects_in_order(line: bytes) -> None:
    line = line.replace(b"\n", b"{")
    last = 0
    for start, end, text in salvage(line, bytes, ended=False):
        assert last <= start < end <= len(line)
        assert line[start:end] == text
        assert is_json(text)
        last = end


def test_what_is_refused_is_passed_over_with_all_that_is_in_it() -> None:
    line = b'{"a":{"b":1}}{"c":1}'
    seen = []

    def read(text: bytes) -> bytes | None:
        seen.append(text)
        return text if b"c" in text else None

    assert [text for _, _, text in salvage(line, read, ended=True)] == [b'{"c":1}']
    assert seen == [b'{"a":{"b":1}}', b'{"c":1}']


@pytest.mark.parametrize("text", [b"{}", b'{"a":1}', b"[]", b"7", b'"a"', b"null", b"-0.0e1"])
def test_whole_json(text: bytes) -> None:
    assert is_json(text)
    assert not is_json(text + b",")
    assert not is_json(b"")


def test_depth_is_no_limit() -> None:
    text = dumps(nested(100_000, objects=True))
    assert is_json(text)
    assert not is_json(text[:-1])
    assert [text for _, _, text in salvage(b"x" + text, bytes, ended=True)] == [text]
