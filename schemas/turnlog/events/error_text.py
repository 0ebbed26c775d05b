"""How a value that an error found is shown: short, and the same at any depth."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["format_path", "shown", "type_name"]


def shown(value: object) -> str:
    """Show a value that an error found: one short line, whatever the value is."""
    if value is None:
        return "nothing"
    kind = type(value)
    if kind is dict or kind is list:
        return "an object" if kind is dict else "a list"
    if type(value) is str:
        return repr(value[:80])
    if (type(value) is int or type(value) is float) and -(2**64) < value < 2**64:
        return repr(value)
    if type(value) is bool:
        return repr(value)
    return f"a value of type {type_name(kind)}"


def type_name(kind: type) -> str:
    """Give a type's name, also where its metaclass does not want to."""
    name: str = type.__getattribute__(kind, "__qualname__")
    return name


def format_path(path: Sequence[str | int]) -> str:
    """Show a path inside a value, such as `$.tools[2].name`; a long one is cut in the middle."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part!s}" for part in path]
    if len(parts) > 24:
        parts = [*parts[:12], f" … {len(parts) - 24} more … ", *parts[-12:]]
    return "$" + "".join(parts)
