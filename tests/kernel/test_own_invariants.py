from typing import Any

from tests.kernel.turn_logs import (
    Value,
    call,
    chunk,
    events,
    log_of,
    other,
    packed,
    step_start,
    turn_end,
    turn_start,
)
from turnlog.events.event import Event
from turnlog.events.vocabulary import Registry
from turnlog.kernel.invariants import InvariantFold, breaches, invariants

OPEN_STEP = (turn_start(), step_start())


def rules(*values: Value, registry: Registry | None = None) -> list[tuple[int, str]]:
    return [(breach.seq, breach.rule) for breach in breaches(log_of(*values), registry)]


def even_only(state: Any, event: Event) -> tuple[Any, str | None]:
    """A relation of an embedder: a deploy needs an even number of turns before it."""
    turns = (state or 0) + (event.type == "turn/start")
    odd = event.type == "deploy/done" and turns % 2
    return turns, "expected an even number of turns" if odd else None


def registry_with(*types: str) -> Registry:
    registry = Registry()
    for type_ in types:
        registry.register(type_, invariant=even_only)
    registry.register("free/type")
    return registry


def test_a_registered_fold_sees_every_event_and_its_breach_bears_its_types_name() -> None:
    values = [other("deploy/done"), turn_start(), other("deploy/done"), turn_end()]
    assert rules(*values) == []
    assert rules(*values, registry=registry_with("deploy/done")) == [(2, "deploy/done")]


def test_all_that_one_event_breaks_is_named_the_core_first() -> None:
    values = [turn_start(), {**other("deploy/done"), "seq": 0}]
    found = rules(*values, registry=registry_with("deploy/done", "deploy/undone"))
    assert found == [(0, "seq"), (0, "deploy/done"), (0, "deploy/undone")]


def test_a_registered_fold_sees_the_members_of_packed_rows() -> None:
    seen: list[int] = []

    def note(state: Any, event: Event) -> tuple[Any, str | None]:
        seen.append(event.seq)
        return state, None

    registry = Registry()
    registry.register("deploy/done", invariant=note)
    log = packed(log_of(*OPEN_STEP, *[chunk() for _ in range(3)]))
    assert breaches(log, registry) == []
    assert seen == [0, 1, 2, 3, 4]


def test_a_copy_goes_on_alone() -> None:
    fold = InvariantFold(registry_with("deploy/done"))
    first, second, third, again, deploy = events(
        log_of(turn_start(), step_start(), call(), turn_start(2), other("deploy/done"))
    )
    assert fold.check(first) == ()
    before = fold.state
    trial = fold.copy()
    assert trial.check(second) == () == trial.check(third)
    assert trial.state.pending_calls == ("c",)
    trial.check(again)
    assert trial.check(deploy) == ()
    assert fold.state == before
    assert [breach.rule for breach in fold.check(deploy)] == ["deploy/done"]


def test_the_breach_of_a_registered_fold_has_the_reason_that_it_gave() -> None:
    log = log_of(turn_start(), other("deploy/done"))
    registry = registry_with("deploy/done")
    (breach,) = breaches(log, registry)
    assert breach.reason == "expected an even number of turns"
    assert invariants(log, registry).first_breach == breach
    assert invariants(log).ok
