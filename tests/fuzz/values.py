"""Builds Python values from bytes: each byte is an instruction of a small stack machine."""

from __future__ import annotations

import datetime
import decimal
import enum
import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from tests.events.samples import CHUNKS, SAMPLES
from turnlog.events.event import Draft, Replace

__all__ = ["OPCODES", "draft_of", "value_of"]


class _Text(str):
    pass


class _Color(enum.StrEnum):
    RED = "red"


class _Liar:
    """Equal to everything, without a repr, a hash of a common key."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("type")

    def __repr__(self) -> str:
        raise LookupError

    def __bool__(self) -> bool:
        raise LookupError


_SCALARS: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**53 - 1, 2**53, -(2**53), 10**400, 0.0, -0.0, 1.0, 0.5, 1e308),
    *(5e-324, math.nan, math.inf, -math.inf, "", "a", "\x00", "\ud800", "\u2028", "x" * 300),
    *("append", "text-delta", "reasoning-delta", "completed", "user", "assistant", "text"),
    *(b"a", _Text("a"), _Color.RED, decimal.Decimal(1), datetime.date(2024, 1, 1), 1j, object),
    *(_Liar(), _Liar, range(3), ..., Replace(0, 1), "x" * 9_000_000),
)
_KEYS: tuple[Any, ...] = (
    *("type", "turn", "step", "chunk", "index", "text", "data", "id", "role", "source", "kind"),
    *("content", "message", "reason", "a", "", "\ud800", "op", "start", "end", "x" * 300),
    *(1, None, True, ("a",), _Text("turn"), _Color.RED, _Liar(), b"a"),
)
_SAMPLES = [*SAMPLES.values(), *CHUNKS.values()]


def _wrap(stack: list[Any], levels: int) -> None:
    value = stack.pop()
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    stack.append(value)


def _doubled() -> Any:
    """A value that holds the same parts a thousand times; it unfolds no further."""
    value: Any = []
    for _ in range(10):
        value = [value, value]
    return value


def _merge(stack: list[Any], argument: int) -> None:
    """Put the top value into the container below it."""
    if len(stack) < 2:
        return
    value, target = stack.pop(), stack[-1]
    if type(target) is dict:
        target[_KEYS[argument % len(_KEYS)]] = value
    elif type(target) is list:
        target.append(value)
    else:
        stack[-1] = [target, value]


def _close(stack: list[Any], argument: int) -> None:
    """Put the container on top into itself."""
    target = stack[-1]
    if type(target) is dict:
        target[_KEYS[argument % 11]] = target
    elif type(target) is list:
        target.append(target)


def _copied(value: Any) -> Any:
    """A copy of a sample, whose containers are changed later on."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


_INSTRUCTIONS: list[Callable[[list[Any], int], object]] = [
    lambda stack, argument: stack.append(_SCALARS[argument % len(_SCALARS)]),
    lambda stack, argument: stack.append({}),
    lambda stack, argument: stack.append([]),
    _merge,
    _merge,
    _merge,
    lambda stack, argument: stack.append(_copied(_SAMPLES[argument % len(_SAMPLES)])),
    lambda stack, argument: _wrap(
        stack, 1_500 if argument == 255 else (1, 1, 2, 63, 64, 65)[argument % 6]
    ),
    _close,
    lambda stack, argument: stack.append(_doubled()),
    lambda stack, argument: stack.append((stack.pop(),)),
    lambda stack, argument: stack.append(stack[argument % len(stack)]),
    lambda stack, argument: stack.append(OrderedDict(a=stack.pop())),
    lambda stack, argument: stack.append(chr(argument * 251)),
]
OPCODES = [code for code in range(len(_INSTRUCTIONS)) for _ in range(2)]
"""Each instruction once, with its code as its argument."""


def value_of(data: bytes) -> Any:
    """Run the first bytes, two an instruction, and give what is then on top of the stack."""
    stack: list[Any] = [{}]
    for code, argument in zip(data[:400:2], data[1:400:2], strict=False):
        _INSTRUCTIONS[code % len(_INSTRUCTIONS)](stack, argument)
        if not stack:
            stack.append({})
    return stack[-1]


_TYPES: tuple[Any, ...] = (
    *("assistant/chunk", "user/message", "turn/start", "tool/result", "goal/change", "text-chunks"),
    *("x/own", "", None, _Text("turn/start"), _Liar(), ["turn/start"]),
)
_FIELDS = ("surface", "sources", "ignorable", "time_ms")


def draft_of(data: bytes) -> Draft:
    """Make a draft: the first bytes choose its type and one odd field, the rest is its data."""
    first, second, third = data[:3].ljust(3, b"\x00")
    value = value_of(data[3:])
    draft = Draft(_TYPES[first % len(_TYPES)], value)
    if second % 3 == 0:
        draft = draft._replace(**{_FIELDS[third % len(_FIELDS)]: value_of(data[5:])})
    return draft
