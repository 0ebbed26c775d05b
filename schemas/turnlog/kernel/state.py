"""The hot state of a session: next seq and Surface, all that an append waits for."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import msgspec

from turnlog.events.errors import BadCheckpoint, BadShape
from turnlog.events.event import Event
from turnlog.events.vocabulary import SURFACE_TYPES

from .surface import Surface, SurfaceChange

__all__ = ["FOLD_VERSION", "STATE_VERSION", "SessionState"]

STATE_VERSION = 1
"""The layout of a saved state. Raise it when a field is added, renamed, or read differently."""

FOLD_VERSION = 1
"""The rules of the fold. Raise it when the same events could give another state."""


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    """A checkpoint's fields; `results` maps a result node's seq to its digest in hex."""

    state_version: int
    fold_version: int
    next_seq: int
    nodes: list[int]
    results: dict[str, str]
    replace_generation: int


class _Versions(msgspec.Struct):
    state_version: int
    fold_version: int


class SessionState:
    """The next seq and the Surface of one session.

    `apply` takes one event or a batch, all or nothing. Same events, same state, however split.
    """

    def __init__(self) -> None:
        self._next_seq = 0
        self._surface = Surface()

    @property
    def next_seq(self) -> int:
        """The seq that the next event must have: the length of the log."""
        return self._next_seq

    @property
    def nodes(self) -> tuple[int, ...]:
        """The seqs on the Surface, in its order."""
        return self._surface.nodes

    @property
    def replace_generation(self) -> int:
        """The number of replaces so far."""
        return self._surface.replace_generation

    @property
    def node_count(self) -> int:
        """The number of nodes on the Surface."""
        return self._surface.node_count

    def nodes_from(self, position: int) -> list[int]:
        """The seqs from a position of the Surface on, a new list."""
        return self._surface.nodes_from(position)

    def apply(self, events: Event | Iterable[Event]) -> list[SurfaceChange]:
        """Add an event, or several in order: all of them or none. Gives the Surface changes.

        Raises BadShape for a seq that is not the next, SurfaceRefused; the state is then as before.
        """
        if isinstance(events, Event):
            return self._apply_one(events)
        batch = events if isinstance(events, list) else list(events)
        if len(batch) == 1:
            return self._apply_one(batch[0])
        on_surface = sum(event.chunk is None and event.type in SURFACE_TYPES for event in batch)
        # A refused batch leaves no trace: more than one change is tried on a copy first.
        target = self._surface.copy() if on_surface > 1 else self._surface
        next_seq = self._next_seq
        changes: list[SurfaceChange] = []
        for event in batch:
            if event.seq != next_seq:
                raise _wrong_seq(event, next_seq)
            next_seq += 1
            if event.chunk is not None:
                continue
            change = target.plan(event)
            if change is not None:
                changes.append(change)
                if target is not self._surface:
                    target.apply(change)
        if target is not self._surface:
            self._surface = target
        elif changes:
            target.apply(changes[0])
        self._next_seq = next_seq
        return changes

    def skip(self, count: int) -> None:
        """Add `count` log-only events at once: the members of a packed row."""
        self._next_seq += count

    def copy(self) -> SessionState:
        """A state of its own that equals this one."""
        other = SessionState()
        other._next_seq = self._next_seq
        other._surface = self._surface.copy()
        return other

    def save(self) -> bytes:
        """The state as a checkpoint: JSON with the versions of its layout and its fold."""
        saved = self._surface.save()
        return msgspec.json.encode(
            _Saved(
                state_version=STATE_VERSION,
                fold_version=FOLD_VERSION,
                next_seq=self._next_seq,
                nodes=saved["nodes"],
                results=saved["results"],
                replace_generation=saved["replaceGeneration"],
            )
        )

    @classmethod
    def load(cls, data: bytes) -> SessionState:
        """The state of a checkpoint.

        Raises BadCheckpoint where it is unreadable, of another layout or fold, or contradicts
        itself; the state is then rebuilt from the log.
        """
        try:
            versions = msgspec.json.decode(data, type=_Versions)
            if (versions.state_version, versions.fold_version) != (STATE_VERSION, FOLD_VERSION):
                raise BadCheckpoint(
                    f"expected state and fold version {STATE_VERSION} and {FOLD_VERSION}, "
                    f"found {versions.state_version} and {versions.fold_version}"
                )
            saved = msgspec.json.decode(data, type=_Saved)
            results = {int(seq): bytes.fromhex(digest) for seq, digest in saved.results.items()}
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise BadCheckpoint(str(error)) from None
        if not _is_possible(saved, results):
            raise BadCheckpoint("its fields contradict each other")
        state = cls()
        state._next_seq = saved.next_seq
        state._surface = Surface.load(saved.nodes, results, saved.replace_generation)
        return state

    def _apply_one(self, event: Event) -> list[SurfaceChange]:
        if event.seq != self._next_seq:
            raise _wrong_seq(event, self._next_seq)
        if event.chunk is not None:  # a delta is log-only: most events, and nothing to plan
            self._next_seq += 1
            return []
        change = self._surface.plan(event)
        self._surface.apply(change)
        self._next_seq += 1
        return [] if change is None else [change]


def _is_possible(saved: _Saved, results: dict[int, bytes]) -> bool:
    """Tell whether a log of that length can give this Surface by that number of replaces."""
    nodes, next_seq, replaces = saved.nodes, saved.next_seq, saved.replace_generation
    distinct = set(nodes)
    if len(distinct) != len(nodes) or any(not 0 <= seq < next_seq for seq in distinct):
        return False
    if {str(seq): digest.hex() for seq, digest in results.items()} != saved.results:
        return False  # keys or digests in another form than `save` gives
    if not results.keys() <= distinct or any(len(digest) != 32 for digest in results.values()):
        return False
    # A replace is an event, takes a node or more and leaves one. So there were as many appends as
    # there are nodes, and one if a replace began; and only a replace stands before an older node.
    descents = sum(one > next_ for one, next_ in pairwise(nodes))
    return (
        next_seq >= 0
        and descents <= replaces
        and (replaces == 0 or 0 < len(nodes) <= next_seq - replaces)
    )


def _wrong_seq(event: Event, next_seq: int) -> BadShape:
    return BadShape("seq", str(next_seq), str(event.seq))
