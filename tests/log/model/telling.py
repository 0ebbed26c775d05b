"""A trace in words: what each step did, by what it changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from .scope import Record
from .sides import NO_SIDE
from .world import State, World

__all__ = ["told"]


def told(world: World, trace: Sequence[State], violation: str | None) -> str:
    """The steps of a trace, numbered, and the violation that the last one leads to."""
    lines = []
    for before, after in pairwise(trace):
        lines.append("; ".join(_step(world, before, after)))
    if world.doing is not None and violation is not None:
        reader, record = world.doing
        who = "the log gets" if reader is None else f"process {reader + 1}: reads"
        lines.append(f"{who} {_record(world, record)}")
        lines.append(f"violation: {violation}")
    return "\n".join(f"{number:3} {line}" for number, line in enumerate(lines, 1))


def _step(world: World, before: State, after: State) -> Iterator[str]:
    did = [
        name
        for name, old, new in zip(
            ("open or claim", "append", "doubt", "release", "crash"),
            before.used,
            after.used,
            strict=True,
        )
        if new > old
    ]
    if after.log != before.log:
        log = world.logs[after.log]
        verdict = "accepted" if log.accepted else "not accepted"
        record = log.record
        assert record is not None
        yield f"the log gets {_record(world, record)}: {verdict}"
    for index in range(len(before.processes)):
        position, slots = world.process(before, index)
        new_position, new_slots = world.process(after, index)
        if (position, slots) == (new_position, new_slots):
            continue
        what = list(did)
        if 0 <= position < new_position:
            record = world.logs[after.log].begins[new_position].record
            assert record is not None
            what.append(f"reads {_record(world, record)}")
        elif new_position < 0 <= position and not did:
            what.append("reads on, and is done")
        for (_, side), (_, new_side) in zip(slots, new_slots, strict=True):
            if side != new_side:
                phase = "-" if new_side == NO_SIDE else world.sides[new_side].ownership.phase
                what.append(f"now {phase}")
        yield f"process {index + 1}: {', '.join(what)}"
    produced = list(after.bag)
    for number in before.bag:
        if number in produced:
            produced.remove(number)
    for number in produced:
        yield f"produces {_record(world, world.sides.records[number])}"


def _record(world: World, record: Record) -> str:
    commit = world.sides.commits[record.code]
    seqs = f" {commit.first_seq}..{commit.next_seq - 1}" if commit.event_count else ""
    return f"#{record.code} {commit.kind.value}{seqs} by process {record.owner.process + 1}"
