"""The request header: its canonical form, and when two are equal."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.kernel.log_builder import header_of
from turnlog.events.errors import BadShape
from turnlog.kernel.request_header import canonical, header_differences, headers_equal

_TOOL = {"name": "read", "parameters": {"type": "object", "properties": {}}}


def test_canonical_keeps_the_whole_config_and_what_is_not_empty() -> None:
    header = header_of(
        note={"x": 1}, system=" ", tools=[_TOOL], adapterDefaults={"maxTokens": True}, maxTokens=9
    )
    assert canonical({**header, "note": 1}) == header


@pytest.mark.parametrize("empty", [{"system": ""}, {"tools": []}, {"adapterDefaults": {}}])
def test_canonical_drops_what_is_empty(empty: dict[str, Any]) -> None:
    assert canonical(header_of(**empty)) == header_of()


def test_canonical_shares_nothing_with_theheader_of() -> None:
    header = header_of(tools=[copy.deepcopy(_TOOL)], stop=["a"])
    before = copy.deepcopy(header)
    form = canonical(header)
    form["config"]["stop"].append("b")
    form["tools"][0]["name"] = "write"
    assert header == before


@pytest.mark.parametrize(
    ("header", "field", "found"),
    [
        (None, "header", "NoneType"),
        ([], "header", "list"),
        ({}, "header.config", "NoneType"),
        ({"config": None}, "header.config", "NoneType"),
        ({"config": ["p"]}, "header.config", "list"),
    ],
)
def test_a_header_without_config_is_refused(header: Any, field: str, found: str) -> None:
    with pytest.raises(BadShape) as caught:
        canonical(header)
    assert (caught.value.field, caught.value.found) == (field, found)


@pytest.mark.parametrize(
    ("a", "b", "differing"),
    [
        (header_of(), header_of(), ()),
        (header_of(maxTokens=9), header_of(maxTokens=9.0), ()),
        (header_of(note=1), header_of(note=2), ()),
        (header_of(system=""), header_of(), ()),
        (header_of(tools=[]), header_of(), ()),
        (header_of(provider="q"), header_of(), ("provider",)),
        (header_of(model="n"), header_of(), ("model",)),
        (header_of(reasoningEffort="low"), header_of(reasoningEffort="high"), ("reasoningEffort",)),
        (header_of(temperature=0), header_of(), ("temperature",)),
        (header_of(temperature=True), header_of(temperature=1), ("temperature",)),
        (header_of(maxTokens=0), header_of(), ("maxTokens",)),
        (header_of(stop=[]), header_of(), ("stop",)),
        (header_of(stop=["a", "b"]), header_of(stop=["b", "a"]), ("stop",)),
        (header_of(adapterDefaults={"maxTokens": True}), header_of(), ("adapterDefaults",)),
        (header_of(adapterDefaults={"reasoningEffort": True}), header_of(), ("adapterDefaults",)),
        (
            header_of(adapterDefaults={"maxTokens": True}),
            header_of(adapterDefaults={"reasoningEffort": True}),
            ("adapterDefaults",),
        ),
        (header_of(system="s"), header_of(system="s "), ("system",)),
        (header_of(tools=[_TOOL]), header_of(), ("tools",)),
        (header_of(tools=[_TOOL, {"n": 1}]), header_of(tools=[{"n": 1}, _TOOL]), ("tools",)),
        (header_of(tools=[{"n": 1}]), header_of(tools=[{"n": 1.0}]), ()),
        (header_of(tools=[{"n": 1}]), header_of(tools=[{"n": True}]), ("tools",)),
        (
            header_of(tools=[{"a": [{"x": 1, "y": 2}]}]),
            header_of(tools=[{"a": [{"y": 2, "x": 1}]}]),
            ("tools",),
        ),
    ],
)
def test_headers_differ_by_what_the_model_is_asked(
    a: Any, b: Any, differing: tuple[str, ...]
) -> None:
    assert header_differences(a, b) == header_differences(b, a) == differing
    assert headers_equal(a, b) is (not differing)


def test_a_deep_tool_schema_is_compared_without_a_call_stack() -> None:
    def nested(inner: Any) -> Any:
        value: Any = inner
        for _ in range(100_000):
            value = {"properties": [value]}
        return header_of(tools=[value])

    deep, other = nested({"a": 1, "b": 2}), nested({"b": 2, "a": 1})
    assert headers_equal(canonical(deep), deep)
    assert not headers_equal(deep, other)
