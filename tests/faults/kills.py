"""Writers killed at named points while work is in flight, each taken over by the next."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

from tests.faults.broker import Broker, Outcome
from tests.faults.children import Child, wait_until
from tests.faults.diary import read_diary
from tests.faults.judge import outside, wrong
from tests.faults.life import Plan, live

__all__ = ["POINTS", "run_kills"]

POINTS: dict[str, int] = {
    "writer.before-produce.open": 3,
    "writer.after-produce.open": 3,
    "writer.before-produce.claim": 3,
    "writer.after-produce.claim": 3,
    "writer.before-produce.release": 3,
    "writer.after-produce.release": 3,
    "writer.before-produce.events": 30,
    "writer.after-produce.events": 30,
    "writer.before-read-back": 40,
    "writer.before-answer": 40,
    "writer.before-hint": 8,
    "store.between-repair-and-end-seed": 2,
    "writer.before-seal": 2,
    "seal/writer.before-produce.claim": 2,
    "seal/writer.after-produce.claim": 2,
    "fork/writer.before-produce.open": 2,
    "fork/writer.after-produce.open": 2,
    "fork/writer.before-produce.events": 6,
    "fork/writer.after-produce.events": 6,
    "fork/writer.before-answer": 6,
    "fork/writer.before-hint": 4,
}
"""Each failpoint, and the pass up to which a kill is drawn: one that most lives come to."""

_BATCH = 40
"""Kills in one namespace, before its log is judged."""

_PAUSE_S = 0.9
_READ_BACK_S = 0.3


def run_kills(
    broker: Broker, folder: Path, *, runs: int, seed: int, points: Sequence[str] = tuple(POINTS)
) -> Outcome:
    """Kill so many writers, at each point in turn."""
    outcome = Outcome()
    draw = random.Random(seed)
    turn = cycle(points)
    batch = 0
    while outcome.runs < runs:
        upto = min(runs, outcome.runs + _BATCH)
        _run_batch(broker, folder / f"kills-{batch}", outcome, upto, draw, turn)
        batch += 1
    return outcome


def _run_batch(
    broker: Broker,
    diary: Path,
    outcome: Outcome,
    upto: int,
    draw: random.Random,
    turn: Iterator[str],
) -> None:
    namespace = broker.new_namespace()
    lives = 0

    def plan(point: str | None, nth: int) -> Plan:
        nonlocal lives
        lives += 1
        is_fork, is_seal = (point or "").startswith("fork/"), "seal" in (point or "")
        return Plan(
            bootstrap=broker.bootstrap,
            namespace=namespace,
            diary=diary,
            name=f"l{lives}",
            seed=draw.getrandbits(32),
            point=point,
            nth=nth,
            # A fork is alone, so that the passes are its own.
            mains=() if is_fork else ("s0", "s1"),
            rounds=400 if is_seal else 12,
            stop=diary.with_suffix(f".{lives}"),
            read_back_s=_READ_BACK_S if is_seal else 30.0,
        )

    while outcome.runs < upto:
        point = next(turn)
        nth = draw.randrange(1, POINTS[point] + 1)
        while not _is_killed(broker, plan(point, nth), outcome):
            if nth == 1:
                outcome.wrong.append(f"{point}: not reached")
                return
            nth //= 2
        outcome.runs += 1
        outcome.hits[point] += 1
    with Child(live, plan(None, 0)) as last:
        if last.end() != 0:
            outcome.wrong.append("the last life did not end well: its error stands above")
    found = outside(broker.bootstrap, namespace)
    outcome.wrong += wrong(read_diary(diary), found)


def _is_killed(broker: Broker, plan: Plan, outcome: Outcome) -> bool:
    """Live one life; gives whether it came to its failpoint."""
    with Child(live, plan) as child:
        if plan.point is not None and "seal" in plan.point:
            _unsettle(broker, child, plan)
        code = child.end()
    if code == -signal.SIGKILL:
        return True
    if code is None:
        outcome.wrong.append(f"{plan.point}: a life hung")
    elif code != 0:
        outcome.wrong.append(f"{plan.point}: a life failed: its error stands above")
    return False


def _unsettle(broker: Broker, child: Child, plan: Plan) -> None:
    """Pause the broker under a life that works, again and again, so that it seals."""
    for _ in range(3):
        lines = len(read_diary(plan.diary))
        wait_until(
            lambda lines=lines: (
                child.exit_code is not None  # type: ignore[misc]
                or len(read_diary(plan.diary)) > lines + 10
            ),
            "a life that works",
        )
        if child.exit_code is None:
            broker.pause(_PAUSE_S)
