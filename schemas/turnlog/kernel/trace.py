"""Event traces: what an event replaced and was replaced by, what it cites and what cites it."""

from __future__ import annotations

from typing import Any

import msgspec

from turnlog.events.error_text import shown
from turnlog.events.errors import BadShape
from turnlog.events.event import Event
from turnlog.events.gate import is_seq

from .lenient import items_of
from .log import Log
from .surface_history import SurfaceHistory, SurfaceState

__all__ = ["EventTrace", "EventTraces", "trace_event"]


class EventTrace(msgspec.Struct, frozen=True, gc=False):
    """The place of one event in its log, as seqs.

    `replaced_by` is the next replace alone, `replacement_chain` leads from it to the last;
    `replaced_event_seqs` is what its own replace shadowed, in Surface order; `source_event_seqs` is
    as recorded; `derived_event_seqs` are the later events that cite it, in log order.
    """

    seq: int
    surface: SurfaceState
    replaced_by: int | None
    replacement_chain: tuple[int, ...]
    replaced_event_seqs: tuple[int, ...]
    source_event_seqs: tuple[int, ...]
    derived_event_seqs: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """The trace as JSON, without its own seq."""
        return {
            "surface": str(self.surface),
            "replacedBy": self.replaced_by,
            "replacementChain": list(self.replacement_chain),
            "replacedEventSeqs": list(self.replaced_event_seqs),
            "sourceEventSeqs": list(self.source_event_seqs),
            "derivedEventSeqs": list(self.derived_event_seqs),
        }


class EventTraces:
    """The traces of one log, begun with a log or empty and grown event by event.

    Memory follows the citations of the log, not its events.
    """

    def __init__(self, log: Log | None = None) -> None:
        self._history = SurfaceHistory()
        self._next_seq = 0
        self._sources: dict[int, tuple[int, ...]] = {}
        self._derived: dict[int, list[int]] = {}
        for row in () if log is None else log.rows:
            if row.packed:
                self._next_seq = row.first_seq + row.count
            else:
                for event in row.events():
                    self.fold(event)

    def fold(self, event: Event) -> None:
        """Take the next event."""
        self._history.fold(event)
        self._next_seq = event.seq + 1
        sources = tuple(int(item) for item in items_of(event.sources_value) if is_seq(item))
        if sources:
            self._sources[event.seq] = sources
        for seq in dict.fromkeys(sources):
            if seq < event.seq:
                self._derived.setdefault(seq, []).append(event.seq)

    def trace(self, seq: int) -> EventTrace:
        """The trace of the event at a seq, as the log stands now.

        Raises BadShape where the log has no such event.
        """
        if not is_seq(seq) or seq >= self._next_seq:
            raise BadShape("seq", f"a seq below {self._next_seq}", shown(seq))
        chain: list[int] = []
        replaced_by = self._history.replaced_by(seq)
        while replaced_by is not None:
            chain.append(replaced_by)
            replaced_by = self._history.replaced_by(replaced_by)
        return EventTrace(
            seq,
            self._history.state(seq),
            self._history.replaced_by(seq),
            tuple(chain),
            self._history.shadowed(seq),
            self._sources.get(seq, ()),
            tuple(self._derived.get(seq, ())),
        )


def trace_event(log: Log, seq: int) -> EventTrace:
    """The trace of one event of a log; for many questions make EventTraces once.

    Raises BadShape where the log has no such event.
    """
    return EventTraces(log).trace(seq)
