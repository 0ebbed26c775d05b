"""Reading stored values of any shape: what is not there is None, and only `required` raises."""

from __future__ import annotations

from typing import Any

from turnlog.events.errors import MissingField
from turnlog.events.event import Event
from turnlog.events.jsontext import is_list, is_object, loads

__all__ = ["at", "data_of", "items_of", "number_at", "required", "text_at"]


def data_of(event: Event) -> Any:
    """The event's data, a new copy; None where the stored event has none."""
    try:
        return event.data
    except MissingField:
        return None


def at(value: Any, *path: str) -> Any:
    """The value at a path of keys; None where the path leads nowhere."""
    for key in path:
        if not is_object(value):
            return None
        value = value.get(key)
    return value


def text_at(value: Any, *path: str) -> str | None:
    """The string at a path of keys; None where there is none."""
    found = at(value, *path)
    return found if isinstance(found, str) else None


def number_at(value: Any, *path: str) -> int | float | None:
    """The number at a path of keys; None where there is none, and `true` is none."""
    found = at(value, *path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return found


def items_of(value: Any) -> list[Any]:
    """The items of a list; of anything else none."""
    return value if is_list(value) else []


def required(row: bytes, seq: int, *path: str) -> Any:
    """The value at a path of keys in a stored event's text, decoded now.

    Raises MissingField naming the path and the seq where the event lacks it.
    """
    value = loads(row)
    for depth, key in enumerate(path, 1):
        if not is_object(value) or key not in value:
            raise MissingField(seq, ".".join(path[:depth]))
        value = value[key]
    return value
