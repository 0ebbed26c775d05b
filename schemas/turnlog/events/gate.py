"""The lossless JSON gate: a caller's value becomes a private snapshot, or a typed error.

One pass reads, checks and copies, so that nothing the caller does later reaches the log. A
recursive fast path serves ordinary values; whatever it does not take goes to an iterative path that
decides exactly and names the place.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import copysign, inf
from typing import Any

import msgspec

from .error_text import type_name
from .errors import NotLossless, TooLarge
from .jsontext import INT_MAX, INT_MIN, dumps, loads, type_of

__all__ = [
    "MAX_EVENT_BYTES",
    "MAX_SAFE_INTEGER",
    "Snapshot",
    "is_integer",
    "is_seq",
    "lossless_copy",
    "snapshot",
    "stored_copy",
]

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest magnitude of an integer that every JSON reader keeps exactly."""

MAX_EVENT_BYTES = 8 * 1024 * 1024
"""Stored bytes of one event, or of one group, at most: what one Kafka record can carry."""

_FAST_DEPTH = 64
_LONG_TEXT = 256  # shorter strings count as one byte: looking at each would cost more than it saves


class Snapshot(msgspec.Struct, frozen=True):
    """A value as the gate took it: its JSON text; immutable."""

    text: bytes

    @property
    def value(self) -> Any:
        """The value, a new copy each time."""
        return loads(self.text)


class _NotFast(Exception):
    """The fast path leaves this value to the exact path."""


def snapshot(value: Any) -> Snapshot:
    """Take a lossless snapshot of a JSON value.

    Accepts exactly `dict` with `str` keys, `list`, `str`, `bool`, `int` within ±(2^53 - 1), finite
    `float` but negative zero, and `None`, at any depth; types, key order, surrogates and U+0000 are
    kept. The caller's value is not changed and not kept.

    Raises NotLossless naming the path inside the value; TooLarge above 8 MiB of text.
    """
    text = dumps(lossless_copy(value))
    if len(text) > MAX_EVENT_BYTES:
        raise TooLarge(len(text), MAX_EVENT_BYTES)
    return Snapshot(text)


def lossless_copy(value: Any) -> Any:
    """Check as `snapshot` does, and give a deep copy of the value instead of its text."""
    try:
        return _copy_fast(value, _FAST_DEPTH, [0])
    except (_NotFast, RuntimeError):  # RuntimeError: another thread changed a dict meanwhile
        return _copy_exact(value)


def stored_copy(value: Any) -> Any:
    """Check a stored value that a caller hands in, and give a deep copy.

    As `lossless_copy`, but of a stored log a negative zero and any integer of 64 bits are read, and
    the size is not limited.

    Raises NotLossless naming the path inside the value.
    """
    try:
        return _copy_fast(value, _FAST_DEPTH, [0])
    except (_NotFast, RuntimeError, TooLarge):
        return _copy_exact(value, is_stored=True)


def is_integer(value: Any) -> bool:
    """Tell whether a stored JSON value is a whole number within ±(2^53 - 1): 1.0 is."""
    kind = type_of(value)
    if kind is int:
        return bool(-MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER)
    return kind is float and value.is_integer() and abs(value) <= MAX_SAFE_INTEGER


def is_seq(value: Any) -> bool:
    """Tell whether a stored JSON value is a non-negative integer."""
    return is_integer(value) and value >= 0


