"""JSON text: the fast and the exact path give the same answers, at any depth, for any text."""

from __future__ import annotations

import math
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.exactness import nested, same
from tests.strategies import any_text, stored_values
from turnlog.events import jsontext
from turnlog.events.errors import BrokenLog
from turnlog.events.jsontext import deep_equal, dumps, loads

DEEP = 100_000

# Pieces of JSON, of almost JSON, and of no JSON: joined at random they go deep into both parsers.
PIECES = (
    *("{", "}", "[", "]", ",", ":", '"', " ", "\t", "\r", "\n", "\x0b", "\ufeff", "\x00"),
    *(
        '"a"',
        '"a":',
        '""',
        '"\\n"',
        '"\\u0041"',
        '"\\ud83d"',
        '"\\ud83d\\ude00"',
        '"\\ude00\\ud83d"',
    ),
    *(
        '"\\x"',
        '"\\u00"',
        '"\\u00zz"',
        '"\\',
        '"\x01"',
        '"\x7f"',
        '"é"',
        "'a'",
        '"\\/"',
        '"\\u2028"',
    ),
    *("0", "-0", "-0.0", "1", "01", "1.0", "1.", ".5", "1e2", "1E+2", "1e", "-", "+1", "0x1"),
    *("1e400", "-1e400", "1e-400", "5e-324", "18446744073709551615", "18446744073709551616"),
    *("-9223372036854775808", "-9223372036854775809", "1" * 400, "0." + "3" * 50),
    *("true", "false", "null", "tru", "True", "NaN", "Infinity", "-Infinity", "nul", "//", "/**/"),
)

json_like = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """JSON text with a few bytes changed, cut out or put in."""
    text = bytearray(dumps(draw(stored_values)))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        end = min(len(text), at + draw(st.integers(0, 2)))
        put = draw(st.one_of(st.binary(max_size=2), st.sampled_from(PIECES).map(str.encode)))
        text[at:end] = put
    return bytes(text)


def exact(text: bytes | str) -> Any:
    """Read by the exact path alone."""
    return jsontext._loads_exact(text.decode() if isinstance(text, bytes) else text)


def agree(text: bytes) -> None:
    """Hold the exact path against the fast one, which refuses what only the exact one can hold."""
    try:
        expected = orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            found = exact(text)
        except (BrokenLog, UnicodeDecodeError):
            return
        assert "\\ud" in repr(dumps(found)), "only a lone surrogate is for the exact path alone"
        with pytest.raises(orjson.JSONDecodeError):
            orjson.loads(dumps(found))
    else:
        assert same(exact(text), expected)


@given(json_like.map(str.encode))
def test_both_parsers_agree_on_pieces_of_json(text: bytes) -> None:
    agree(text)


@given(damaged())
def test_both_parsers_agree_on_damaged_json(text: bytes) -> None:
    agree(text)


@given(stored_values)
@example(-0.0)
@example([2**64 - 1, -(2**63), 1, 1.0])
def test_text_holds_a_value_exactly(value: Any) -> None:
    text = dumps(value)
    assert same(loads(text), value)
    assert b"\n" not in text


@given(stored_values)
def test_both_writers_give_the_same_text(value: Any) -> None:
    text = "".join(jsontext._write_exact(value)).encode()
    assert text == dumps(value)


@given(any_text)
def test_a_text_with_a_lone_surrogate_is_written_in_ascii(text: str) -> None:
    written = dumps(text)
    assert loads(written) == text
    if any("\ud800" <= char <= "\udfff" for char in text):
        assert written.isascii()


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 10**30])
def test_an_integer_beyond_64_bits_is_written_whole_and_read_as_a_double(value: int) -> None:
    assert dumps(value) == str(value).encode()
    assert same(loads(dumps(value)), float(value))
    assert same(loads(dumps([value, "\ud800"])), [float(value), "\ud800"])


def test_the_last_of_a_repeated_key_counts_at_the_first_place() -> None:
    for lone in ("x", "\\ud800"):  # one for each path
        text = f'{{"a":1,"b":"{lone}","a":2}}'
        assert next(iter(loads(text).items())) == ("a", 2)


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" * 400])
@pytest.mark.parametrize("around", ["{}", '["\\ud800",{}]'])
def test_a_number_beyond_a_double_is_refused(number: str, around: str) -> None:
    with pytest.raises(BrokenLog):
        loads(around.format(number))


