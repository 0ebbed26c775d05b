"""How a value that an error found is shown: short, and the same at any depth."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["MAX_TEXT", "format_path", "shortened", "shown", "type_name"]

MAX_TEXT = 2_000
"""Characters of an error's text at most: one line of a log, whatever the error is about."""

_HEAD, _TAIL = 1_500, 400
_SHOWN = 80


def shown(value: object) -> str:
    """Show a value that an error found: one short line, whatever the value is."""
    if value is None:
        return "nothing"
    kind = type(value)
    if kind is dict or kind is list:
        return "an object" if kind is dict else "a list"
    if type(value) is str:
        return repr(value[:_SHOWN])
    if (type(value) is int or type(value) is float) and -(2**64) < value < 2**64:
        return repr(value)
    if type(value) is bool:
        return repr(value)
    return f"a value of type {type_name(kind)}"


def type_name(kind: type) -> str:
    """Give a type's name, also where its metaclass does not want to."""
    name: str = type.__getattribute__(kind, "__qualname__")
    return name


def shortened(text: str) -> str:
    """Give a text of at most MAX_TEXT characters: a longer one is cut in the middle."""
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:_HEAD]} … {len(text) - _HEAD - _TAIL} characters … {text[-_TAIL:]}"


def format_path(path: Sequence[str | int]) -> str:
    """Show a path inside a value, such as `$.tools[2].name`.

    A long one is cut in the middle, a long key at its end.
    """
    parts = [f"[{part}]" if isinstance(part, int) else f".{part[:_SHOWN]}" for part in path]
    if len(parts) > 24:
        parts = [*parts[:12], f" … {len(parts) - 24} more … ", *parts[-12:]]
    return "$" + "".join(parts)
