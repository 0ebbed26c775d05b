"""Call every public function and class of a package with deep values: `python -m … PACKAGE`.

Any answer and any typed error will do; a RecursionError, another error of the interpreter, or a
crash will not. Prints the number of callables walked.
"""

from __future__ import annotations

import importlib
import inspect
import io
import itertools
import pkgutil
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from typing import Any

import msgspec

from turnlog.events import Draft, Event, Header, Registry, TurnlogError, event_row
from turnlog.events.jsontext import dumps
from turnlog.kernel import Log
from turnlog.kernel.messages import messages
from turnlog.kernel.request import Request

DEPTH = 100_000


def deep_list() -> Any:
    value: Any = "bottom"
    for _ in range(DEPTH):
        value = [value]
    return value


def deep_object(depth: int = DEPTH) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"k": value}
    return value


def deep_log() -> Log:
    """A log whose every event holds deep data, of each type that folds read."""
    # Two events at the full depth; the others deep enough to overflow any stack, for time's sake.
    deepest, deep = deep_object(), deep_object(5_000)
    user = {"id": "u", "role": "user", "source": {"kind": "user"}, "content": [deepest]}
    call = {"type": "tool-call", "id": "c", "name": "n", "arguments": "[" * DEPTH, "x": deep}
    reply = {
        "id": "a",
        "role": "assistant",
        "source": {"kind": "model", "provider": "p", "model": "m"},
        "content": [call, deep],
    }
    block = {"type": "tool-result", "toolCallId": "c", "content": [deepest]}
    result = {
        "id": "r",
        "role": "user",
        "source": {"kind": "tool", "callId": "c"},
        "content": [block],
    }
    step = {"turn": 1, "step": 1}
    header = {"config": {"provider": "p", "model": "m", "x": deep}, "tools": [deep]}
    splice = {"target": "next-turn", "start": 0, "inserted": [{**user, "content": [deep]}]}
    # Each type that a fold reads the inside of, once; every such row costs a slow decode per fold.
    events: list[tuple[str, Any, Any]] = [
        ("turn/start", {"turn": 1}, None),
        ("user/message", user, "append"),
        ("request/header", {"header": header, "reason": "initial"}, None),
        ("request/context", {"provider": "p", "model": "m", "x": deep}, None),
        ("agent/inbox/spliced", splice, None),
        ("step/start", step, None),
        ("assistant/chunk", {**step, "chunk": {"type": "usage", "usage": deep}}, None),
        ("llm/retry", {**step, "error": deep}, None),
        ("assistant/message", {**step, "message": reply}, "append"),
        ("tool/call", {**step, "callId": "c", "name": "n", "arguments": "{" * DEPTH}, None),
        ("tool/result", {**step, "message": result}, "append"),
        ("todo/write", {"todos": [{"content": "x", "status": deep}]}, None),
        ("session/title", {"title": deep}, None),
        ("compaction/summary", {"summary": [deep]}, None),
        ("step/end", step, None),
        ("turn/end", {"turn": 1, "reason": {"kind": "error", "error": deep}}, None),
    ]
    rows = []
    for seq, (type_, data, surface) in enumerate(events):
        value = {"type": type_, "seq": seq, "time": 1, "data": data}
        if surface is not None:
            value["surfaceOp"] = surface
        rows.append(event_row(value))
    return Log(Header.of({"version": 0, "id": "s", "createdAt": 1, "x": deep}), tuple(rows))


def arguments() -> dict[str, list[Any]]:
    """Deep arguments by parameter name, then those tried for any other name."""
    log = deep_log()
    deep, listed = deep_object(), deep_list()
    text = dumps(deep)
    events = list(log.events())
    view = messages(log)
    request = Request.of({"config": {"provider": "p", "model": "m", "x": deep}}, [deep])
    return {
        "log": [log],
        "rows": [log.rows],
        "row": list(log.rows[:1]),
        "events": [events],
        "event": events,
        "header": [log.header, deep],
        "headers": [[log.header]],
        "registry": [Registry()],
        "message": [deep],
        "messages": [view, [deep]],
        "view": [view],
        "request": [request],
        "a": [request, deep],
        "b": [request, deep],
        "draft": [Draft("plan/mode", deep), deep],
        "drafts": [[Draft("plan/mode", listed)]],
        "type": ["user/message", "plan/mode"],
        "seq": [0, 3],
        "turn": [1],
        "step": [1],
        "call_id": ["c"],
        "path": [["a", 0]],
        "id": ["s"],
        "now_ms": [1],
        "source": [[text + b"\n"]],
        "f": [io.BytesIO(text)],
        "text": [text],
        "data": [deep, text],
        "value": [deep, listed, text],
        "key": [b"s"],
        "": [deep, listed, text, log, events[1]],
    }


# What a parameter that can't be deep is given, by its annotation.
_PLAIN: dict[str, list[Any]] = {
    "str": ["data"],
    "bytes": [b"{}"],
    "int": [1],
    "int | None": [1],
    "float": [1.0],
    "bool": [True],
}


def public(package: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions, classes and their public methods of every module of a package."""
    root = importlib.import_module(package)
    for module_info in pkgutil.iter_modules(root.__path__):
        module = importlib.import_module(f"{package}.{module_info.name}")
        for name in module.__all__:
            item = getattr(module, name)
            if inspect.isclass(item) and not _is_fold(item):
                continue
            if callable(item):
                yield f"{module.__name__}.{name}", item


def _is_fold(item: type) -> bool:
    """Whether a class computes; records, enums and errors only hold what they are given."""
    return not issubclass(item, BaseException | msgspec.Struct | tuple | Enum)


def calls(item: Callable[..., Any], given: dict[str, list[Any]]) -> Iterator[list[Any]]:
    """Positional arguments to try: each combination, within bounds, of what fits the names."""
    try:
        parameters = inspect.signature(item).parameters.values()
    except (TypeError, ValueError):
        return
    needed = [
        parameter
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    choices = [
        given.get(parameter.name.lstrip("_")) or _PLAIN.get(str(parameter.annotation)) or given[""]
        for parameter in needed
    ]
    yield from map(list, itertools.islice(itertools.product(*choices), 4))


def use(answer: Any) -> None:
    """Read what was returned, as a caller would: iterate it, and read its properties."""
    if hasattr(answer, "__next__"):
        answer = list(answer)
    items = answer if isinstance(answer, list | tuple) else [answer]
    for item in items[:6]:
        for name in dir(type(item)):
            if not name.startswith("_") and isinstance(getattr(type(item), name, None), property):
                try_call(partial(getattr, item, name))
        if not isinstance(item, dict | list):
            repr(item)


def try_call(call: Callable[[], Any]) -> Any:
    """Call; a typed error, or Python's own word about wrong types and values, is an answer too.

    So is that there is no such file: some names are of files in the package.
    """
    try:
        return call()
    except (TurnlogError, TypeError, ValueError, AttributeError, LookupError, FileNotFoundError):
        return None


def main(package: str) -> int:
    """Walk the package; 1 where something overflowed."""
    given = arguments()
    walked = 0
    failed = []
    for name, item in public(package):
        walked += 1
        for values in calls(item, given):
            try:
                use(try_call(partial(item, *values)))
            except (RecursionError, MemoryError) as error:
                failed.append(f"{name}: {type(error).__name__}")
                break
    for line in failed:
        print(line)
    print("walked", walked)
    return 1 if failed else 0


if __name__ == "__main__":
    # A process that ends normally frees its deep values; that may not crash either.
    event = Event("plan/mode", 0, 0)
    sys.exit(main(sys.argv[1]))