NO_JSON = (
    *("{", "}", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1}", '{"a":1]', "{,}"),
    *(
        '{"a"}',
        '{"a":}',
        '{"a":1,}',
        '{"a" 1}',
        '{"a":1 "b":2}',
        "{a:1}",
        "{1:1}",
        "{'a':1}",
        "{null:1}",
    ),
    *("01", "1.", ".5", "+1", "-", "- 1", "1e", "1e+", "0x1", "1_0", "1,", "--1", "1.e1", "-a"),
    *("tru", "True", "nul", "truee", "falsy", "NaN", "Infinity", "-Infinity", "nan", "undefined"),
    *('"', '"a', '"\\"', '"\\x"', '"\\u12"', '"\\u12g4"', '"\\u 123"', '"\\U0041"', "'a'"),
    *(
        '"\t"',
        '"\n"',
        '"\x00"',
        '"\x1f"',
        "1\x00",
        "\ufeff1",
        "1\x0b",
        "\xa01",
        "[1]//",
        "1 2",
        "{}{}",
    ),
)


@pytest.mark.parametrize("text", NO_JSON, ids=ascii)
def test_both_parsers_refuse_what_is_no_json(text: str) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(text)
    for around in ("{}", "[{}]", '["\\ud800",{}]', '{{"a":{},"b":"\\ud800"}}'):
        with pytest.raises(BrokenLog):
            loads(around.format(text))
        with pytest.raises(BrokenLog):
            exact(around.format(text))


@pytest.mark.parametrize("text", ["", " ", "\n"], ids=ascii)
def test_nothing_is_no_json(text: str) -> None:
    for read in (loads, exact):
        with pytest.raises(BrokenLog):
            read(text)


@pytest.mark.parametrize("text", [b'"\xff"', b'["\\ud800","\xed\xa0\x80"]', b"\x80"])
def test_text_that_is_not_utf8_is_refused(text: bytes) -> None:
    with pytest.raises(BrokenLog, match="UTF-8"):
        loads(text)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_depth_is_no_limit(opening: str) -> None:
    value = nested(DEEP, 1, objects=opening != "[")
    text = dumps(value)
    assert text == (opening * DEEP + "1" + ("]" if opening == "[" else "}") * DEEP).encode()
    assert deep_equal(loads(text), value)
    assert not deep_equal(loads(text), nested(DEEP, 2, objects=opening != "["))
    with pytest.raises(BrokenLog):
        loads(text[:-1])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (0, -0.0),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}),
        ([None, True, "x"], [None, True, "x"]),
        ({}, {}),
    ],
)
def test_equal_values_are_deep_equal(left: Any, right: Any) -> None:
    assert deep_equal(left, right)
    assert deep_equal([{"k": left}], [{"k": right}])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, True),
        (0, False),
        (True, 1),
        (1.0, True),
        (None, False),
        (None, 0),
        ("1", 1),
        ("", []),
        ([], {}),
        ({}, []),
        ({}, None),
        ([], None),
        (1, [1]),
        ([1], [1, 2]),
        ([1, 2], [1]),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 1, "b": 1}),
        ("\ud800", "\udfff"),
    ],
)
def test_different_values_are_not_deep_equal(left: Any, right: Any) -> None:
    assert not deep_equal(left, right)
    assert not deep_equal(right, left)
    assert not deep_equal([{"k": left}], [{"k": right}])


@given(stored_values, stored_values)
def test_deep_equality_is_that_of_python_but_for_booleans(left: Any, right: Any) -> None:
    assert deep_equal(left, left)
    if deep_equal(left, right):
        assert left == right
    elif left == right:
        assert not same(left, right)


def test_every_call_of_loads_gives_a_value_of_its_own() -> None:
    text = b'{"a":[1]}'
    first = loads(text)
    first["a"].append(2)
    assert loads(text) == {"a": [1]}


def test_a_float_is_written_shortest_on_both_paths() -> None:
    for number in (0.1, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, 123456789.125):
        assert float(dumps(number)) == number
        assert dumps([number, "\ud800"]).startswith(b"[" + dumps(number))
        assert math.isfinite(loads(dumps(number)))
