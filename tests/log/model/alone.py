"""Whether a process that runs alone gets to write."""

from __future__ import annotations

from turnlog.log.ownership import Phase

from .scope import Append, Owner, Violation
from .sides import NO_SIDE
from .world import State, World

__all__ = ["write_alone"]

_MOST_TURNS = 20
_MOST_DOUBTS = 2


def write_alone(world: World, state: State, process: int, session: int) -> int:
    """Run one process until an event that it is asked for now is acknowledged, and then released.

    The others do nothing. What the process produces now is delivered at once; of what was produced
    before only its own comes, or stays out for good where the bag is empty. Gives the number of its
    turns. Raises Violation.
    """
    wanted: Append | None = None
    doubts = 0
    for turn in range(1, _MOST_TURNS + 1):
        state = _settled(world, state, process, session)
        ordinal, number = world.process(state, process).slots[session]
        if number == NO_SIDE:
            head = world.logs[state.log].head(session)
            if wanted is not None and head is not None and head.released:
                return turn
            wanted = None
            state = world.start(state, process, session)
            continue
        side = world.sides[number]
        writes = side.ownership.phase in (Phase.OWNING, Phase.SEALING)
        if wanted is not None and wanted not in side.unanswered:
            if side.ownership.is_waiting:
                raise Violation("all is answered, and something waits")
            state = world.release(state, process, session)
        elif wanted is None and writes and side.next_seq is not None:
            wanted = Append(Owner(process, session, ordinal), side.next_seq)
            state = world.append(state, process, session)
        elif side.ownership.is_waiting and doubts < _MOST_DOUBTS:
            doubts += 1
            state = world.doubt(state, process, session)
    raise Violation(f"process {process + 1} alone does not get to write")


def _settled(world: World, state: State, process: int, session: int) -> State:
    """The state after the process has read all, what it then produces included."""
    while True:
        position, slots = world.process(state, process)
        if 0 <= position < len(world.logs[state.log]):
            state = world.read(state, process)
            continue
        owner = Owner(process, session, slots[session][0])
        for number in state.bag:
            after = world.deliver(state, number)
            if after is not state and world.sides.records[number].owner == owner:
                state = after
                break
        else:
            return state
