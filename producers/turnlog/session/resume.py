"""Resume: what a stored log must be to be gone on with, and the events that close its open turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from turnlog.events.admit import admit_all
from turnlog.events.errors import BadShape, PresetMismatch, RestoreRefused
from turnlog.events.event import Draft
from turnlog.events.vocabulary import Registry
from turnlog.kernel.log import Log
from turnlog.kernel.repair import repair as plan_repair
from turnlog.kernel.restore import Restored, restore

from .ports import StoredLog

__all__ = ["Resumed", "plan_resume"]

_OPENED_BY = {"tool/result": "assistant/message", "step/end": "step/start"}


class Resumed(NamedTuple):
    """A restored log before anything is appended, and the events that repair it."""

    restored: Restored
    closers: Sequence[Draft]


def plan_resume(
    id: str, stored: StoredLog, registry: Registry, *, repair: bool, preset: str | None
) -> Resumed:
    """Check that a stored log can be gone on with, and plan its repair; pure.

    Raises RestoreRefused, UnknownRequiredType, PresetMismatch, and MissingField or RestoreRefused
    where an open turn has no number to close it by.
    """
    restored = restore(stored.header, stored.rows, registry, id=id)
    recorded = restored.header.agent_preset
    if preset is not None and preset != recorded:
        raise PresetMismatch(recorded, preset)
    closers = plan_repair(restored.log) if repair else []
    for index, closer in enumerate(closers):
        try:
            admit_all([closer], restored.first_live_seq + index, 0, registry)
        except BadShape as error:
            seq = _opened_at(restored.log, closer, error.field)
            raise RestoreRefused(seq, f"its {closer.type} can't be repaired: {error}") from None
    return Resumed(restored, closers)


def _opened_at(log: Log, closer: Draft, field: str) -> int | None:
    """The seq of the event whose number a closer was refused for."""
    type_ = "turn/start" if field.endswith("turn") else _OPENED_BY.get(closer.type)
    for row in reversed(log.rows):
        if not row.packed and (event := row.events()[0]).type == type_:
            return event.seq
    return None
