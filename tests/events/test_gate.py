"""The lossless JSON gate: what it refuses and where, what it keeps, and that both paths agree."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import math
from collections import OrderedDict, UserDict, defaultdict, deque
from collections.abc import Callable
from pathlib import PurePath
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.exactness import nested, same
from tests.strategies import any_text, json_values
from turnlog.events import gate
from turnlog.events.errors import NotLossless, TooLarge
from turnlog.events.gate import (
    MAX_EVENT_BYTES,
    MAX_SAFE_INTEGER,
    is_integer,
    is_seq,
    lossless_copy,
    snapshot,
)
from turnlog.events.jsontext import dumps


class Text(str):
    """A string that is more than a string."""


class Whole(int):
    """An int that is more than an int."""


class Real(float):
    """A float that is more than a float."""


class Listed(list[Any]):
    """A list that is more than a list."""


class Mapped(dict[str, Any]):
    """A dict that is more than a dict."""


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    ONE = "one"


@dataclasses.dataclass
class Point:
    x: int


class Sly:
    """Pretends to be a string, and to equal everything."""

    __class__ = str  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("a")


class Shy(type):
    """A metaclass whose classes have no name to give."""

    def __getattribute__(cls, name: str) -> Any:
        raise LookupError(name)


class Nameless(metaclass=Shy):
    pass


LOSSY: dict[str, Callable[[], Any]] = {
    "NaN": lambda: math.nan,
    "infinity": lambda: math.inf,
    "minus infinity": lambda: -math.inf,
    "negative zero": lambda: -0.0,
    "2^53": lambda: 2**53,
    "-2^53": lambda: -(2**53),
    "a huge int": lambda: 10**5000,
    "tuple": lambda: (1, 2),
    "named tuple": lambda: gate.MAX_SAFE_INTEGER.as_integer_ratio(),
    "set": lambda: {1},
    "frozenset": lambda: frozenset("a"),
    "bytes": lambda: b"a",
    "bytearray": lambda: bytearray(b"a"),
    "memoryview": lambda: memoryview(b"a"),
    "datetime": lambda: datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
    "date": lambda: datetime.date(2024, 1, 1),
    "timedelta": lambda: datetime.timedelta(1),
    "Decimal": lambda: decimal.Decimal(1),
    "Fraction": lambda: fractions.Fraction(1, 2),
    "complex": lambda: 1j,
    "Enum": lambda: Color.RED,
    "IntEnum": lambda: Level.LOW,
    "StrEnum": lambda: Word.ONE,
    "dataclass": lambda: Point(1),
    "object": object,
    "class": lambda: Point,
    "function": lambda: len,
    "generator": lambda: (x for x in "a"),
    "iterator": lambda: iter([1]),
    "range": lambda: range(3),
    "path": lambda: PurePath("a"),
    "ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "str subclass": lambda: Text("a"),
    "int subclass": lambda: Whole(1),
    "float subclass": lambda: Real(1.0),
    "list subclass": lambda: Listed([1]),
    "dict subclass": lambda: Mapped(a=1),
    "OrderedDict": lambda: OrderedDict(a=1),
    "defaultdict": lambda: defaultdict(int),
    "UserDict": lambda: UserDict(a=1),
    "mapping proxy": lambda: MappingProxyType({"a": 1}),
    "namespace": lambda: SimpleNamespace(a=1),
    "deque": lambda: deque([1]),
    "dict keys": lambda: {"a": 1}.keys(),
    "a pretender": Sly,
    "a class without a name": Nameless,
}

LOSSY_KEYS: dict[str, Any] = {
    "int": 1,
    "bool": True,
    "None": None,
    "float": 1.5,
    "tuple": ("a",),
    "bytes": b"a",
    "str subclass": Text("a"),
    "StrEnum": Word.ONE,
    "a pretender": Sly(),
}

# A value put into some larger one, and the path that leads to it.
PLACES: dict[str, tuple[Callable[[Any], Any], tuple[str | int, ...]]] = {
    "alone": (lambda x: x, ()),
    "in a list": (lambda x: [0, "a", x, None], (2,)),
    "in an object": (lambda x: {"a": 1, "b": x, "c": 2}, ("b",)),
    "under an empty key": (lambda x: {"": [x]}, ("", 0)),
    "behind siblings": (lambda x: [{"a": [1, {}]}, [], {"k": [[], [x]]}], (2, "k", 1, 0)),
    "in 5 MB": (lambda x: {"text": "x" * 5_000_000, "list": [x]}, ("list", 0)),
    "among 30,000 items": (lambda x: [*range(30_000), x], (30_000,)),
    "beside a surrogate": (lambda x: {"s": "\ud800", "k": x}, ("k",)),
    "64 deep": (lambda x: nested(64, x), (0,) * 64),
    "2,000 deep": (lambda x: nested(2_000, x, objects=True), ("a",) * 2_000),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", LOSSY)
def test_a_lossy_value_is_refused_at_every_size_and_depth(kind: str, place: str) -> None:
    put, path = PLACES[place]
    with pytest.raises(NotLossless) as refused:
        snapshot(put(LOSSY[kind]()))
    assert refused.value.path == path


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", LOSSY_KEYS)
def test_a_lossy_key_is_refused_naming_its_object(kind: str, place: str) -> None:
    put, path = PLACES[place]
    with pytest.raises(NotLossless) as refused:
        snapshot(put({"z": 1, LOSSY_KEYS[kind]: 2}))
    assert refused.value.path == path
    assert "key" in refused.value.found


@pytest.mark.parametrize("size", [20, 5_000_000])
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_no_number_outside_json_passes_in_a_small_or_a_large_payload(
    number: float, size: int
) -> None:  # field case A7
    with pytest.raises(NotLossless) as refused:
        snapshot({"usage": {"outputTokens": number}, "text": "x" * size})
    assert refused.value.path == ("usage", "outputTokens")
    assert "$.usage.outputTokens" in str(refused.value)


def test_the_first_fault_in_reading_order_is_named() -> None:
    with pytest.raises(NotLossless) as refused:
        snapshot({"a": [1, [-0.0]], "b": math.nan})
    assert refused.value.path == ("a", 1, 0)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (math.nan, "NaN"),
        (math.inf, "an infinity"),
        (-0.0, "negative zero"),
        (2**53, "an integer beyond ±(2^53 - 1)"),
        ((), "a value of type tuple"),
        ({1: 2}, "a key of type int"),
    ],
)
def test_a_refusal_says_what_was_found(value: Any, found: str) -> None:
    with pytest.raises(NotLossless) as refused:
        snapshot(value)
    assert refused.value.found == found


@pytest.mark.parametrize("depth", [1, 2, 64, 65, 1_000])
@pytest.mark.parametrize("objects", [False, True])
def test_a_cycle_is_refused_where_it_closes(depth: int, objects: bool) -> None:
    inner: Any = {} if objects else []
    value = nested(depth - 1, inner, objects=objects)
    if objects:
        inner["a"] = value
    else:
        inner.append(value)
    with pytest.raises(NotLossless, match="contains itself") as refused:
        snapshot(value)
    assert refused.value.path == ("a" if objects else 0,) * depth


def test_one_value_in_two_places_is_no_cycle() -> None:
    shared: Any = {"k": []}
    taken = lossless_copy([shared, shared, {"again": shared}])
    assert same(taken, [{"k": []}, {"k": []}, {"again": {"k": []}}])
    assert taken[0] is not taken[1]


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> int:
    """Lower the limit of an event, so that it is reached in no time."""
    monkeypatch.setattr(gate, "MAX_EVENT_BYTES", 2**16)
    return 2**16


@pytest.mark.parametrize("doublings", [20, 100])
@pytest.mark.parametrize("objects", [False, True])
def test_a_small_value_that_unfolds_to_a_huge_one_is_too_large(
    doublings: int, objects: bool, small_limit: int
) -> None:
    value: Any = []
    for _ in range(doublings):
        value = {"a": value, "b": value} if objects else [value, value]
    with pytest.raises(TooLarge):
        snapshot(value)


@pytest.mark.parametrize("value", [["x" * 10**6] * 10**3, [{"x" * 10**6: 1}] * 10**3])
def test_a_long_text_in_many_places_is_too_large(value: Any) -> None:
    with pytest.raises(TooLarge) as refused:
        snapshot(value)
    assert refused.value.limit == MAX_EVENT_BYTES
    assert refused.value.unit == "bytes"


# For each kind of value one whose text has exactly so many bytes, or a few less.
FILLERS: dict[str, Callable[[int], Any]] = {
    "a text": lambda size: "x" * (size - 2),
    "a key": lambda size: {"x" * (size - 6): 1},
    "two bytes a character": lambda size: ["é" * ((size - 4) // 2)],
    "escapes": lambda size: "\x00" * ((size - 2) // 6),
    "items": lambda size: [1] * ((size - 1) // 2),
    "lists": lambda size: [[]] * ((size - 1) // 3),
    "objects": lambda size: [{"": {}}] * ((size - 1) // 8),
    "depth": lambda size: nested((size - 1) // 2, 1),
    "objects in depth": lambda size: nested((size - 1) // 6, 1, objects=True),
}


@pytest.mark.parametrize("kind", FILLERS)
def test_the_limit_is_that_of_the_text_and_exact(kind: str, small_limit: int) -> None:
    text = snapshot(FILLERS[kind](small_limit)).text
    assert small_limit - 8 < len(text) <= small_limit
    with pytest.raises(TooLarge):
        snapshot(FILLERS[kind](small_limit + 8))


def test_the_limit_is_8_mib() -> None:
    assert len(snapshot("x" * (2**23 - 2)).text) == 2**23
    with pytest.raises(TooLarge) as refused:
        snapshot("x" * (2**23 - 1))
    assert (refused.value.found, refused.value.limit) == (2**23 + 1, 2**23)


NASTY: dict[str, Any] = {
    "one and one point zero": [1, 1.0, True, {"a": 1.0, "b": 1}],
    "zeros": [0, 0.0, False, None, "", [], {}],
    "the safe integers' ends": [MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER, float(2**53)],
    "extreme floats": [5e-324, -5e-324, 1.7976931348623157e308, 1e22, 0.1, 1e-7, 1e16],
    "key order": {"b": 1, "a": {"z": 1, "": 2, "y": 3}, "10": 0, "9": 0},
    "NUL between words": "one\x00two",  # field case A1
    "NUL in a nested argument": {"a": [{"b": "\x00"}]},
    "NUL in a key": {"a\x00b": 1, "a": 2},
    "six visible characters": ["\\u0000", {"\\u0000": "\\\\u0000"}],
    "a lone high surrogate": "x" * 656 + "\ud83d" + "x" * 656,  # field case A2
    "a lone low surrogate": {"arguments": '{"text":"\ude00'},
    "surrogates in the wrong order": "\ude00\ud83d",
    "two halves that are no pair here": ["\ud83d", "\ude00"],
    "a surrogate as key": {"\ud800": 1, chr(0xDFFF): {"\ud800": 2}},
    "an emoji beside half of one": "\U0001f600\ud83d",
    "line ends": "\u2028\u2029\u0085\r\n\x0b\x0c",
    "controls": "".join(map(chr, range(32))) + "\x7f",
    "noncharacters": "\ufffe\uffff\U0010ffff\ufeff",
    "quotes": '"\\/\b\f',
    "JSON in a text": '{"type":"user/message"}\n',
}


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("depth", [0, 1, 300])
def test_what_is_taken_comes_back_exactly(name: str, depth: int) -> None:
    value = nested(depth, NASTY[name], objects=True)
    taken = snapshot(value)
    assert same(taken.value, value)
    assert taken.text.decode("utf-8")


@given(json_values)
def test_any_lossless_value_comes_back_exactly(value: Any) -> None:
    before = copy.deepcopy(value)
    taken = snapshot(value)
    assert same(taken.value, value)
    assert same(lossless_copy(value), value)
    assert same(value, before), "the caller's value is unchanged"


def test_a_value_of_any_depth_comes_back() -> None:
    for depth in (63, 64, 65, 4_000, 100_000):  # field case A5
        for objects in (False, True):
            value = nested(depth, "leaf", objects=objects)
            assert same(snapshot(value).value, value)


def test_later_changes_of_the_callers_value_do_not_reach_the_copy() -> None:
    for surrogate in ("", "\ud800"):  # the second goes the exact way
        inner: dict[str, Any] = {"list": [1, [2]], "s": surrogate}
        value = {"deep": nested(100, inner), "inner": inner}
        taken, copied = snapshot(value), lossless_copy(value)
        before = copy.deepcopy(value)
        inner["list"][1].append(3)
        inner["list"].append(4)
        inner["new"] = 1
        assert same(taken.value, before)
        assert same(copied, before)


def test_each_call_of_value_gives_a_new_copy() -> None:
    taken = snapshot({"a": [1]})
    taken.value["a"].append(2)
    assert taken.value == {"a": [1]}
    with pytest.raises(AttributeError):
        taken.text = b"{}"  # type: ignore[misc]


# --- the two paths -------------------------------------------------------------------------------

lossy_values = st.sampled_from(sorted(LOSSY)).map(lambda name: LOSSY[name]())
mixed_values = st.recursive(
    st.one_of(json_values, lossy_values),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(any_text, inner, max_size=3),
        st.dictionaries(st.one_of(any_text, st.sampled_from([1, None, Text("a")])), inner),
        st.tuples(st.integers(60, 70), inner).map(lambda pair: nested(*pair)),
    ),
    max_leaves=6,
)


def outcome(take: Callable[[], Any]) -> tuple[str, Any]:
    """What a path makes of a value: a copy, or the refusal's kind and place."""
    try:
        return "taken", take()
    except NotLossless as error:
        return "lossy", (error.path, error.found)
    except TooLarge as error:
        return "large", error.found


