"""Session traces: the ancestors and descendants of a session among the headers that are known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from turnlog.events.errors import LineageCycle, UnknownSession
from turnlog.events.header import Header

__all__ = ["Descendant", "Lineage", "trace_session"]


class Descendant(NamedTuple):
    """One session below the target; its own children have `depth` 1."""

    id: str
    depth: int


class Lineage(msgspec.Struct, frozen=True, gc=False):
    """The family of one session.

    `ancestors` lead outward from the parent. `descendants` is the tree in pre-order: the children
    of an entry are those after it that are one deeper, up to the next that is not deeper. Either
    `root` is known, or `unresolved_parent_id` is the first parent without a header.
    """

    target: str
    ancestors: tuple[str, ...]
    descendants: tuple[Descendant, ...]
    root: str | None
    unresolved_parent_id: str | None

    @property
    def complete(self) -> bool:
        """Whether the ancestors reach a root."""
        return self.unresolved_parent_id is None

    def to_json(self) -> dict[str, Any]:
        """The lineage as JSON, descendants as nested objects, however deep."""
        children: list[Any] = []
        open_lists = [children]
        for descendant in self.descendants:
            del open_lists[descendant.depth :]
            node: dict[str, Any] = {"id": descendant.id, "descendants": []}
            open_lists[-1].append(node)
            open_lists.append(node["descendants"])
        value: dict[str, Any] = {
            "target": self.target,
            "ancestors": list(self.ancestors),
            "descendants": children,
            "complete": self.complete,
        }
        if self.unresolved_parent_id is None:
            value["root"] = self.root
        else:
            value["unresolvedParentId"] = self.unresolved_parent_id
        return value


def trace_session(headers: Iterable[Header], id: str) -> Lineage:
    """Trace a session through the headers of all known ones; of a repeated id the last counts.

    Children are in the order of `created_at_ms`, then of the id by code point.

    Raises UnknownSession for an id without a header, LineageCycle for ancestors in a circle.
    """
    by_id = {header.id: header for header in headers}
    if id not in by_id:
        raise UnknownSession(id)
    ancestors: list[str] = []
    seen = {id}
    last = by_id[id]
    unresolved: str | None = None
    while last.parent_session is not None and unresolved is None:
        parent = by_id.get(last.parent_session)
        if parent is None:
            unresolved = last.parent_session
        elif parent.id in seen:
            raise LineageCycle(id)
        else:
            seen.add(parent.id)
            ancestors.append(parent.id)
            last = parent
    return Lineage(
        target=id,
        ancestors=tuple(ancestors),
        descendants=_descendants(by_id, id),
        root=last.id if unresolved is None else None,
        unresolved_parent_id=unresolved,
    )


def _descendants(by_id: dict[str, Header], id: str) -> tuple[Descendant, ...]:
    """The tree below a session that no circle contains."""
    children: dict[str, list[Header]] = {}
    for header in by_id.values():
        if header.parent_session is not None:
            children.setdefault(header.parent_session, []).append(header)
    found: list[Descendant] = []
    open_nodes = [Descendant(id, 0)]
    while open_nodes:
        node = open_nodes.pop()
        if node.depth:
            found.append(node)
        below = children.get(node.id, [])
        below.sort(key=lambda header: (header.created_at_ms, header.id), reverse=True)
        open_nodes += [Descendant(header.id, node.depth + 1) for header in below]
    return tuple(found)
