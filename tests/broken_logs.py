"""Breaks one rule of a well-formed log, and says which and where."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any, NamedTuple

from tests.log_writer import Value
from turnlog.events.header import Header

__all__ = ["BREAKERS", "Broken", "break_log"]


class Broken(NamedTuple):
    """A log with one fault: the event at `at` breaks `rule`, and all before it is sound.

    Where `refused`, restore refuses the log there; else it is the first breach of the invariants.
    """

    header: Header
    values: list[Value]
    rule: str
    at: int
    refused: bool


Breaker = Callable[[list[Value], Random], "int | None"]
"""Breaks a rule in place; gives where the event at fault is, None where the log has no place."""


def break_log(header: Header, values: list[Value], random: Random) -> Broken:
    """Break one rule that this log has a place for."""
    values = deepcopy(values) or [{"type": "goal/change", "seq": 0, "time": 0, "data": {}}]
    for rule in random.sample(sorted(BREAKERS), len(BREAKERS)):
        index = BREAKERS[rule](values, random)
        if index is not None:
            return Broken(header, values, rule, index, not rule.startswith("relation"))
    raise AssertionError("every log has a place for a wrong seq")


def _pick(values: list[Value], random: Random, fits: Callable[[Value], bool]) -> int | None:
    places = [index for index, value in enumerate(values) if fits(value)]
    return random.choice(places) if places else None


def _edit(fits: Callable[[Value], bool], *edits: Callable[[Value], object]) -> Breaker:
    """Break a random event that fits, by one of the edits."""

    def breaker(values: list[Value], random: Random) -> int | None:
        index = _pick(values, random, fits)
        if index is not None:
            random.choice(edits)(values[index])
        return index

    return breaker


def _edit_unreplaced(fits: Callable[[Value], bool], edit: Callable[[Value], object]) -> Breaker:
    """Break an event that fits and that no result replaces: the Surface then stays sound."""

    def breaker(values: list[Value], random: Random) -> int | None:
        replaced = {value["surfaceOp"]["start"] for value in values if _replaced_result(value)}
        index = _pick(values, random, lambda value: fits(value) and value["seq"] not in replaced)
        if index is not None:
            edit(values[index])
        return index

    return breaker


def _put(key: str, value: Any, *path: str | int) -> Callable[[Value], object]:
    """Set a key of the object at a path."""

    def put(target: Any) -> None:
        for step in path:
            target = target[step]
        target[key] = value

    return put


def _remove(key: str, *path: str) -> Callable[[Value], object]:
    """Take a key out of the object at a path."""

    def remove(target: Any) -> None:
        for step in path:
            target = target[step]
        del target[key]

    return remove


def _any(value: Value) -> bool:
    return True


def _is(*types: str) -> Callable[[Value], bool]:
    return lambda value: value["type"] in types


def _log_only(value: Value) -> bool:
    return "surfaceOp" not in value


def _surface(value: Value) -> bool:
    return "surfaceOp" in value


def _replace(value: Value) -> bool:
    return isinstance(value.get("surfaceOp"), dict)


def _replaced_result(value: Value) -> bool:
    return _replace(value) and value["type"] == "tool/result"


def _wide_replace(value: Value) -> bool:
    return _replace(value) and value["surfaceOp"]["start"] != value["surfaceOp"]["end"]


def _cited(value: Value) -> bool:
    return bool(value.get("sourceEventSeqs"))


def _counted(key: str) -> Callable[[Value], bool]:
    """Fit events whose turn or step number is checked."""
    types = _is(
        *("turn/start", "turn/end", "step/start", "step/end"),
        *("assistant/chunk", "assistant/message", "tool/call", "tool/result"),
    )
    return lambda value: types(value) and key in value["data"] and not _replaced_result(value)


def _finished_result(value: Value) -> bool:
    code = value["data"].get("error", {}).get("code") if _is("tool/result")(value) else "none"
    return code not in ("none", "TOOL_NOT_STARTED") and not _replace(value)


def _shift_seqs(values: list[Value], random: Random) -> int:
    index = random.randrange(len(values))
    for value in values[index:]:
        value["seq"] += 1
    return index


def _repeat_seq(values: list[Value], random: Random) -> int | None:
    if len(values) < 2:
        return None
    index = random.randrange(1, len(values))
    values[index]["seq"] -= 1
    return index


def _swap_ends(value: Value) -> None:
    operation = value["surfaceOp"]
    operation["start"], operation["end"] = operation["end"], operation["start"]


def _forget_shadowed(value: Value) -> None:
    value["sourceEventSeqs"].remove(value["surfaceOp"]["start"])


def _rename_call(value: Value) -> None:
    message = value["data"]["message"]
    message["source"]["callId"] = message["content"][0]["toolCallId"] = "never called"


def _replace_itself(value: Value) -> None:
    value["surfaceOp"] = {"op": "replace", "start": value["seq"], "end": value["seq"]}


_MESSAGE = ("data", "message")
_CONFIG = ("data", "header", "config")

BREAKERS: dict[str, Breaker] = {
    "seq/gap": _shift_seqs,
    "seq/repeated": _repeat_seq,
    "envelope/further key": _edit(_any, _put("extra", 1), _put("seq0", 0)),
    "envelope/no data": _edit(_any, _remove("data")),
    "envelope/ignorable": _edit(_any, _put("ignorable", False), _put("ignorable", 1)),
    "envelope/null": _edit(_any, _put("surfaceOp", None), _put("sourceEventSeqs", None)),
    "legacy/type": _edit(_log_only, _put("type", "request/header-delta")),
    "legacy/fallback": _edit(_is("request/header"), _put("reason", "fallback", "data")),
    "header/config": _edit(
        _is("request/header"),
        _remove("config", "data", "header"),
        _put("provider", "", *_CONFIG),
        _put("model", 7, *_CONFIG),
        _put("reasoningEffort", "", *_CONFIG),
    ),
    "header/markers": _edit(
        _is("request/header"),
        _put("adapterDefaults", {"temperature": True}, "data", "header"),
        _put("adapterDefaults", {"maxTokens": 1}, "data", "header"),
        _put("adapterDefaults", [], "data", "header"),
    ),
    "message/user": _edit(
        _is("user/message"),
        _put("id", "", "data"),
        _put("role", "assistant", "data"),
        _put("kind", "", "data", "source"),
        _remove("content", "data"),
    ),
    "message/assistant": _edit(
        _is("assistant/message"),
        _remove("message", "data"),
        _put("role", "user", *_MESSAGE),
        _put("kind", "user", *_MESSAGE, "source"),
        _put("model", "", *_MESSAGE, "source"),
        _remove("provider", *_MESSAGE, "source"),
    ),
    "message/result": _edit(
        _is("tool/result"),
        _put("callId", "another", *_MESSAGE, "source"),
        _put("content", [], *_MESSAGE),
        _put("type", "text", *_MESSAGE, "content", 0),
        _put("content", "text", *_MESSAGE, "content", 0),
    ),
    "surface/log-only": _edit(_log_only, _put("surfaceOp", "append"), _put("sourceEventSeqs", [])),
    "surface/missing": _edit(_surface, _remove("surfaceOp")),
    "surface/unknown": _edit(_surface, _put("surfaceOp", "prepend"), _put("surfaceOp", {})),
    "surface/itself": _edit(_surface, _replace_itself),
    "surface/backwards": _edit(_wide_replace, _swap_ends),
    "surface/not cited": _edit(_replace, _forget_shadowed, _remove("sourceEventSeqs")),
    "surface/further key": _edit(_replace, _put("more", 1, "surfaceOp")),
    "surface/result differs": _edit(
        _replaced_result, _put("meta", "other", "data"), _put("turn", True, "data")
    ),
    "sources/twice": _edit(
        _cited, lambda value: value["sourceEventSeqs"].append(value["sourceEventSeqs"][0])
    ),
    "sources/own": _edit(_surface, lambda value: value.update(sourceEventSeqs=[value["seq"]])),
    "sources/none": _edit(_is("user/message"), _put("sourceEventSeqs", [])),
    "sources/no seq": _edit(_surface, _put("sourceEventSeqs", [-1]), _put("sourceEventSeqs", {})),
    "relation/turn": _edit_unreplaced(_counted("turn"), lambda value: _add_one(value, "turn")),
    "relation/step": _edit_unreplaced(_counted("step"), lambda value: _add_one(value, "step")),
    "relation/call": _edit_unreplaced(_finished_result, _rename_call),
}
"""Every rule that `break_log` breaks, by name."""


def _add_one(value: Value, key: str) -> None:
    value["data"][key] += 1
