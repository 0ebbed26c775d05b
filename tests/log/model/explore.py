"""Breadth first through all states, and the shortest trace to a violation."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from .scope import Violation
from .world import State, World

__all__ = ["Explored", "explore"]


class Explored(NamedTuple):
    """What was seen: all states that are reachable, unless a violation or a limit ended it."""

    states: int
    steps: int
    depth: int
    sides: int
    seconds: float
    violation: str | None
    trace: tuple[State, ...]
    sample: tuple[State, ...]

    def __str__(self) -> str:
        """Say it in one line."""
        return (
            f"{self.states:,} states, {self.steps:,} steps, depth {self.depth}, "
            f"{self.sides:,} sides of writers, {self.seconds:.1f} s"
        )


def explore(
    world: World,
    *,
    sample_every: int | None = None,
    visit: Callable[[State], object] = lambda state: None,
) -> Explored:
    """Visit each reachable state once, and end at the first violation; keeps each n-th state."""
    with _undisturbed():
        return _explored(world, sample_every, visit, time.process_time())


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep the garbage collector and the trace function out: they take more time than all else.

    Nothing here is in a cycle, and what coverage would find, other tests have to show.
    """
    was_collecting, trace = gc.isenabled(), sys.gettrace()
    gc.disable()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(trace)
        if was_collecting:
            gc.enable()


def _explored(
    world: World, sample_every: int | None, visit: Callable[[State], object], began: float
) -> Explored:
    first = world.first()
    parent_of: dict[State, State | None] = {first: None}
    frontier = [first]
    steps = depth = 0
    violation = None
    trace: tuple[State, ...] = ()
    while frontier and violation is None:
        found: list[State] = []
        for state in frontier:
            visit(state)
            try:
                for after in world.next(state):
                    steps += 1
                    if after not in parent_of:
                        parent_of[after] = state
                        found.append(after)
            except Violation as error:
                violation, trace = str(error), _trace(parent_of, state)
                break
        frontier = found
        depth += bool(found)
    sample = tuple(islice(parent_of, 0, None, sample_every)) if sample_every else ()
    seconds = time.process_time() - began
    return Explored(
        len(parent_of), steps, depth, world.sides.count, seconds, violation, trace, sample
    )


def _trace(parent_of: dict[State, State | None], state: State) -> tuple[State, ...]:
    states = [state]
    while (parent := parent_of[states[-1]]) is not None:
        states.append(parent)
    return tuple(reversed(states))
