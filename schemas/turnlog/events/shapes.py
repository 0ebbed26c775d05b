"""The shapes of event data: what `append` checks in full, and the part that restore checks.

Each check raises BadShape with the dotted name of the field. Further keys are always carried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .blocks import check_blocks
from .error_text import format_path, shown
from .errors import BadShape
from .gate import is_integer, is_seq

__all__ = ["check_core_shape", "check_integers", "check_message", "check_stored_shape"]


def check_message(message: Any, role: str, field: str, *, source_kind: str | None = None) -> None:
    """Check an identified message of a role: id, role, source and content (semantics.md section 1).

    Raises BadShape.
    """
    _object(message, field)
    _filled(message, "id", field)
    _one_of(message, "role", (role,), field)
    source = message.get("source")
    _object(source, f"{field}.source")
    _filled(source, "kind", f"{field}.source")
    if source_kind is not None:
        _one_of(source, "kind", (source_kind,), f"{field}.source")
    _list(message, "content", field)


def check_stored_shape(type: str, data: Any) -> None:
    """Check what restore checks of an event's data: messages, and the request header.

    Raises BadShape.
    """
    check = _STORED.get(type)
    if check is not None:
        check(data)


def check_core_shape(type: str, data: Any) -> None:
    """Check the data of a core event in full, as `append` does; other types pass.

    Raises BadShape.
    """
    check_stored_shape(type, data)
    check = _CORE.get(type)
    if check is not None:
        check(data)


def check_integers(type: str, data: Any) -> None:
    """Check that the integers of a core event are of type `int`: 1.0 is for readers only.

    The caller has asked `check_core_shape`. Raises BadShape.
    """
    for path in _INTEGERS.get(type, ()):
        value = data
        for key in path:
            value = value.get(key)
        if isinstance(value, float):
            raise BadShape(".".join(("data", *path)), "an int", shown(value))


_TURN, _STEP = ("turn",), ("step",)
_INTEGERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "turn/start": (_TURN,),
    "turn/end": (_TURN,),
    "step/start": (_TURN, _STEP),
    "step/end": (_TURN, _STEP),
    "assistant/chunk": (_TURN, _STEP, ("chunk", "index")),
    "assistant/message": (_TURN, _STEP),
    "tool/call": (_TURN, _STEP),
    "tool/result": (_TURN, _STEP),
    "request/context": (("contextWindow",),),
    "agent/inbox/spliced": (("start",), ("removedCount",)),
}


def _user_message(data: Any) -> None:
    check_message(data, "user", "data")


def _assistant_message(data: Any) -> None:
    _object(data, "data")
    message = data.get("message")
    check_message(message, "assistant", "data.message", source_kind="model")
    for key in ("provider", "model"):
        _filled(message["source"], key, "data.message.source")


def _tool_result(data: Any) -> None:
    _object(data, "data")
    message = data.get("message")
    check_message(message, "user", "data.message", source_kind="tool")
    _filled(message["source"], "callId", "data.message.source")
    content = message["content"]
    if len(content) != 1:
        raise BadShape("data.message.content", "exactly one block", f"{len(content)}")
    block = content[0]
    field = "data.message.content[0]"
    _object(block, field)
    _one_of(block, "type", ("tool-result",), field)
    _one_of(block, "toolCallId", (message["source"]["callId"],), field)
    _list(block, "content", field)


def _request_header(data: Any) -> None:
    _object(data, "data")
    header = data.get("header")
    _object(header, "data.header")
    config = header.get("config")
    _object(config, "data.header.config")
    for key in ("provider", "model"):
        _filled(config, key, "data.header.config")
    if "reasoningEffort" in config:
        _filled(config, "reasoningEffort", "data.header.config")
    if "adapterDefaults" in header:
        defaults = header["adapterDefaults"]
        _object(defaults, "data.header.adapterDefaults")
        for key, marker in defaults.items():
            field = f"data.header.adapterDefaults{format_path([key]).removeprefix('$')}"
            if key not in ("reasoningEffort", "maxTokens"):
                raise BadShape(field, "reasoningEffort or maxTokens", "another key")
            if marker is not True:
                raise BadShape(field, "true", shown(marker))
            if key not in config:
                raise BadShape(field, f"config to have {key}", "it absent")
    if data.get("reason") == "fallback":
        raise BadShape("data.reason", "initial, resume or change", "the older form fallback")


_STORED: dict[str, Callable[[Any], None]] = {
    "user/message": _user_message,
    "assistant/message": _assistant_message,
    "tool/result": _tool_result,
    "request/header": _request_header,
}


def _turn_start(data: Any) -> None:
    _seqs(data, ("turn",))


def _turn_end(data: Any) -> None:
    _seqs(data, ("turn",))
    reason = data.get("reason")
    _object(reason, "data.reason")
    _filled(reason, "kind", "data.reason")
    if reason["kind"] == "aborted":
        cause = reason.get("reason")
        _object(cause, "data.reason.reason")
        kinds = ("user", "parent", "disposed", "legacy", "hook")
        _one_of(cause, "kind", kinds, "data.reason.reason")
        if cause["kind"] == "hook":
            _string(cause, "reason", "data.reason.reason")
    elif reason["kind"] == "error":
        error = reason.get("error")
        _object(error, "data.reason.error")
        _string(error, "message", "data.reason.error")
        _string(error, "code", "data.reason.error")


def _step(data: Any) -> None:
    _seqs(data, ("turn", "step"))


_INDEXED = ("block-start", "text-delta", "reasoning-delta", "tool-call-delta", "block-end")


def _chunk(data: Any) -> None:
    _step(data)
    chunk = data.get("chunk")
    field = "data.chunk"
    _object(chunk, field)
    _filled(chunk, "type", field)
    kind = chunk["type"]
    if kind in _INDEXED and not is_integer(chunk.get("index")):
        raise BadShape(f"{field}.index", "an integer", shown(chunk.get("index")))
    if kind == "block-start":
        _string(chunk, "blockType", field)
    elif kind in ("text-delta", "reasoning-delta"):
        _string(chunk, "text", field)
    elif kind == "tool-call-delta":
        _string(chunk, "id", field)
        _string(chunk, "argumentsDelta", field)
        if "name" in chunk:
            _string(chunk, "name", field)
    elif kind == "block-end":
        _object(chunk.get("block"), f"{field}.block")
    elif kind == "usage":
        _object(chunk.get("usage"), f"{field}.usage")
    elif kind == "finish" and "reason" not in chunk:
        raise BadShape(f"{field}.reason", "the reason", "nothing")


def _message(data: Any) -> None:
    check_blocks(data["content"], "data.content")


def _message_of_step(data: Any) -> None:
    _step(data)
    check_blocks(data["message"]["content"], "data.message.content")
    if "interrupted" in data and data["interrupted"] is not True:
        raise BadShape("data.interrupted", "true", shown(data["interrupted"]))


def _tool_call(data: Any) -> None:
    _step(data)
    _filled(data, "callId", "data")
    _string(data, "name", "data")
    _string(data, "arguments", "data")


def _result_of_step(data: Any) -> None:
    _step(data)
    check_blocks(data["message"]["content"], "data.message.content")
    if "error" in data:
        _object(data["error"], "data.error")
        _string(data["error"], "name", "data.error")
        _string(data["error"], "code", "data.error")


def _todo_write(data: Any) -> None:
    _object(data, "data")
    _list(data, "todos", "data")
    for index, todo in enumerate(data["todos"]):
        field = f"data.todos[{index}]"
        _object(todo, field)
        _string(todo, "content", field)
        _one_of(todo, "status", ("pending", "in_progress", "completed"), field)


def _header_reason(data: Any) -> None:
    _one_of(data, "reason", ("initial", "resume", "change"), "data")


def _request_context(data: Any) -> None:
    _object(data, "data")
    _filled(data, "provider", "data")
    _filled(data, "model", "data")
    if "contextWindow" in data and not is_seq(data["contextWindow"]):
        raise BadShape("data.contextWindow", "a count of tokens", shown(data["contextWindow"]))


def _inbox_spliced(data: Any) -> None:
    _object(data, "data")
    _one_of(data, "target", ("next-turn", "next-step"), "data")
    _seqs(data, ("start",))
    if "removedCount" in data:
        _seqs(data, ("removedCount",))
    _list(data, "inserted", "data")
    for index, message in enumerate(data["inserted"]):
        check_message(message, "user", f"data.inserted[{index}]")
        check_blocks(message["content"], f"data.inserted[{index}].content")
    if "outcome" in data:
        _one_of(data, "outcome", ("canceled",), "data")


def _end_seed(data: Any) -> None:
    _object(data, "data")


_CORE: dict[str, Callable[[Any], None]] = {
    "turn/start": _turn_start,
    "turn/end": _turn_end,
    "step/start": _step,
    "step/end": _step,
    "user/message": _message,
    "assistant/chunk": _chunk,
    "assistant/message": _message_of_step,
    "tool/call": _tool_call,
    "tool/result": _result_of_step,
    "todo/write": _todo_write,
    "request/header": _header_reason,
    "request/context": _request_context,
    "agent/inbox/spliced": _inbox_spliced,
    "session/end-seed": _end_seed,
}


def _object(value: Any, field: str) -> None:
    if type(value) is not dict:
        raise BadShape(field, "an object", shown(value))


def _list(owner: Any, key: str, field: str) -> None:
    if type(owner.get(key)) is not list:
        raise BadShape(f"{field}.{key}", "a list", shown(owner.get(key)))


def _string(owner: Any, key: str, field: str) -> None:
    if type(owner.get(key)) is not str:
        raise BadShape(f"{field}.{key}", "a string", shown(owner.get(key)))


def _filled(owner: Any, key: str, field: str) -> None:
    if type(owner.get(key)) is not str or not owner[key]:
        raise BadShape(f"{field}.{key}", "a non-empty string", shown(owner.get(key)))


def _one_of(owner: Any, key: str, allowed: tuple[str, ...], field: str) -> None:
    value = owner.get(key)
    if type(value) is not str or value not in allowed:
        raise BadShape(f"{field}.{key}", " or ".join(map(shown, allowed)), shown(value))


def _seqs(data: Any, keys: Iterable[str]) -> None:
    _object(data, "data")
    for key in keys:
        if not is_seq(data.get(key)):
            raise BadShape(f"data.{key}", "a non-negative integer", shown(data.get(key)))
