"""Search documents: the searchable text of each event, and where the event stands on the Surface.

Which parts of an event are text: semantics.md section 13. Call arguments are opaque text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from turnlog.events.errors import MissingField
from turnlog.events.event import Event

from .lenient import at, items_of, text_at
from .log import Log
from .surface_history import SurfaceHistory, SurfaceState

__all__ = ["SPACE", "Document", "DocumentFold", "document_text", "documents"]

SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""ECMAScript's WhiteSpace and LineTerminator.

str.strip() knows another set: it lacks U+FEFF and has U+0085 and U+001C to U+001F.
"""


class Document(msgspec.Struct, frozen=True, gc=False):
    """The searchable text of one event; `time_ms` is epoch milliseconds."""

    session: str
    seq: int
    type: str
    time_ms: int
    surface: SurfaceState
    text: str


class DocumentFold:
    """The documents of one growing session; their Surface states are those of now."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._history = SurfaceHistory()
        self._texts: list[tuple[int, str, int, str]] = []

    def fold(self, event: Event) -> None:
        """Take the next event.

        Raises MissingField where it lacks the field that holds its text; nothing is taken then.
        """
        text = document_text(event)
        self._history.fold(event)
        if text is not None:
            self._texts.append((event.seq, event.type, event.time_ms, text))

    @property
    def documents(self) -> list[Document]:
        """The documents in log order, a new list."""
        return [
            Document(self._session, seq, type_, time_ms, self._history.state(seq), text)
            for seq, type_, time_ms, text in self._texts
        ]


def documents(log: Log) -> Iterator[Document]:
    """Give the documents of a log in log order; streams, in two passes.

    Raises MissingField at the event that lacks the field that holds its text, after the documents
    before it.
    """
    history = SurfaceHistory()
    for row in log.rows:
        if not row.packed:
            for event in row.events():
                history.fold(event)
    for row in log.rows:
        if not row.packed:
            for event in row.events():
                text = document_text(event)
                if text is not None:
                    state = history.state(event.seq)
                    yield Document(log.header.id, event.seq, event.type, event.time_ms, state, text)


def document_text(event: Event) -> str | None:
    """The searchable text of one event; None where it has none.

    Raises MissingField where the event lacks the field that holds its text; further in, what is
    missing or of another type gives nothing.
    """
    parts_of = _PARTS.get(event.type)
    if parts_of is None:
        return None
    parts = [part for part in map(_trimmed, parts_of(event)) if part]
    return "\n".join(parts) if parts else None


def _trimmed(part: Any) -> str:
    return part.strip(SPACE) if isinstance(part, str) else ""


def _message_parts(event: Event, message: Any, field: str) -> list[Any]:
    """The parts of a message's blocks, depth first in reading order; iterative."""
    if not isinstance(message, dict):
        raise MissingField(event.seq, field)
    content = at(message, "content")
    if not isinstance(content, list):
        raise MissingField(event.seq, f"{field}.content")
    parts: list[Any] = []
    blocks = items_of(content)[::-1]
    while blocks:
        block = blocks.pop()
        kind = at(block, "type")
        if kind == "text":
            parts.append(at(block, "text"))
        elif kind == "tool-call":
            parts += (at(block, "name"), at(block, "arguments"))
        elif kind == "tool-result":
            blocks += reversed(items_of(at(block, "content")))
    return parts


def _user_message(event: Event) -> list[Any]:
    return _message_parts(event, event.data, "data")


def _assistant_message(event: Event) -> list[Any]:
    return _message_parts(event, at(event.data, "message"), "data.message")


def _tool_result(event: Event) -> list[Any]:
    data = event.data
    parts = _message_parts(event, at(data, "message"), "data.message")
    return [*parts, at(data, "error", "name"), at(data, "error", "code")]


def _tool_call(event: Event) -> list[Any]:
    data = event.data
    return [at(data, "name"), at(data, "arguments")]


def _todo_write(event: Event) -> list[Any]:
    todos = at(event.data, "todos")
    if not isinstance(todos, list):
        raise MissingField(event.seq, "data.todos")
    return [part for todo in items_of(todos) for part in (at(todo, "status"), at(todo, "content"))]


def _turn_end(event: Event) -> list[Any]:
    reason = at(event.data, "reason")
    kind = text_at(reason, "kind")
    if kind == "error":
        return [kind, at(reason, "error", "message")]
    return [kind] if kind in ("aborted", "max-tokens", "interrupted") else []


_PARTS: dict[str, Callable[[Event], list[Any]]] = {
    "user/message": _user_message,
    "assistant/message": _assistant_message,
    "tool/call": _tool_call,
    "tool/result": _tool_result,
    "todo/write": _todo_write,
    "turn/end": _turn_end,
}
