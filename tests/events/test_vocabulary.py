"""The event types: those of the core, those known beyond it, and an embedder's own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.shared import shared_path
from turnlog.events.errors import BadShape
from turnlog.events.vocabulary import (
    CORE_TYPES,
    KNOWN_TYPES,
    LEGACY_TYPES,
    PACKED_TYPES,
    SURFACE_TYPES,
    Registry,
)


def test_the_types_of_the_core() -> None:
    assert {
        *("turn/start", "turn/end", "step/start", "step/end", "user/message", "assistant/chunk"),
        *("assistant/message", "tool/call", "tool/result", "todo/write", "request/header"),
        *("request/context", "agent/inbox/spliced", "session/end-seed"),
    } == CORE_TYPES
    assert {"user/message", "assistant/message", "tool/result"} == SURFACE_TYPES


def test_the_sets_of_types_contain_each_other_or_nothing_in_common() -> None:
    assert SURFACE_TYPES < CORE_TYPES < KNOWN_TYPES
    assert len(KNOWN_TYPES) == 14 + 34
    assert not KNOWN_TYPES & (PACKED_TYPES | LEGACY_TYPES)
    assert not PACKED_TYPES & LEGACY_TYPES


def test_the_known_types_are_those_that_the_rules_name() -> None:
    rules = shared_path() / "semantics.md"
    if not rules.is_file():
        pytest.skip("no shared data: set TURNLOG_SHARED")
    line = next(line for line in rules.read_text().splitlines() if "Known types beyond" in line)
    named = line.split("section 15): `")[1].split("`")[0].split()
    assert set(named) == KNOWN_TYPES - CORE_TYPES


def test_a_registry_knows_the_known_types_and_its_own() -> None:
    registry = Registry()
    assert all(map(registry.knows, KNOWN_TYPES))
    assert not registry.knows("x/own")
    registry.register("x/own")
    assert registry.knows("x/own")
    assert not Registry().knows("x/own"), "registries share nothing"


def test_registrations_are_kept_in_order_with_what_was_said() -> None:
    def shape(data: Any) -> None: ...

    def fold(state: Any, event: Any) -> tuple[Any, None]:
        return state, None

    registry = Registry()
    registry.register("x/b", shape=shape)
    registry.register("x/a", invariant=fold)
    assert list(registry.own) == ["x/b", "x/a"]
    assert registry.own["x/b"] == (shape, None)
    assert registry.own["x/a"] == (None, fold)
    with pytest.raises(TypeError):
        registry.own["x/c"] = (None, None)  # type: ignore[index]


@pytest.mark.parametrize("type_", ["", *sorted(KNOWN_TYPES | PACKED_TYPES | LEGACY_TYPES)])
def test_a_type_that_is_taken_can_not_be_registered(type_: str) -> None:
    registry = Registry()
    with pytest.raises(BadShape) as refused:
        registry.register(type_)
    assert refused.value.field == "type"
    assert not registry.own


@pytest.mark.parametrize("type_", [None, 1, ["x"], {}, b"x"], ids=repr)
def test_a_type_is_a_string(type_: Any) -> None:
    with pytest.raises(BadShape):
        Registry().register(type_)


def test_a_type_is_registered_once() -> None:
    registry = Registry()
    registry.register("x/own")
    with pytest.raises(BadShape, match="registered before"):
        registry.register("x/own")
