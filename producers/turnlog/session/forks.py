"""Fork: what a child inherits of a stored log, and how its header and its birth name the parent."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.events.header import check_session_id
from turnlog.events.vocabulary import Registry
from turnlog.kernel.fork import child_header, plan_fork
from turnlog.kernel.log import Log
from turnlog.kernel.restore import Restored, restore

from .ports import ForkOrigin, StoredLog

__all__ = ["Child", "ForkRequest", "plan_child"]


class ForkRequest(NamedTuple):
    """What the caller of a fork asks for; of the child, what its header takes from the caller."""

    boundary: int | str | None
    child_id: str
    origin: str | None
    agent_preset: str | None
    delegation_depth: int | None


class Child(NamedTuple):
    """A child before anything of it is written: its seed, checked, and its origin."""

    restored: Restored
    origin: ForkOrigin


def plan_child(parent: StoredLog, asked: ForkRequest, registry: Registry, now_ms: int) -> Child:
    """Plan the child of a stored log; pure.

    Raises BadSessionId, InvalidBoundary, OpenTurn, UnknownRequiredType, RestoreRefused.
    """
    plan = plan_fork(Log(parent.header, tuple(parent.rows)), asked.boundary)
    header = child_header(
        plan,
        check_session_id(asked.child_id),
        now_ms,
        origin=asked.origin,
        agent_preset=asked.agent_preset,
        delegation_depth=asked.delegation_depth,
    )
    origin = ForkOrigin(parent.header.id, plan.boundary, parent.hash_at(plan.boundary))
    return Child(restore(header, plan.rows, registry), origin)
