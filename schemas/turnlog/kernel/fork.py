"""Fork: which events of a session become a child's seed, and the child's header (section 9)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from turnlog.events.errors import InvalidBoundary, OpenTurn
from turnlog.events.event import Event
from turnlog.events.gate import is_seq
from turnlog.events.header import Header
from turnlog.events.rows import Row

from .log import Log

__all__ = ["LAST_CLOSED_TURN", "ForkPlan", "child_header", "plan_fork"]

LAST_CLOSED_TURN = "last-closed-turn"
"""The boundary that trims: the end of the last turn that has one."""


class ForkPlan(msgspec.Struct, frozen=True):
    """What a child inherits: the parent's first `seed_length` events, as rows; immutable.

    `boundary` is the seq of the last of them, None where there are none. The end-seed that follows
    them in the child is not in the plan.
    """

    parent: Header
    boundary: int | None
    rows: tuple[Row, ...]

    @property
    def seed_length(self) -> int:
        """The number of inherited events."""
        return 0 if self.boundary is None else self.boundary + 1


def plan_fork(log: Log, boundary: Any = None) -> ForkPlan:
    """Plan a fork of a dense log: its events up to and including `boundary`.

    `boundary` is a seq of the log (1.0 is 1), None for the last one, or LAST_CLOSED_TURN. An empty
    log may be forked by None, and a log without a closed turn by LAST_CLOSED_TURN: nothing is
    inherited.

    Raises InvalidBoundary for anything else, and OpenTurn where the last turn marker up to the
    boundary is a `turn/start`.
    """
    next_seq = log.next_seq
    if boundary is None:
        last = next_seq - 1
    elif is_seq(boundary) and boundary < next_seq:
        last = int(boundary)
    elif boundary == LAST_CLOSED_TURN:
        found = _last_of(log.rows, {"turn/end"})
        last = -1 if found is None else found.seq
    else:
        raise InvalidBoundary(boundary, next_seq)
    if last < 0:
        return ForkPlan(log.header, None, ())
    stop = bisect_right(log.rows, last, key=_first_seq)
    found = _last_of(log.rows, {"turn/start", "turn/end"}, stop)
    if found is not None and found.type == "turn/start":
        raise OpenTurn(last, found.seq)
    return ForkPlan(log.header, last, log.prefix(last + 1).rows)


def child_header(
    plan: ForkPlan,
    id: str,
    created_at_ms: int,
    *,
    origin: str | None = None,
    agent_preset: str | None = None,
    delegation_depth: int | None = None,
) -> Header:
    """Make the header of the child: the parent's id and `cwd`, and none of its capabilities.

    `origin`, `agent_preset` and `delegation_depth` are the caller's; a sub-agent that is given no
    depth gets its parent's plus 1. `created_at_ms` is epoch milliseconds.

    Raises BadSessionId, NotLossless and BadShape.
    """
    parent = plan.parent
    if origin == "subagent" and delegation_depth is None:
        delegation_depth = (parent.delegation_depth or 0) + 1
    return Header.new(
        id,
        created_at_ms,
        cwd=parent.cwd,
        parentSession=parent.id,
        seedLength=plan.seed_length,
        origin=origin,
        delegationDepth=delegation_depth,
        agentPreset=agent_preset,
    )


def _last_of(rows: Sequence[Row], types: Collection[str], stop: int | None = None) -> Event | None:
    """Find the last event of these types in the rows below the index `stop`.

    Reads backwards, so the cost is the distance; packed rows hold no marker and are not read.
    """
    for row in reversed(rows[:stop]):
        if not row.packed:
            event = row.events()[0]
            if event.type in types:
                return event
    return None


def _first_seq(row: Row) -> int:
    return row.first_seq