def agree(value: Any) -> None:
    exact, answer = outcome(lambda: gate._copy_exact(value))
    try:
        fast = outcome(lambda: gate._copy_fast(value, gate._FAST_DEPTH, [0]))
    except gate._NotFast:
        pass  # the exact path decides
    else:
        assert fast[0] == exact
        assert same(fast[1], answer)
    assert outcome(lambda: lossless_copy(value))[0] == exact


@given(mixed_values)
def test_the_fast_and_the_exact_path_agree(value: Any) -> None:
    agree(value)


@pytest.mark.parametrize("name", NASTY)
def test_both_paths_agree_on_nasty_values(name: str) -> None:
    agree(NASTY[name])


@pytest.mark.parametrize("kind", LOSSY)
def test_the_fast_path_takes_nothing_lossy(kind: str) -> None:
    for place, _ in PLACES.values():
        with pytest.raises(gate._NotFast):
            gate._copy_fast(place(LOSSY[kind]()), gate._FAST_DEPTH, [0])


@pytest.mark.parametrize(
    "value",
    [
        ["x" * 30_000] * 3,
        [{"x" * 30_000: 1}] * 3,
        [1] * 50_000,
        [[math.nan], [1] * 50_000],
        [[1] * 50_000, [math.nan]],
        {"a": ["x" * 90_000, math.nan]},
        [math.nan, "x" * 90_000],
    ],
    ids=["texts", "keys", "items", "lossy first", "large first", "large text", "lossy item"],
)
def test_both_paths_find_a_value_too_large_at_the_same_place(value: Any, small_limit: int) -> None:
    agree(value)


def test_plain_values_are_for_the_fast_path() -> None:
    value = {"data": [1, 1.5, "text", True, None, {"a": {}}]}
    assert gate._copy_fast(value, gate._FAST_DEPTH, [0]) == value


@given(json_values)
def test_the_count_of_bytes_is_never_above_the_texts(value: Any) -> None:
    spent: list[float] = [0]
    gate._copy_fast(value, gate._FAST_DEPTH, spent)
    assert spent[0] <= len(dumps(value))


# --- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, 1, -1, 1.0, -0.0, -5.0, 2**53 - 1, 1 - 2**53], ids=repr)
def test_whole_numbers_are_integers(value: Any) -> None:
    assert is_integer(value)
    assert is_seq(value) == (value >= 0)


@pytest.mark.parametrize(
    "value",
    [True, False, None, "1", 1.5, 2**53, -(2**53), float(2**53), 1e300, [], {}, Whole(1)],
    ids=repr,
)
def test_all_else_is_no_integer(value: Any) -> None:
    assert not is_integer(value)
    assert not is_seq(value)
