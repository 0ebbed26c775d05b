"""The ops that call an open session: append, inboxCalls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from turnlog.events.errors import CallerError
from turnlog.kernel.inbox import SPLICED, Inbox, inbox
from turnlog.kernel.inbox_plan import (
    InboxPlan,
    plan_append,
    plan_claim,
    plan_clear,
    plan_prepend,
    plan_remove,
    plan_replace,
    plan_splice,
)

from . import sessions
from .answers import Answer, answer, outcome
from .cases import Case
from .ops_log import session_value
from .ops_views import inbox_ids

__all__ = ["check_append", "check_inbox_calls"]

_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0}


def check_append(case: Case, recorded: Any) -> Iterator[Answer]:
    header = case.inputs["header"]
    options = {"seed": case.inputs["seed"]} if "seed" in case.inputs else {}
    session = sessions.session_class().create(header["id"], header=header, **options)
    calls = case.inputs["calls"]
    yield Answer(0, "number of calls", len(recorded["calls"]), len(calls))
    for index, (call, expected) in enumerate(zip(calls, recorded["calls"], strict=True)):
        found = outcome(lambda call=call: _append(session, put_numbers_in(call)), CallerError)
        if type(found) is dict and found["ok"]:
            found = {"ok": True, "seq": found["value"]}
        yield answer(0, f"call {index}", expected, found)
    yield Answer(0, "final state", recorded["value"], _final_state(session))


def check_inbox_calls(case: Case, recorded: Any) -> Iterator[Answer]:
    header = case.inputs["header"]
    session = sessions.session_class().from_restore(header["id"], case.inputs["events"], header)
    calls = case.inputs["calls"]
    yield Answer(0, "number of calls", len(recorded["calls"]), len(calls))
    for index, (call, expected) in enumerate(zip(calls, recorded["calls"], strict=True)):

        def found(call: Any = call) -> Any:
            plan, result = _INBOX_CALLS[call["call"]](inbox(session.log), call)
            session.append_all(plan.drafts)
            return result

        yield answer(0, f"call {index}", expected, outcome(found, CallerError))
    logged = [
        event.data
        for event in session.log.events(session.first_live_seq)
        if event.type == SPLICED
    ]
    yield Answer(0, "logged", recorded["logged"], logged)
    yield Answer(0, "final lists", recorded["value"], inbox_ids(session.log))


def put_numbers_in(call: Any) -> Any:
    """Give a call with each `{"$number": name}` as the number that it stands for; iterative."""
    root = [call]
    containers: list[Any] = [root]
    while containers:
        container = containers.pop()
        places = enumerate(container) if type(container) is list else container.items()
        for place, item in list(places):
            if type(item) is dict and list(item) == ["$number"]:
                container[place] = _NUMBERS[item["$number"]]
            elif type(item) is list or type(item) is dict:
                container[place] = item.copy()
                containers.append(container[place])
    return root[0]


def _append(session: Any, call: dict[str, Any]) -> int:
    event = session.append(
        call["type"],
        call["data"],
        surface=call.get("surfaceOp"),
        sources=call.get("sourceEventSeqs"),
    )
    return event.seq


def _final_state(session: Any) -> dict[str, Any]:
    events = []
    for event in session.log.events():
        value = event.to_json()
        del value["time"]
        events.append(value)
    return {**session_value(session), "events": events}


_InboxCall = Callable[[Inbox, dict[str, Any]], tuple[InboxPlan, Any]]


def _claim(pending: Inbox, call: dict[str, Any]) -> tuple[InboxPlan, Any]:
    plan = plan_claim(pending, call["target"])
    return plan, [message.id for message in plan.messages]


def _splice(pending: Inbox, call: dict[str, Any]) -> tuple[InboxPlan, Any]:
    plan = plan_splice(
        pending, call["target"], call["start"], call["deleteCount"], call["inserted"]
    )
    return plan, [message.id for message in plan.messages]


def _replace(pending: Inbox, call: dict[str, Any]) -> tuple[InboxPlan, Any]:
    plan = plan_replace(pending, call["id"], call["message"])
    return plan, bool(plan.drafts)


def _remove(pending: Inbox, call: dict[str, Any]) -> tuple[InboxPlan, Any]:
    plan = plan_remove(pending, call["id"])
    return plan, bool(plan.drafts)


_INBOX_CALLS: dict[str, _InboxCall] = {
    "append": lambda pending, call: (plan_append(pending, call["target"], call["message"]), None),
    "prepend": lambda pending, call: (plan_prepend(pending, call["target"], call["message"]), None),
    "clear": lambda pending, call: (plan_clear(pending), None),
    "claim": _claim,
    "splice": _splice,
    "replace": _replace,
    "remove": _remove,
}
