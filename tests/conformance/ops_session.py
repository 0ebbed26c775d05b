"""The ops that call an open session: append, child, inboxCalls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from turnlog.events.errors import CallerError, RestoreRefused
from turnlog.events.event import read_draft
from turnlog.events.header import Header
from turnlog.kernel import inbox_plan
from turnlog.kernel.fork import child_header, plan_fork
from turnlog.kernel.inbox import SPLICED, Inbox
from turnlog.kernel.inbox_plan import InboxPlan
from turnlog.kernel.log import Log
from turnlog.kernel.restore import restore
from turnlog.session.memory import MemoryLogs
from turnlog.session.session import Session
from turnlog.session.stores import MemoryStore

from .answers import Answer, answer, outcome
from .cases import Case
from .inputs import log_of, rows_of
from .ops_log import kernel_value, session_value
from .ops_views import inbox_ids

__all__ = ["check_append", "check_child", "check_inbox_calls", "put_numbers_in"]

_CHILD_ID = "child"
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0}


def check_append(case: Case, recorded: Any) -> Iterator[Answer]:
    header = case.inputs["header"]
    options = {"seed": case.inputs["seed"]} if "seed" in case.inputs else {}
    session = Session.create(header["id"], header=header, **options)
    calls = case.inputs["calls"]
    yield Answer(0, "parts", sorted(recorded), ["calls", "value"])
    yield Answer(0, "number of calls", len(recorded["calls"]), len(calls))
    for index, (call, expected) in enumerate(zip(calls, recorded["calls"], strict=True)):
        found = outcome(partial(_append, session, put_numbers_in(call)), CallerError)
        if type(found) is dict and found["ok"]:
            found = {"ok": True, "seq": found["value"]}
        yield answer(0, f"call {index}", expected, found)
    yield Answer(0, "final state", recorded["value"], _final_state(session))


def check_inbox_calls(case: Case, recorded: Any) -> Iterator[Answer]:
    header = case.inputs["header"]
    session = Session.from_restore(header["id"], case.inputs["events"], header)
    calls = case.inputs["calls"]
    yield Answer(0, "parts", sorted(recorded), ["calls", "logged", "value"])
    yield Answer(0, "number of calls", len(recorded["calls"]), len(calls))
    for index, (call, expected) in enumerate(zip(calls, recorded["calls"], strict=True)):
        found = outcome(partial(_INBOX_CALLS[call["call"]], session, call), CallerError)
        yield answer(0, f"call {index}", expected, found)
    logged = [
        event.data for event in session.log.events(session.first_live_seq) if event.type == SPLICED
    ]
    yield Answer(0, "logged", recorded["logged"], logged)
    yield Answer(0, "final lists", recorded["value"], inbox_ids(session.log))


def check_child(case: Case, recorded: Any) -> Iterator[Answer]:
    for item, expected in enumerate(recorded):
        boundary = expected["boundary"]
        wanted = {key: value for key, value in expected.items() if key != "boundary"}
        by_kernel = partial(_child_of_log, log_of(case), boundary)
        yield answer(item, "by the kernel", wanted, outcome(by_kernel, RestoreRefused))
        by_store = partial(_child_of_store, case, boundary)
        yield answer(item, "by the store", wanted, outcome(by_store, RestoreRefused))


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


def _child_of_log(log: Log, boundary: int | None) -> dict[str, Any]:
    plan = plan_fork(log, boundary)
    header = child_header(plan, _CHILD_ID, 0)
    return {"header": _without_creation(header), **kernel_value(restore(header, plan.rows))}


def _child_of_store(case: Case, boundary: int | None) -> dict[str, Any]:
    with MemoryStore(MemoryLogs()) as store:
        parent = store.import_log(case.inputs["header"], rows_of(case)).session_id
        with store.fork(parent, boundary=boundary, child_id=_CHILD_ID) as child:
            return {"header": _without_creation(child.header), **session_value(child)}


def _without_creation(header: Header) -> dict[str, Any]:
    return {key: value for key, value in header.value.items() if key != "createdAt"}


def _append(session: Session, call: dict[str, Any]) -> int:
    return session.append_all([read_draft(call)])[0].seq


def _final_state(session: Session) -> dict[str, Any]:
    events = []
    for event in session.log.events():
        value = event.to_json()
        del value["time"]
        events.append(value)
    return {**session_value(session), "events": events}


def _change(session: Session, plan: Callable[[Inbox], InboxPlan]) -> bool:
    """Log a planned change; tells whether it changed anything, as to a message that was found."""
    before = session.next_seq
    session.change_inbox(plan)
    return session.next_seq > before


def _append_message(session: Session, call: dict[str, Any]) -> None:
    target, message = call["target"], call["message"]
    _change(session, lambda inbox: inbox_plan.plan_append(inbox, target, message))


def _prepend(session: Session, call: dict[str, Any]) -> None:
    target, message = call["target"], call["message"]
    _change(session, lambda inbox: inbox_plan.plan_prepend(inbox, target, message))


def _replace(session: Session, call: dict[str, Any]) -> bool:
    replaced, message = call["id"], call["message"]
    return _change(session, lambda inbox: inbox_plan.plan_replace(inbox, replaced, message))


def _remove(session: Session, call: dict[str, Any]) -> bool:
    return _change(session, lambda inbox: inbox_plan.plan_remove(inbox, call["id"]))


def _clear(session: Session, call: dict[str, Any]) -> None:
    _change(session, inbox_plan.plan_clear)


def _claim(session: Session, call: dict[str, Any]) -> list[Any]:
    return [message["id"] for message in session.claim_inbox(call["target"])]


def _splice(session: Session, call: dict[str, Any]) -> list[Any]:
    removed = session.splice_inbox(
        call["target"], call["start"], call["deleteCount"], call["inserted"]
    )
    return [message["id"] for message in removed]


_INBOX_CALLS: dict[str, Callable[[Session, dict[str, Any]], Any]] = {
    "append": _append_message,
    "claim": _claim,
    "clear": _clear,
    "prepend": _prepend,
    "remove": _remove,
    "replace": _replace,
    "splice": _splice,
}