def _copy_fast(value: Any, depth: int, spent: list[float]) -> Any:
    """Copy a plain value of little depth; `spent` counts the bytes that its text has at least.

    The count bounds the work where a small value contains the same parts over and over.
    """
    kind = type_of(value)
    if kind is str:
        if len(value) > _LONG_TEXT:
            _spend(spent, len(value))
        return value
    if kind is int:
        if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            return value
        raise _NotFast
    if kind is bool or value is None:
        return value
    if kind is dict:
        if not depth:
            raise _NotFast
        _spend(spent, 5 * len(value))
        depth -= 1
        copy: dict[str, Any] = {}
        for key, item in value.items():
            if type(key) is not str:
                raise _NotFast
            if len(key) > _LONG_TEXT:
                _spend(spent, len(key))
            copy[key] = _copy_fast(item, depth, spent)
        return copy
    if kind is list:
        if not depth:
            raise _NotFast
        _spend(spent, 2 * len(value))
        depth -= 1
        return [_copy_fast(item, depth, spent) for item in value]
    if kind is float and -inf < value < inf and (value or copysign(1.0, value) > 0):
        return value
    raise _NotFast


def _spend(spent: list[float], size: int) -> None:
    """Count bytes that the text must have: five an item of an object, two of a list, long strings.

    Never more than it has: brackets, quotes, colons, commas, and one byte of each item itself. Both
    paths count alike, so that they refuse at the same place.
    """
    spent[0] += size
    if spent[0] > MAX_EVENT_BYTES:
        raise TooLarge(int(spent[0]), MAX_EVENT_BYTES)


def _copy_exact(value: Any, *, is_stored: bool = False) -> Any:
    """Copy iteratively, or raise with the exact path of the first fault in reading order."""
    root: list[Any] = []
    # Per open container: the copy, what is left to read of the source, the source's identity.
    frames: list[tuple[Any, Any, int]] = [(root, iter([(0, value)]), 0)]
    path: list[str | int] = []
    open_ids: set[int] = set()
    spent: list[float] = [-inf if is_stored else 0]
    while frames:
        target, items, identity = frames[-1]
        try:
            key, item = next(items)
        except StopIteration:
            frames.pop()
            open_ids.discard(identity)
            if path:
                path.pop()
            continue
        at_root = len(frames) == 1
        if not at_root:
            if isinstance(target, dict) and type_of(key) is not str:
                raise NotLossless(path, f"a key of type {_type_name(key)}")
            path.append(key)
            if type_of(key) is str and len(key) > _LONG_TEXT:
                _spend(spent, len(key))
        kind = type_of(item)
        if kind is dict or kind is list:
            if id(item) in open_ids:
                raise NotLossless(path, "a value that contains itself")
            open_ids.add(id(item))
            _spend(spent, (5 if kind is dict else 2) * len(item))
            copy: Any = {} if kind is dict else []
            # A list of the items is taken at once: another thread can't change it under the walk.
            pairs: Iterator[Any] = item.items() if kind is dict else enumerate[Any](item)
            _put(target, key, copy)
            frames.append((copy, iter(list(pairs)), id(item)))
            continue
        if kind is not str:
            _refuse_lossy(item, path, is_stored)
        elif len(item) > _LONG_TEXT:
            _spend(spent, len(item))
        _put(target, key, item)
        if path and not at_root:
            path.pop()
    return root[0]


def _type_name(value: object) -> str:
    return type_name(type(value))


def _put(target: Any, key: str | int, item: Any) -> None:
    if isinstance(target, dict):
        target[key] = item
    else:
        target.append(item)


def _refuse_lossy(item: Any, path: list[str | int], is_stored: bool) -> None:
    """Raise NotLossless unless `item`, which is no string, is a lossless scalar."""
    kind = type_of(item)
    if kind is bool or item is None:
        return
    if kind is int:
        if is_stored:
            if not INT_MIN <= item <= INT_MAX:
                raise NotLossless(path, "an integer beyond 64 bits")
        elif not -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER:
            raise NotLossless(path, "an integer beyond ±(2^53 - 1)")
    elif kind is float:
        if not -inf < item < inf:
            raise NotLossless(path, "NaN" if item != item else "an infinity")
        if item == 0 and copysign(1.0, item) < 0 and not is_stored:
            raise NotLossless(path, "negative zero")
    else:
        raise NotLossless(path, f"a value of type {_type_name(item)}")
