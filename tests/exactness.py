"""Equality that sees what `==` does not: 1 and 1.0, true and 1, 0.0 and -0.0, the order of keys."""

from __future__ import annotations

from typing import Any

__all__ = ["nested", "same"]


def same(a: Any, b: Any) -> bool:
    """Tell whether two JSON values are the same in type, value and key order, at any depth."""
    stack = [(a, b)]
    while stack:
        left, right = stack.pop()
        if type(left) is not type(right):
            return False
        if isinstance(left, dict):
            if list(left) != list(right):
                return False
            stack.extend((item, right[key]) for key, item in left.items())
        elif isinstance(left, list):
            if len(left) != len(right):
                return False
            stack.extend(zip(left, right, strict=True))
        elif left != right or repr(left) != repr(right):
            return False
    return True


def nested(depth: int, leaf: Any = None, *, objects: bool = False) -> Any:
    """Give a leaf inside that many lists or objects."""
    value = leaf
    for _ in range(depth):
        value = {"a": value} if objects else [value]
    return value
