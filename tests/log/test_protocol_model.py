"""The append protocol: all that can happen within bounds, with the shipped ledger and ownership.

What is modelled and what was found: docs/model.md. `TURNLOG_MODEL=deep` goes further, which
takes some minutes and gigabytes; `-s` prints what was counted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

import pytest

from tests.log.model import removed
from tests.log.model.alone import write_alone
from tests.log.model.explore import Explored, explore
from tests.log.model.scope import NAMESPACE, Bounds, Owner, Rules
from tests.log.model.sides import NO_SIDE, Nonces, Sides, session_id
from tests.log.model.telling import told
from tests.log.model.walk import Walk
from tests.log.model.world import State, World
from turnlog.events.avro import encode_commit
from turnlog.events.commit import Kind
from turnlog.events.header import Header
from turnlog.kernel.ledger import Ledger
from turnlog.log.commits import CommitMaker
from turnlog.log.ownership import MAX_IN_FLIGHT, Ownership, Phase

TWO, ONE_ID, THREE = ("w1", "w2"), ("w1", "w1"), ("w1", "w2", "w3")

SHIPPED = Rules()

IS_DEEP = os.environ.get("TURNLOG_MODEL") == "deep"

QUICK = {
    "claims and a release": Bounds(TWO, starts=3, releases=1),
    "doubts and a crash": Bounds(TWO, starts=2, appends=3, doubts=2, crashes=1),
    "two processes of one writer id": Bounds(ONE_ID, starts=3, crashes=1),
    "three writers": Bounds(THREE, starts=3),
    "two sessions": Bounds(TWO, sessions=2, releases=1),
}

DEEP = {
    "a release and a crash": Bounds(TWO, starts=3, appends=3, releases=1, crashes=1),
    "two doubts and a release": Bounds(TWO, starts=3, appends=3, doubts=2, releases=1),
    "three doubts": Bounds(TWO, starts=3, appends=3, doubts=3),
    "four claims": Bounds(TWO, starts=4, appends=2, doubts=1, releases=1),
    "one writer id, a crash": Bounds(ONE_ID, starts=3, appends=2, doubts=2, crashes=1),
    "three writers, a crash": Bounds(THREE, starts=3, appends=2, doubts=1, crashes=1),
    "three writers, a release": Bounds(THREE, starts=3, appends=2, doubts=1, releases=1),
    "two sessions, a doubt": Bounds(TWO, sessions=2, starts=3, appends=2, doubts=1, releases=1),
}

LITERAL = [
    Bounds(TWO, starts=1, appends=2, doubts=2),
    Bounds(TWO, starts=2, appends=2, doubts=0, releases=1),
    Bounds(TWO, starts=2, appends=1, doubts=1, crashes=1),
]
SAME_BYTES: list[Bounds] = []
if IS_DEEP:
    SAME_BYTES = [DEEP["a release and a crash"], Bounds(TWO, literal=True)]
    LITERAL += [Bounds(TWO, starts=2, appends=2, doubts=1), Bounds(THREE, appends=1, doubts=1)]

CONFIGURATIONS = QUICK | DEEP if IS_DEEP else QUICK
WALKS, WALK_STEPS = (1_000, 1_500) if IS_DEEP else (40, 800)


class Run(NamedTuple):
    """A world and what was found in it."""

    world: World
    explored: Explored


@cache
def run(bounds: Bounds, rules: Rules = SHIPPED) -> Run:
    """Explore, once; some of the states are kept."""
    world = World(bounds, rules)
    return Run(world, explore(world, sample_every=397))


@pytest.fixture(scope="module", autouse=True)
def _forgotten() -> Iterator[None]:
    """Let go of the worlds behind the last test: they would slow down what runs after it."""
    yield
    run.cache_clear()
    side_hash.cache_clear()


def report(what: str, explored: Explored) -> None:
    print(f"\n{what}: {explored}")


# --- the shipped protocol -------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_no_reachable_state_breaks_a_property(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    bounds = CONFIGURATIONS[name]
    world, explored = run(bounds)
    report(f"{name} ({bounds})", explored)
    record_property("states", explored.states)
    assert explored.violation is None, told(world, explored.trace, explored.violation)
    assert explored.states > 30_000


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_any_process_that_runs_alone_gets_to_write(name: str) -> None:
    world, explored = run(CONFIGURATIONS[name])
    turns: Counter[int] = Counter()
    for state in explored.sample:
        for process in range(len(world.bounds.writers)):
            for session in range(world.bounds.sessions):
                starts = [state, state._replace(bag=())]
                if world.process(state, process).position >= 0:
                    starts.append(world.crash(state, process))
                for start in starts:
                    turns[write_alone(world, start, process, session)] += 1
    print(f"\n{name}: {turns.total():,} lone runs, turns needed: {dict(sorted(turns.items()))}")
    assert turns.total() > 200


def test_all_that_the_model_speaks_of_happens() -> None:
    world, _ = run(QUICK["doubts and a crash"])
    sides = [world.sides[side] for side in range(world.sides.count)]
    releasing = run(QUICK["claims and a release"]).world.sides
    phases = {side.ownership.phase for side in sides}
    phases |= {releasing[side].ownership.phase for side in range(releasing.count)}
    assert phases == set(Phase) - {Phase.RELEASED, Phase.LOST}
    in_flight = {
        (side.ownership.phase, len(side.ownership._in_flight), bool(side.ownership._waiting))
        for side in sides
    }
    assert (Phase.SEALING, MAX_IN_FLIGHT, True) in in_flight
    assert (Phase.OWNING, MAX_IN_FLIGHT, True) in in_flight
    logs = [world.logs[number] for number in range(len(world.logs))]
    assert max(len(log.all_landed) for log in logs) >= 3
    owners = {append.owner for log in logs for append in log.all_landed}
    assert {owner.process for owner in owners} == {0, 1}


def test_a_reached_side_is_never_changed() -> None:
    for bounds in QUICK.values():
        assert run(bounds).world.sides.all_kept


def test_the_logs_of_the_model_are_what_a_reader_folds_from_their_bytes() -> None:
    world, _ = run(QUICK["three writers"])
    sides, logs = world.sides, world.logs
    for number in range(0, len(logs), 29):
        ledger = Ledger(NAMESPACE)
        for log in logs[number].begins[1:]:
            assert log.record is not None
            commit = sides.commits[log.record.code]
            verdict = ledger.fold(commit.session_id.encode(), encode_commit(commit))
            assert verdict.accepted == log.accepted
            assert ledger.heads == log.heads


@pytest.mark.parametrize("bounds", LITERAL, ids=str)
def test_the_short_state_leaves_nothing_out(bounds: Bounds) -> None:
    """A log that keeps what isn't accepted, read record by record, reaches the same."""
    reached = []
    for literal in (False, True):
        world = World(bounds._replace(literal=literal))
        found: set[object] = set()
        explored = explore(world, visit=partial(add_shortened, found, world))
        report(f"{world.bounds}", explored)
        assert explored.violation is None, told(world, explored.trace, explored.violation)
        reached.append(found)
    assert reached[0] == reached[1]


