"""What a session is called, and its list of tasks (semantics.md section 15)."""

from __future__ import annotations

from typing import Any

from turnlog.events.errors import MissingField
from turnlog.events.event import Event
from turnlog.events.rows import Row

from .documents import SPACE
from .lenient import at, data_of, items_of, text_at
from .log import Log

__all__ = ["TitleFold", "TodoFold", "may_name", "title", "todo"]


class TitleFold:
    """The title of a growing log. Delta chunks change nothing and may be left out."""

    def __init__(self) -> None:
        self._named: Event | None = None
        self._first_text: str | None = None

    def fold(self, event: Event) -> None:
        """Take the next event."""
        if event.type == "session/title":
            self._named = event
        elif event.type == "user/message" and self._first_text is None:
            self._first_text = _text_of_person(data_of(event))

    @property
    def title(self) -> str | None:
        """The title so far; None where there is none.

        Raises MissingField where the latest `session/title` has no title.
        """
        if self._named is not None:
            named = text_at(data_of(self._named), "title")
            if named is None:
                raise MissingField(self._named.seq, "data.title")
            if not _is_blank(named):
                return named
        return self._first_text


class TodoFold:
    """The list of tasks of a growing log. Delta chunks change nothing and may be left out."""

    def __init__(self) -> None:
        self._written: Event | None = None

    def fold(self, event: Event) -> None:
        """Take the next event."""
        if event.type == "todo/write":
            self._written = event

    @property
    def todos(self) -> list[Any] | None:
        """The list as it was written last, a new copy; None where none was ever written.

        Raises MissingField where the latest `todo/write` has no list.
        """
        if self._written is None:
            return None
        todos = at(data_of(self._written), "todos")
        if not isinstance(todos, list):
            raise MissingField(self._written.seq, "data.todos")
        return items_of(todos)


def may_name(row: Row) -> bool:
    """Whether a stored row may change a title: most do not, and need not be decoded to know it."""
    if row.packed:
        return False
    text = row.text
    return b"session/title" in text or b"user/message" in text or b"\\u" in text or b"\\/" in text


def title(log: Log) -> str | None:
    """Give the title of a session, whole and as it stands; None where it has none.

    That of the latest `session/title`, unless it is blank; else the first text that is not blank of
    a person's message (source kind `user`), replaced or not: what someone has read is not erased.

    Raises MissingField where the latest `session/title` has no title.
    """
    fold = TitleFold()
    for row in log.rows:
        if may_name(row):
            for event in row.events():
                fold.fold(event)
    return fold.title


def todo(log: Log) -> list[Any] | None:
    """Give the list of the latest `todo/write`, a new copy; None where none was ever written.

    It is the whole list, and no replace touches it. Raises MissingField where that event has none.
    """
    fold = TodoFold()
    for row in log.rows:
        if not row.packed:
            for event in row.events():
                fold.fold(event)
    return fold.todos


def _text_of_person(data: Any) -> str | None:
    """The first text of a message of source kind `user` that is not blank."""
    if at(data, "source", "kind") != "user":
        return None
    for block in items_of(at(data, "content")):
        text = text_at(block, "text")
        if at(block, "type") == "text" and text is not None and not _is_blank(text):
            return text
    return None


def _is_blank(text: str) -> bool:
    return not text.strip(SPACE)
