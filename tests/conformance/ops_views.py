"""The ops on a log as it is stored: what turnlog's views say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from turnlog.events.errors import (
    BadSplice,
    InvalidBoundary,
    LineageCycle,
    MissingField,
    OpenTurn,
    UnknownSession,
)
from turnlog.events.header import Header
from turnlog.kernel.documents import documents
from turnlog.kernel.fork import plan_fork
from turnlog.kernel.inbox import inbox
from turnlog.kernel.invariants import invariants
from turnlog.kernel.lineage import trace_session
from turnlog.kernel.log import Log
from turnlog.kernel.repair import repair
from turnlog.kernel.request_header import canonical, headers_equal
from turnlog.kernel.statistics import statistics
from turnlog.kernel.trace import EventTrace, EventTraces, trace_event

from .answers import Answer, answer, outcome
from .cases import Case
from .inputs import events_of, logs_of

__all__ = [
    "check_closers",
    "check_documents",
    "check_fork",
    "check_headers",
    "check_inbox",
    "check_invariants",
    "check_lineage",
    "check_stats",
    "check_trace",
]

_CLOSER_TEXT = "*"  # stands for the wording of a closer's result, which is ours
_FORK_CODES = {InvalidBoundary: "INVALID_BOUNDARY", OpenTurn: "OPEN_TURN"}
_LINEAGE_CODES = {LineageCycle: "CYCLE", UnknownSession: "NOT_FOUND"}


def check_invariants(case: Case, recorded: Any) -> Iterator[Answer]:
    for by, log in logs_of(case).items():

        def found(log: Log = log) -> dict[str, Any]:
            state = invariants(log)
            if state.first_breach is not None:
                return {"ok": False, "seq": state.first_breach.seq}
            return {
                "ok": True,
                "openTurn": state.open_turn,
                "openStep": state.open_step,
                "nextTurn": state.next_turn,
                "nextStep": state.next_step,
                "pendingCalls": list(state.pending_calls),
            }

        result = outcome(found)
        yield answer(0, by, recorded, result["value"] if type(result) is dict else result)


def check_closers(case: Case, recorded: Any) -> Iterator[Answer]:
    wanted = recorded
    if recorded["ok"]:
        value = [_without_wording(event) for event in recorded["value"]]
        wanted = {**recorded, "value": value}
    for by, log in logs_of(case).items():

        def found(log: Log = log) -> list[Any]:
            return [
                _without_wording(_event_of_draft(draft, seq))
                for seq, draft in enumerate(repair(log), log.next_seq)
            ]

        yield from _view_answers(by, wanted, found)


def check_stats(case: Case, recorded: Any) -> Iterator[Answer]:
    for by, log in logs_of(case).items():
        yield from _view_answers(by, recorded, partial(_totals, log))


def check_documents(case: Case, recorded: Any) -> Iterator[Answer]:
    for by, log in logs_of(case).items():

        def found(log: Log = log) -> list[Any]:
            return [
                {
                    "session": document.session,
                    "seq": document.seq,
                    "type": document.type,
                    "time": document.time_ms,
                    "surface": str(document.surface.value),
                    "text": document.text,
                }
                for document in documents(log)
            ]

        wanted = recorded
        if recorded["ok"]:
            # The answers leave out what a document takes over from its event as it stands.
            times = {event["seq"]: event["time"] for event in events_of(case)}
            value = [
                {**document, "session": log.header.id, "time": times.get(document["seq"])}
                for document in recorded["value"]
            ]
            wanted = {**recorded, "value": value}
        yield from _view_answers(by, wanted, found)


def check_inbox(case: Case, recorded: Any) -> Iterator[Answer]:
    for by, log in logs_of(case).items():
        found = outcome(partial(inbox_ids, log), BadSplice)
        yield answer(0, by, recorded, found)


def inbox_ids(log: Log) -> dict[str, list[str]]:
    """Give the ids of the pending messages, by list."""
    pending = inbox(log)
    return {
        "nextTurn": [message.id for message in pending.next_turn],
        "nextStep": [message.id for message in pending.next_step],
    }


def check_trace(case: Case, recorded: Any) -> Iterator[Answer]:
    for by, log in logs_of(case).items():
        traces = EventTraces(log)
        for item, expected in enumerate(recorded):
            seq = expected["seq"]
            wanted = {key: value for key, value in expected.items() if key != "seq"}
            found = outcome(partial(_trace_json, traces.trace, seq))
            yield answer(item, by, wanted, found)
            if item == 0:
                alone = outcome(partial(_trace_json, partial(trace_event, log), seq))
                yield answer(item, f"alone, {by}", wanted, alone)


def check_lineage(case: Case, recorded: Any) -> Iterator[Answer]:
    headers = [Header.of(session) for session in case.inputs["sessions"]]
    for item, expected in enumerate(recorded):
        wanted = {key: value for key, value in expected.items() if key != "id"}
        yield _coded(
            item, "", wanted, partial(_lineage_json, headers, expected["id"]), _LINEAGE_CODES
        )


def check_fork(case: Case, recorded: Any) -> Iterator[Answer]:
    for by, log in logs_of(case).items():
        for item, expected in enumerate(recorded):
            wanted = {key: value for key, value in expected.items() if key != "boundary"}

            def found(log: Log = log, boundary: Any = expected["boundary"]) -> dict[str, Any]:
                return {"seedLength": plan_fork(log, boundary).seed_length}

            yield _coded(item, by, wanted, found, _FORK_CODES)


def check_headers(case: Case, recorded: Any) -> Iterator[Answer]:
    a, b = case.inputs["a"], case.inputs["b"]

    def found() -> dict[str, Any]:
        return {"equal": headers_equal(a, b), "a": canonical(a), "b": canonical(b)}

    yield answer(0, "", {"ok": True, "value": recorded}, outcome(found))


def _totals(log: Log) -> dict[str, Any]:
    return statistics(log).to_json()


def _trace_json(trace: Callable[[int], EventTrace], seq: int) -> dict[str, Any]:
    return trace(seq).to_json()


def _lineage_json(headers: list[Header], id: str) -> dict[str, Any]:
    return trace_session(headers, id).to_json()


def _view_answers(by: str, recorded: Any, call: Callable[[], Any]) -> Iterator[Answer]:
    """Pair a view's answer; a refusal must name the event that the view can't read."""
    found = outcome(call, MissingField)
    yield answer(0, by, recorded, found)
    if not recorded["ok"] and type(found) is dict and not found["ok"]:
        yield Answer(0, f"names a seq, {by}", True, type(found.get("seq")) is int)


def _coded(
    item: int,
    by: str,
    wanted: Any,
    call: Callable[[], Any],
    codes: dict[type[Any], str],
) -> Answer:
    found = outcome(call, *codes)
    code = ""
    if type(found) is dict and not found["ok"]:
        name = str(found["error"]).partition(":")[0]
        code = next(text for error, text in codes.items() if error.__name__ == name)
    return answer(item, by, wanted, found, code=code)


def _event_of_draft(draft: Any, seq: int) -> dict[str, Any]:
    value = {"type": draft.type, "seq": seq, "time": draft.time_ms, "data": draft.data}
    if draft.surface is not None:
        value["surfaceOp"] = draft.surface
    if draft.sources is not None:
        value["sourceEventSeqs"] = list(draft.sources)
    if draft.ignorable:
        value["ignorable"] = True
    return value


def _without_wording(event: Any) -> Any:
    """Put a mark in the place of a closing result's text, where there is any."""
    if event["type"] != "tool/result":
        return event
    message = event["data"]["message"]
    blocks = [
        {
            **block,
            "content": [
                {**inner, "text": _CLOSER_TEXT} if inner.get("text") else inner
                for inner in block["content"]
            ],
        }
        for block in message["content"]
    ]
    return {**event, "data": {**event["data"], "message": {**message, "content": blocks}}}