def add_shortened(found: set[object], world: World, state: State) -> None:
    found.add(shortened(world, state))


def shortened(world: World, state: State) -> object:
    """What two worlds can compare: what counts in the log, and all that the processes are."""
    log = world.logs[state.log]
    counts = [0]
    for begin in log.begins[1:]:
        counts.append(counts[-1] + begin.accepted)
    processes = tuple(
        (
            position if position < 0 else counts[position],
            tuple((ordinal, side_hash(world.sides, side)) for ordinal, side in slots),
        )
        for position, slots in (
            world.process(state, index) for index in range(len(state.processes))
        )
    )
    heads = tuple((id, head.hash) for id, head in sorted(log.heads.items()))
    return heads, counts[-1], processes, state.used


@cache
def side_hash(sides: Sides, side: int) -> int:
    return 0 if side == NO_SIDE else hash(sides[side].key())


def test_no_random_walk_breaks_a_property() -> None:
    total: Counter[str] = Counter()
    for seed in range(WALKS):
        total.update(Walk(seed).run(WALK_STEPS)._asdict())
    print(f"\n{WALKS} walks of {WALK_STEPS} steps: {dict(total)}")
    assert min(total.values()) > 10 * WALKS


def test_a_released_session_is_not_lost_to_who_takes_it_next() -> None:
    owner, next_owner = (Owner(process, 0, 1) for process in range(2))
    ledger, id = Ledger(NAMESPACE), session_id(0)
    first = ownership_of(owner, "w1")
    first.open(Header.new(id, 1), None)
    take(ledger, first)
    first.release()
    take(ledger, first)
    second = ownership_of(next_owner, "w2")
    second.claim(ledger.heads[id])
    take(ledger, second, first)
    assert (first.phase, second.phase) == (Phase.RELEASED, Phase.OWNING)


