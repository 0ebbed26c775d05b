"""The Surface: the ordered seqs that the model sees now, changed by append and replace.

`plan` decides and changes nothing, `commit` applies a plan. Rules: semantics.md section 3.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

from turnlog.events.errors import BadShape, SurfaceRefused
from turnlog.events.event import Event, Replace
from turnlog.events.jsontext import dumps, is_list, is_object
from turnlog.events.vocabulary import SURFACE_TYPES

from .log import Log

__all__ = ["Surface", "SurfaceChange", "result_identity", "surface_of"]


class SurfaceChange(NamedTuple):
    """One planned change: the event's seq goes to `place`, in the place of `shadowed`."""

    seq: int
    place: int
    shadowed: tuple[int, ...]
    identity: bytes | None

    @property
    def replaces(self) -> bool:
        """Whether this is a replace; an append shadows nothing."""
        return bool(self.shadowed)


class Surface:
    """The Surface of one session.

    Of each `tool/result` node it keeps a digest of all that a replacing result may not change, so a
    replace is checked without reading the log.
    """

    def __init__(self) -> None:
        self._nodes: list[int] = []
        self._identities: dict[int, bytes | None] = {}
        self._replace_generation = 0

    @property
    def nodes(self) -> tuple[int, ...]:
        """The seqs in Surface order."""
        return tuple(self._nodes)

    @property
    def replace_generation(self) -> int:
        """The number of replaces so far."""
        return self._replace_generation

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return len(self._nodes)

    def __contains__(self, seq: object) -> bool:
        return seq in self._identities

    def nodes_from(self, position: int) -> list[int]:
        """The seqs from a position of the Surface on, a new list."""
        return self._nodes[position:]

    def plan(self, event: Event) -> SurfaceChange | None:
        """Decide what an event does to the Surface; None for a log-only event. Changes nothing.

        Raises SurfaceRefused.
        """
        if event.type not in SURFACE_TYPES:
            if event.surface_value is not None or event.sources_value is not None:
                raise _refuse(event, f"{event.type} carries neither surfaceOp nor sourceEventSeqs")
            return None
        try:
            operation, sources = event.surface, event.sources
        except BadShape as error:
            raise _refuse(event, str(error)) from None
        if operation is None:
            raise _refuse(event, f"{event.type} must carry a surfaceOp")
        if event.seq in self._identities:  # two nodes of one seq could not be told apart
            raise _refuse(event, "an event of this seq stands on the Surface already")
        _check_sources(event, sources)
        identity = result_identity(event.data) if event.type == "tool/result" else None
        if isinstance(operation, Replace):
            start, end = self._range(event, operation)
            shadowed = tuple(self._nodes[start : end + 1])
            self._check_replace(event, shadowed, sources, identity)
            return SurfaceChange(event.seq, start, shadowed, identity)
        return SurfaceChange(event.seq, len(self._nodes), (), identity)

    def apply(self, change: SurfaceChange | None) -> None:
        """Apply a change that was planned on this very state."""
        if change is None:
            return
        if change.shadowed:
            end = change.place + len(change.shadowed)
            self._nodes[change.place : end] = [change.seq]
            for seq in change.shadowed:
                del self._identities[seq]
            self._replace_generation += 1
        else:
            self._nodes.append(change.seq)
        self._identities[change.seq] = change.identity

    def _range(self, event: Event, operation: Replace) -> tuple[int, int]:
        for name, seq in (("start", operation.start), ("end", operation.end)):
            if seq not in self._identities:
                raise _refuse(event, f"replace {name}: expected a seq on the Surface, found {seq}")
        start, end = self._nodes.index(operation.start), self._nodes.index(operation.end)
        if start > end:
            raise _refuse(event, f"replace start {operation.start} stands after {operation.end}")
        return start, end

    def _check_replace(
        self,
        event: Event,
        shadowed: tuple[int, ...],
        sources: tuple[int, ...] | None,
        identity: bytes | None,
    ) -> None:
        missing = set(shadowed).difference(sources or ())
        if missing:
            raise _refuse(event, f"a replace cites what it shadows, not cited: {min(missing)}")
        if identity is None:
            return
        if len(shadowed) != 1:
            raise _refuse(event, f"a result replaces one result, found {len(shadowed)} nodes")
        before = self._identities[shadowed[0]]
        if before is None:
            raise _refuse(event, f"a result replaces a result, {shadowed[0]} is none")
        if before != identity:
            raise _refuse(event, "a replacing result differs in more than its block's content")

    def save(self) -> dict[str, Any]:
        """The state as JSON, for a checkpoint."""
        return {
            "nodes": list(self._nodes),
            "results": {
                str(seq): identity.hex()
                for seq in self._nodes
                if (identity := self._identities[seq]) is not None
            },
            "replaceGeneration": self._replace_generation,
        }

    @classmethod
    def load(cls, nodes: list[int], results: dict[int, bytes], replace_generation: int) -> Surface:
        """The state from its parts; `results` maps each result node to its digest."""
        surface = cls()
        surface._nodes = list(nodes)
        surface._identities = {seq: results.get(seq) for seq in nodes}
        surface._replace_generation = replace_generation
        return surface

    def copy(self) -> Surface:
        """A Surface of its own in the same state."""
        other = Surface()
        other._nodes = self._nodes.copy()
        other._identities = self._identities.copy()
        other._replace_generation = self._replace_generation
        return other


def surface_of(log: Log, at: int | None = None) -> Surface:
    """Fold the Surface of a log after its events below `at` (exclusive; None for all).

    Raises SurfaceRefused at the first event that does not fit.
    """
    surface = Surface()
    for row in log.rows:
        if at is not None and row.first_seq >= at:
            break
        if not row.packed:
            for event in row.events():
                surface.apply(surface.plan(event))
    return surface


def result_identity(data: Any) -> bytes:
    """Digest all of a `tool/result`'s data but the content of its block, numbers by value.

    Equal digests mean deep-equal fields: 1 equals 1.0, `true` does not, key order is ignored. Data
    that has no such block is digested whole.
    """
    try:
        del data["message"]["content"][0]["content"]
    except (LookupError, TypeError):
        pass
    return sha256(_canonical(data)).digest()


def _canonical(data: Any) -> bytes:
    """JSON text that is equal for deep-equal values; `data` is consumed."""
    stack = [data]
    while stack:
        value = stack.pop()
        if is_object(value):
            for key in sorted(value):
                value[key] = _canonical_number(value.pop(key))
            stack.extend(value.values())
        elif is_list(value):
            value[:] = map(_canonical_number, value)
            stack.extend(value)
    return dumps(_canonical_number(data))


def _canonical_number(value: Any) -> Any:
    return int(value) if type(value) is float and value.is_integer() else value


def _check_sources(event: Event, sources: tuple[int, ...] | None) -> None:
    if sources is None:
        return
    if not sources and event.type != "assistant/message":
        raise _refuse(event, "an empty sourceEventSeqs is for assistant/message alone")
    if len(set(sources)) != len(sources):
        raise _refuse(event, "sourceEventSeqs names a seq twice")
    if sources and max(sources) >= event.seq:
        raise _refuse(event, f"sourceEventSeqs cites {max(sources)}, which is not before the event")


def _refuse(event: Event, reason: str) -> SurfaceRefused:
    return SurfaceRefused(reason, seq=event.seq)
