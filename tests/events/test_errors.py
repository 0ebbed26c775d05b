"""Every error has one root, keeps its facts as attributes, and stands in the tree once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import turnlog.events
from turnlog.events import errors
from turnlog.events.error_text import MAX_TEXT, format_path, shown
from turnlog.events.errors import TurnlogError

CLASSES: dict[str, type[Exception]] = {
    name: item
    for name, item in vars(errors).items()
    if inspect.isclass(item) and issubclass(item, Exception)
}
GROUPS = {name for name, item in CLASSES.items() if item.__base__ is TurnlogError}
LEAVES = sorted(
    name for name, item in CLASSES.items() if "__init__" in vars(item) and item is not TurnlogError
)
"""The errors with facts; the others have a text alone."""


def tree() -> Iterator[tuple[str, str]]:
    """Give `(name, name of the parent)` for each class in the drawing at the top of the module."""
    drawing = (errors.__doc__ or "").split("\n\n")[1]
    group = ""
    for line in drawing.splitlines():
        text = line.strip(" │├└─")
        if re.match(r" {4}[├└]", line):
            group = text.split()[0]
            yield group, "TurnlogError"
        elif re.match(r" {4}[│ ] {3}[├└]", line):
            for names in re.split(r" {2,}", text):
                chain = names.split(" ── ")
                yield from zip(chain, [group, *chain], strict=False)
        else:
            yield text, "Exception"


def test_the_tree_shows_each_class_once_under_its_base() -> None:
    shown = list(tree())
    assert dict(shown) == {name: item.__bases__[0].__name__ for name, item in CLASSES.items()}
    assert len(shown) == len(CLASSES)


def test_every_error_has_one_root_and_one_base() -> None:
    for item in CLASSES.values():
        assert issubclass(item, TurnlogError)
        assert len(item.__bases__) == 1
        assert item.__doc__


def test_every_error_is_public() -> None:
    assert sorted(errors.__all__) == sorted(CLASSES)
    for name, item in CLASSES.items():
        assert getattr(turnlog.events, name) is item


def test_no_error_stands_outside_a_group() -> None:
    assert {
        *("CallerError", "DataError", "OwnershipError", "BrokerError", "SinkError"),
    } == GROUPS


SAMPLES: dict[str, list[Any]] = {
    "int": [0, 7],
    "str": ["found", "text", "\ud800"],
    "bool": [False, True],
    "object": [None, 7, "text"],
    "Any": [("head", 7), None],
    "str | None": [None, "text"],
    "int | None": [None, 7],
    "Sequence[str | int]": [(), ("a", 0, "\ud800")],
    "Sequence[Any]": [(), (SimpleNamespace(seq=41, reason="unpaired"),)],
}


@pytest.mark.parametrize("name", LEAVES)
def test_an_error_keeps_its_facts_as_attributes(name: str) -> None:
    item = CLASSES[name]
    parameters = inspect.signature(item).parameters
    for position in range(3):
        facts: dict[str, Any] = {}
        for parameter in parameters.values():
            choices = SAMPLES[str(parameter.annotation)]
            facts[parameter.name] = choices[position % len(choices)]
        error = item(**facts)
        assert {key: getattr(error, key) for key in facts} == facts
        assert str(error)


@pytest.mark.parametrize("name", LEAVES)
def test_the_text_of_an_error_holds_a_fact_of_it(name: str) -> None:
    item = CLASSES[name]
    parameters = inspect.signature(item).parameters
    texts = set()
    for position in (1, 2):
        facts: dict[str, Any] = {}
        for parameter in parameters.values():
            choices = SAMPLES[str(parameter.annotation)]
            facts[parameter.name] = choices[position % len(choices)]
        texts.add(str(item(**facts)))
    assert len(texts) == 2


LARGE: dict[str, Any] = {
    "str": "x" * 1_000_000,
    "object": "x" * 1_000_000,
    "Any": "x" * 1_000_000,
    "str | None": "x" * 1_000_000,
    "Sequence[str | int]": ("x" * 1_000_000,) * 20,
    "Sequence[Any]": (SimpleNamespace(seq=41, reason="x" * 1_000_000),) * 20,
}


@pytest.mark.parametrize("name", CLASSES)
def test_the_text_of_an_error_is_short_whatever_it_tells_of(name: str) -> None:
    item = CLASSES[name]
    parameters = inspect.signature(item).parameters
    facts = {key: LARGE.get(str(parameter.annotation), 7) for key, parameter in parameters.items()}
    error = item(**facts) if "__init__" in vars(item) else item("x" * 1_000_000)
    assert 0 < len(str(error)) <= MAX_TEXT
    assert len(repr(error)) <= 2 * MAX_TEXT


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "$"),
        (("a",), "$.a"),
        (("tools", 2, "name"), "$.tools[2].name"),
        ((0, 1), "$[0][1]"),
        (("",), "$."),
        (("a",) * 24, "$" + ".a" * 24),
        ((0,) * 25, "$" + "[0]" * 12 + " … 1 more … " + "[0]" * 12),
        (("a",) * 100_000, "$" + ".a" * 12 + " … 99976 more … " + ".a" * 12),
        (("x" * 1_000, "a"), "$." + "x" * 80 + ".a"),
    ],
    ids=range(9),
)
def test_a_path_is_shown_short(path: tuple[str | int, ...], text: str) -> None:
    assert format_path(path) == text


class Unwilling:
    """Gives nothing of itself."""

    def __repr__(self) -> str:
        raise LookupError

    __str__ = __repr__


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "nothing"),
        (True, "True"),
        (7, "7"),
        (1.5, "1.5"),
        ("a", "'a'"),
        ("x" * 1_000, "'" + "x" * 80 + "'"),
        ({"a": 1}, "an object"),
        ([1], "a list"),
        ((), "a value of type tuple"),
        (10**5000, "a value of type int"),
        (float("nan"), "a value of type float"),
        (Unwilling(), "a value of type Unwilling"),
        (Unwilling, "a value of type type"),
    ],
    ids=range(13),
)
def test_a_found_value_is_shown_short(value: Any, text: str) -> None:
    assert shown(value) == text
