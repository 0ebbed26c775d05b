"""What an op gives the runner: recorded answers beside the answers that turnlog found."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.events.errors import TurnlogError

from .cases import Case

__all__ = ["Answer", "Op", "answer", "outcome", "required"]

_NAMED_INDEX = re.compile(r"\bat index (\d+)\b")


class Answer(NamedTuple):
    """One comparison: the recorded answer `item`, counted from 0, and what `by` gave for it."""

    item: int
    by: str
    expected: Any
    found: Any


Op = Callable[[Case, Any], Iterator[Answer]]
"""`(case, recorded) -> comparisons`: one or more for each recorded answer of the op."""


class Crash:
    """An exception that is no refusal: equal to no answer, shown with its place."""

    def __init__(self, error: Exception) -> None:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        self._text = f"{type(error).__name__}: {error} ({place})"

    def __repr__(self) -> str:
        return self._text


def outcome(call: Callable[[], Any], *refusals: type[TurnlogError]) -> Any:
    """Call, and give `{ok: true, value}`, or `{ok: false, error, …}` with the facts of a refusal.

    Only the named errors are refusals; all else is a Crash, which no recorded answer equals.
    """
    try:
        return {"ok": True, "value": call()}
    except refusals as error:
        facts = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        for key in ("index", "seq", "type"):
            if hasattr(error, key):
                facts[key] = getattr(error, key)
        return facts
    except Exception as error:  # noqa: BLE001 whatever it is, it is reported as no answer
        return Crash(error)


def answer(item: int, by: str, expected: Any, found: Any, *, code: str | None = None) -> Answer:
    """Pair an answer of the form `{ok, …}` with an outcome, wording aside.

    Of a refusal `ok` and the position are required, and `code` where the op has codes: then `code`
    is the one that the found refusal stands for.
    """
    if type(expected) is not dict or expected.get("ok") is not False:
        return Answer(item, by, expected, found)
    wanted = required(expected)
    if code is not None:
        wanted["code"] = expected.get("code")
    if type(found) is dict and found.get("ok") is False:
        found = {key: found[key] for key in wanted if key in found}
        if code is not None:
            found["code"] = code
    return Answer(item, by, wanted, found)


def required(refusal: dict[str, Any]) -> dict[str, Any]:
    """Keep of a recorded refusal what must be found again: all but its wording and its code."""
    kept = {key: value for key, value in refusal.items() if key not in ("error", "code")}
    named = _NAMED_INDEX.search(str(refusal.get("error", "")))
    if named and "index" not in kept:
        kept["index"] = int(named.group(1))
    return kept
