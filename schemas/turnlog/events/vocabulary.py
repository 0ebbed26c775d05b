"""The event types: the core's, the known ones beyond it, and an embedder's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from .error_text import shown
from .errors import BadShape
from .jsontext import type_of

__all__ = [
    "CORE_TYPES",
    "KNOWN_TYPES",
    "LEGACY_TYPES",
    "PACKED_TYPES",
    "SURFACE_TYPES",
    "InvariantFold",
    "Registration",
    "Registry",
]

SURFACE_TYPES = frozenset({"user/message", "assistant/message", "tool/result"})
"""The types whose events stand on the Surface; all others are log-only."""

CORE_TYPES = SURFACE_TYPES | {
    "turn/start",
    "turn/end",
    "step/start",
    "step/end",
    "assistant/chunk",
    "tool/call",
    "todo/write",
    "request/header",
    "request/context",
    "agent/inbox/spliced",
    "session/end-seed",
}
"""The types whose data `append` checks in full."""

KNOWN_TYPES = CORE_TYPES | frozenset(
    [
        "agent-preset/selected",
        "approval/asked",
        "approval/decided",
        "approval/policy",
        "command/done",
        "command/run",
        "compaction/start",
        "compaction/summary",
        "compaction/prune",
        "compaction/end",
        "feedback/record",
        "goal/change",
        "hook/invoked",
        "hook/result",
        "llm/retry",
        "llm/retry-started",
        "permission/preset",
        "plan/mode",
        "sandbox/mode",
        "schedule/change",
        "session/title",
        "session/title-llm-request",
        "subagent/descriptor",
        "team/member",
        "team/message/delivered",
        "team/message/queued",
        "team/task",
        "tool-workflow/agent-start",
        "tool-workflow/agent-end",
        "tool-workflow/run-start",
        "tool-workflow/run-end",
        "tool/code-dispatch",
        "tool/code-dispatch-start",
        "web/deepseek-search-llm-request",
    ]
)
"""The types that every reader knows: the core and those carried whole."""

PACKED_TYPES = frozenset({"text-chunks", "reasoning-chunks", "tool-call-chunks"})
"""The types of packed rows; no event may bear one, since it would be read as a row."""

LEGACY_TYPES = frozenset({"request/header-delta"})
"""Types of an older form, refused wherever a session is resumed or appended to."""

InvariantFold = Callable[[Any, Any], tuple[Any, str | None]]
"""An embedder's relation: `(state, event) -> (state, breach or None)`; the first state is None.

It sees every event of the log in order, of its own type and of all others, and must be pure.
"""


class Registration(NamedTuple):
    """What an embedder said of one type."""

    shape: Callable[[Any], None] | None
    invariant: InvariantFold | None


class Registry:
    """The event types that a writer or a resuming reader knows.

    Starts with KNOWN_TYPES; an embedder adds its own, each with a shape check (called with a copy
    of the data, raises BadShape) and an invariant fold where it likes.
    """

    def __init__(self) -> None:
        self._own: dict[str, Registration] = {}

    def register(
        self,
        type: str,
        *,
        shape: Callable[[Any], None] | None = None,
        invariant: InvariantFold | None = None,
    ) -> None:
        """Add a type of the embedder's.

        Raises BadShape for an empty type, one that a known event or a packed row already bears, and
        one registered before.
        """
        if (
            type_of(type) is not str
            or not type
            or type in KNOWN_TYPES
            or type in PACKED_TYPES
            or type in LEGACY_TYPES
        ):
            raise BadShape("type", "a type of the embedder's own", shown(type))
        if type in self._own:
            raise BadShape("type", "a type not registered before", shown(type))
        self._own[type] = Registration(shape, invariant)

    def knows(self, type: str) -> bool:
        """Tell whether events of this type may be appended, and resumed over, as required ones."""
        return type in KNOWN_TYPES or type in self._own

    @property
    def own(self) -> Mapping[str, Registration]:
        """The embedder's registrations by type, in the order of registration; read-only."""
        return MappingProxyType(self._own)
