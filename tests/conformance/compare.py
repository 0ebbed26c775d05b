"""Compare JSON values strictly: code of the runner's own, which shares no fault with the product.

Numbers compare by value and `true` is never 1; -0.0 equals 0. A missing key is not null. The order
of an object's keys does not count, the order of a list does. Iterative: any depth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

__all__ = ["MISSING", "Difference", "differences", "show"]

_MAX_SHOWN = 160
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SCALARS = (str, bool, int, float, type(None))

# A path is a linked list from the leaf to the root, so that a step costs nothing.
_Path = tuple[Any, Any] | None


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = _Missing()


class Difference(NamedTuple):
    """One place where two values differ; MISSING stands on the side that has no value there."""

    path: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.path}: expected {show(self.expected)}, found {show(self.found)}"


def differences(expected: Any, found: Any) -> Iterator[Difference]:
    """Give the places where `found` is not `expected`, in document order of `expected`.

    A value of `found` that is no JSON value of exactly its Python type (a tuple, an enum) differs.
    """
    stack: list[tuple[_Path, Any, Any]] = [(None, expected, found)]
    while stack:
        path, want, have = stack.pop()
        if type(want) is dict and type(have) is dict:
            stack.extend(
                ((path, key), MISSING, have[key]) for key in reversed(have) if key not in want
            )
            stack.extend(
                ((path, key), item, have.get(key, MISSING)) for key, item in reversed(want.items())
            )
        elif type(want) is list and type(have) is list:
            longer = max(len(want), len(have))
            stack.extend(
                (
                    (path, index),
                    want[index] if index < len(want) else MISSING,
                    have[index] if index < len(have) else MISSING,
                )
                for index in range(longer - 1, -1, -1)
            )
        elif not _same_scalar(want, have):
            yield Difference(_path_text(path), want, have)


def show(value: Any) -> str:
    """Show a value as clipped JSON text; what is no JSON is shown as Python does, with its type."""
    if value is MISSING:
        return "nothing"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = f"{type(value).__name__} {_python_text(value)}"
    else:
        if type(value) not in (dict, list, *_SCALARS):
            text = f"{type(value).__name__} {text}"
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if len(text) > _MAX_SHOWN:
        text = f"{text[:_MAX_SHOWN]}… ({len(text)} characters)"
    return text


def _same_scalar(want: Any, have: Any) -> bool:
    want_type, have_type = type(want), type(have)
    if want_type not in _SCALARS or have_type not in _SCALARS:
        return False
    if want_type in (int, float) and have_type in (int, float):
        return bool(want == have)
    return want_type is have_type and bool(want == have)


def _path_text(path: _Path) -> str:
    parts: list[str] = []
    while path is not None:
        path, step = path
        if type(step) is int:
            parts.append(f"[{step}]")
        elif type(step) is str and _PLAIN_KEY.fullmatch(step):
            parts.append(f".{step}")
        else:
            parts.append(f"[{show(step)}]")
    parts.append("$")
    return "".join(reversed(parts))


def _python_text(value: Any) -> str:
    try:
        return repr(value)
    except RecursionError:
        return "too deep to show"
