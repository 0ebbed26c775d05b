"""The request header: its canonical form, and when two are equal (semantics.md section 5).

Not the session's header: this one says how the model is asked.
"""

from __future__ import annotations

from typing import Any

from turnlog.events.errors import BadShape
from turnlog.events.jsontext import deep_equal, dumps, is_object, loads

from .lenient import at, items_of

__all__ = ["canonical", "header_differences", "headers_equal"]

_CONFIG_FIELDS = ("provider", "model", "reasoningEffort", "temperature", "maxTokens", "stop")
_MARKERS = ("reasoningEffort", "maxTokens")
_ABSENT: Any = object()


def canonical(header: Any) -> dict[str, Any]:
    """Give the canonical form of a request header, a new copy.

    `header` is JSON from the gate or a log. Keeps `config` whole, the `true` markers of
    `adapterDefaults`, a non-empty `system` and non-empty `tools`, and nothing else.

    Raises BadShape where the header or its `config` is no object.
    """
    form: dict[str, Any] = loads(dumps(_view(header)))
    return form


def headers_equal(a: Any, b: Any) -> bool:
    """Tell whether two request headers ask for the same.

    Absent is neither 0 nor an empty list; numbers by value; further config keys don't count; tools
    as JSON text, so the order of their keys counts. Raises BadShape as `canonical` does.
    """
    return not header_differences(a, b)


def header_differences(a: Any, b: Any) -> tuple[str, ...]:
    """Name the fields in which two request headers differ; none where they are equal.

    The names are `provider`, `model`, `reasoningEffort`, `temperature`, `maxTokens`, `stop`,
    `adapterDefaults`, `system` and `tools`. Raises BadShape as `canonical` does.
    """
    left, right = _view(a), _view(b)
    differing = [
        name
        for name in _CONFIG_FIELDS
        if not deep_equal(left["config"].get(name, _ABSENT), right["config"].get(name, _ABSENT))
    ]
    for name in ("adapterDefaults", "system"):
        if not deep_equal(left.get(name), right.get(name)):
            differing.append(name)
    if not _equal_in_order(left.get("tools"), right.get("tools")):
        differing.append("tools")
    return tuple(differing)


def _view(header: Any) -> dict[str, Any]:
    """The canonical form; shares its values with the header."""
    if not is_object(header):
        raise BadShape("header", "an object", type(header).__name__)
    config = header.get("config")
    if not is_object(config):
        raise BadShape("header.config", "an object", type(config).__name__)
    form: dict[str, Any] = {"config": config}
    defaults = header.get("adapterDefaults")
    markers = {name: True for name in _MARKERS if at(defaults, name) is True}
    if markers:
        form["adapterDefaults"] = markers
    for name in ("system", "tools"):
        if header.get(name) not in (None, "", []):
            form[name] = header[name]
    return form


def _equal_in_order(a: Any, b: Any) -> bool:
    """Compare two JSON values as `deep_equal` does, and their keys in order; iterative."""
    if not deep_equal(a, b):
        return False
    stack: list[tuple[Any, Any]] = [(a, b)]
    while stack:
        left, right = stack.pop()
        if is_object(left):
            if list(left) != list(right):
                return False
            stack.extend(zip(left.values(), right.values(), strict=True))
        else:
            stack.extend(zip(items_of(left), items_of(right), strict=True))
    return True