def ownership_of(owner: Owner, writer: str) -> Ownership:
    maker = CommitMaker(NAMESPACE, session_id(owner.session), writer, {})
    return Ownership(maker, Nonces(owner, True), lambda: 1_000)


def take(ledger: Ledger, writing: Ownership, *others: Ownership) -> None:
    """Deliver what is due, and have it read."""
    for commit in writing.due():
        assert ledger.judge(commit).accepted
        for ownership in (writing, *others):
            ownership.accepted(commit, ledger.heads[commit.session_id])


# --- each rule is needed --------------------------------------------------------------------------

_LITERAL = Bounds(TWO, literal=True)

NEEDED = {
    "no seal, sent again in another cut": (
        removed.NO_SEAL,
        _LITERAL,
        "reported as not landed, but it did land",
    ),
    "acknowledged at the delivery report": (
        removed.ANSWERED_BY_REPORT,
        _LITERAL,
        "acknowledged, and no reader sees it",
    ),
    "the seal stands at its delivery report": (
        removed.SEAL_BY_REPORT,
        _LITERAL,
        "reported as not landed, but it did land",
    ),
    "any record with the next seq counts": (
        removed.NO_PREV_HASH,
        _LITERAL,
        "reported as not landed, and landed",
    ),
    "the same nonce always": (
        removed.NO_NONCE,
        _LITERAL._replace(writers=ONE_ID),
        "stands there",
    ),
}


@pytest.mark.parametrize("name", NEEDED)
def test_without_a_rule_a_property_breaks(name: str) -> None:
    rules, bounds, expected = NEEDED[name]
    world, explored = run(bounds, rules)
    report(f"{name} ({bounds})", explored)
    print(told(world, explored.trace, explored.violation))
    assert explored.violation is not None
    assert expected in explored.violation
    assert explored.states < 10_000


def test_first_seq_is_a_second_check_that_changes_nothing() -> None:
    for bounds in (Bounds(TWO, starts=3), Bounds(TWO, appends=3, crashes=1)):
        with_it, without = run(bounds).explored, run(bounds, removed.NO_FIRST_SEQ).explored
        assert without.violation is None
        assert (with_it.states, with_it.steps, with_it.depth, with_it.sides) == (
            without.states,
            without.steps,
            without.depth,
            without.sides,
        )


@pytest.mark.parametrize("bounds", [Bounds(TWO, appends=3), *SAME_BYTES], ids=str)
def test_the_very_same_commits_may_be_sent_again_without_a_seal(bounds: Bounds) -> None:
    """The same record twice is harmless by its hash; a seal is for events that are cut anew."""
    world, explored = run(bounds, removed.NO_SEAL_SAME_BYTES)
    report(f"no seal, the same bytes again ({bounds})", explored)
    assert explored.violation is None, told(world, explored.trace, explored.violation)
    kinds = Counter(commit.kind for commit in world.sides.commits)
    assert kinds[Kind.EVENTS] > 10
