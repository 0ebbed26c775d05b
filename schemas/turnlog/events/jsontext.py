"""JSON text: `loads`, `dumps` and `deep_equal`, at any depth and without loss.

Each has a fast path by a C library and an exact, iterative path that takes over where the library
gives up (deep nesting, lone surrogates). Both give the same answer; neither can overflow a stack.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard, cast

import orjson

from .errors import BrokenLog

__all__ = ["INT_MAX", "INT_MIN", "deep_equal", "dumps", "is_list", "is_object", "loads", "type_of"]

_quote: Callable[[str], str] = json.encoder.encode_basestring
_quote_ascii: Callable[[str], str] = json.encoder.encode_basestring_ascii
_scan_string: Callable[[str, int, bool], tuple[str, int]] = cast(Any, json.decoder).scanstring
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
INT_MIN, INT_MAX = -(2**63), 2**64 - 1
"""Integers outside this range are read as doubles, by both paths: what a reader can rely on."""


type_of: Callable[[object], object] = type
"""The type of a value, by which a type checker narrows nothing."""


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Tell whether a JSON value is an object."""
    return type(value) is dict


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Tell whether a JSON value is a list."""
    return type(value) is list


def loads(text: bytes | str) -> Any:
    """Read one JSON value.

    Strict RFC 8259 in UTF-8; a str may hold lone surrogates as they are. Of a repeated key the last
    value counts; integers beyond 64 bits are read as doubles. Each call gives a value of its own.

    Raises BrokenLog where the text is no JSON, or holds a number beyond a double.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return _loads_exact(text.decode("utf-8") if isinstance(text, bytes) else text)
    except UnicodeDecodeError as error:
        raise BrokenLog(f"JSON text: not UTF-8 at byte {error.start}") from None


def dumps(value: Any) -> bytes:
    """Write a lossless JSON value as compact UTF-8, keys in their order.

    The caller promises that `value` came out of the gate or of `loads`: other types are not looked
    for. A lone surrogate is written as an escape. The text holds no raw line break.
    """
    try:
        return orjson.dumps(value)
    except TypeError:  # too deep for the library, a lone surrogate, an integer beyond 64 bits
        return "".join(_write_exact(value)).encode("utf-8")


def deep_equal(a: Any, b: Any) -> bool:
    """Compare two JSON values: numbers by value, `true` never 1, key order ignored."""
    stack: list[tuple[Any, Any]] = [(a, b)]
    while stack:
        left, right = stack.pop()
        if is_object(left):
            if not is_object(right) or left.keys() != right.keys():
                return False
            stack.extend((item, right[key]) for key, item in left.items())
        elif is_list(left):
            if not is_list(right) or len(left) != len(right):
                return False
            stack.extend(zip(left, right, strict=True))
        elif isinstance(left, bool) or isinstance(right, bool):
            if left is not right:
                return False
        elif isinstance(right, dict | list) or left != right:
            return False
    return True


def _write_exact(value: Any) -> Iterator[str]:
    """Yield the pieces of the JSON text of `value`; iterative."""
    # The stack holds values still to write, and iterators over what is left of open containers.
    stack: list[tuple[Iterator[Any], bool]] = [(iter([value]), False)]
    closers = [""]
    first = [True]
    while stack:
        items, keyed = stack[-1]
        try:
            item = next(items)
        except StopIteration:
            stack.pop()
            first.pop()
            yield closers.pop()
            continue
        if not first[-1]:
            yield ","
        first[-1] = False
        if keyed:
            key, item = item
            yield _quoted(key) + ":"
        if is_object(item):
            yield "{"
            stack.append((iter(item.items()), True))
            closers.append("}")
            first.append(True)
        elif is_list(item):
            yield "["
            stack.append((iter(item), False))
            closers.append("]")
            first.append(True)
        else:
            yield _scalar(item)


def _quoted(text: str) -> str:
    return _quote_ascii(text) if _SURROGATE.search(text) else _quote(text)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    return orjson.dumps(value).decode("ascii")  # the same shortest form as on the fast path


def _loads_exact(text: str) -> Any:
    """Read one JSON value with an explicit stack; the same answers as the fast path."""
    root: list[Any] = []
    containers: list[Any] = [root]
    keys: list[str] = [""]  # the key under which the next value of each open object goes
    position = _skip(text, 0)
    expect_value = True
    while True:
        if expect_value:
            char = text[position : position + 1]
            if char in ("{", "["):
                container: Any = {} if char == "{" else []
                _put(containers[-1], keys[-1], container)
                containers.append(container)
                keys.append("")
                position = _skip(text, position + 1)
                if text[position : position + 1] == ("}" if char == "{" else "]"):
                    containers.pop()
                    keys.pop()
                    position = _skip(text, position + 1)
                    expect_value = False
                elif char == "{":
                    keys[-1], position = _key(text, position)
                continue
            value, position = _leaf(text, position, char)
            _put(containers[-1], keys[-1], value)
            position = _skip(text, position)
            expect_value = False
        elif len(containers) == 1:
            if position != len(text):
                raise _bad(position)
            return root[0]
        else:
            char = text[position : position + 1]
            inner = containers[-1]
            is_object = isinstance(inner, dict)
            if char == ",":
                position = _skip(text, position + 1)
                if is_object:
                    keys[-1], position = _key(text, position)
                expect_value = True
            elif char == ("}" if is_object else "]"):
                containers.pop()
                keys.pop()
                position = _skip(text, position + 1)
            else:
                raise _bad(position)


def _put(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    else:
        container.append(value)


def _key(text: str, position: int) -> tuple[str, int]:
    if text[position : position + 1] != '"':
        raise _bad(position)
    key, position = _string(text, position)
    position = _skip(text, position)
    if text[position : position + 1] != ":":
        raise _bad(position)
    return key, _skip(text, position + 1)


def _leaf(text: str, position: int, char: str) -> tuple[Any, int]:
    if char == '"':
        return _string(text, position)
    if char in _WORDS:
        word, constant = _WORDS[char]
        if text.startswith(word, position):
            return constant, position + len(word)
        raise _bad(position)
    match = _NUMBER.match(text, position)
    if match is None:
        raise _bad(position)
    digits, fraction, exponent = match.groups()
    if fraction is None and exponent is None and len(digits) <= 20:
        integer = int(digits)
        if INT_MIN <= integer <= INT_MAX:
            return integer, match.end()
    number = float(match.group())
    if math.isinf(number):
        raise BrokenLog(f"JSON text: a number beyond a double at character {position}")
    return number, match.end()


def _string(text: str, position: int) -> tuple[str, int]:
    try:
        return _scan_string(text, position + 1, True)
    except json.JSONDecodeError as error:
        raise _bad(error.pos) from None


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return position if match is None else match.end()


def _bad(position: int) -> BrokenLog:
    return BrokenLog(f"JSON text: no JSON at character {position}")
