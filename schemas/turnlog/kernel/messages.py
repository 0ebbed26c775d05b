"""The Messages: what the Surface says to the model, one rule a node (semantics.md section 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from turnlog.events.errors import MissingField
from turnlog.events.event import Event
from turnlog.events.jsontext import is_object, loads

from .log import Log
from .surface import surface_of

__all__ = ["Message", "MessageList", "SurfaceNodes", "messages", "project"]


class SurfaceNodes(Protocol):
    """The part of a Surface that the projection reads."""

    @property
    def replace_generation(self) -> int:
        """The number of replaces so far."""
        ...

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        ...

    def nodes_from(self, position: int) -> list[int]:
        """The seqs from a position on, a new list."""
        ...


class Message(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One message as the model sees it, of the event at `seq`; immutable, decoded when read."""

    seq: int
    _row: bytes
    _nested: bool

    @property
    def value(self) -> Any:
        """The message as JSON, a new copy each time."""
        data = loads(self._row)["data"]
        return data["message"] if self._nested else data

    @property
    def id(self) -> Any:
        """The message's id."""
        return self._field("id")

    @property
    def role(self) -> Any:
        """`user` or `assistant`."""
        return self._field("role")

    @property
    def source(self) -> Any:
        """Where the message comes from, a new copy each time."""
        return self._field("source")

    @property
    def content(self) -> Any:
        """The content blocks, a new copy each time."""
        return self._field("content")

    def _field(self, name: str) -> Any:
        value = self.value
        if not is_object(value) or name not in value:
            raise MissingField(self.seq, f"message {name}")
        return value[name]

    def __repr__(self) -> str:
        return f"Message(seq={self.seq})"


def project(event: Event) -> Message | None:
    """Give the message of a Surface event; None where it has none for the model.

    Raises MissingField where the event lacks `data` or `data.message`.
    """
    data = event.data
    if event.type == "user/message":
        return Message(event.seq, event.text, False)
    if not is_object(data) or not is_object(data.get("message")):
        raise MissingField(event.seq, "data.message")
    if event.type == "assistant/message":
        if "content" not in data["message"]:
            raise MissingField(event.seq, "data.message.content")
        if data["message"]["content"] == []:
            return None
    return Message(event.seq, event.text, True)


class MessageList:
    """The Messages of a growing session: an append costs one node, a replace a walk of all.

    Rebuilt from the Surface and the log at any time; holds no JSON of its own.
    """

    def __init__(self, lookup: Callable[[int], Event | None]) -> None:
        self._lookup = lookup
        self._projected: dict[int, Message | None] = {}
        self._messages: list[Message] = []
        self._node_count = 0
        self._replace_generation = 0

    def of(self, surface: SurfaceNodes) -> list[Message]:
        """The Messages of a Surface, a new list that later events don't change."""
        if surface.replace_generation != self._replace_generation:
            self._replace_generation = surface.replace_generation
            self._messages = []
            self._node_count = 0
            known, self._projected = self._projected, {}
            self._take(surface.nodes_from(0), known)
        elif surface.node_count != self._node_count:
            self._take(surface.nodes_from(self._node_count), {})
        return self._messages.copy()

    def _take(self, nodes: list[int], known: Mapping[int, Message | None]) -> None:
        for seq in nodes:
            if seq in known:
                message = known[seq]
            else:
                event = self._lookup(seq)
                message = None if event is None else project(event)
            self._projected[seq] = message
            if message is not None:
                self._messages.append(message)
            self._node_count += 1


def messages(log: Log, at: int | None = None) -> list[Message]:
    """The Messages of a log after its events below `at` (exclusive; None for all).

    Raises SurfaceRefused and MissingField where the stored log can't be projected.
    """
    return MessageList(log.event).of(surface_of(log, at))
