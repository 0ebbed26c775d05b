"""The ops that rebuild a session, and those on its rows: restore, prefix, live, known, pack, unpack."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from turnlog.events.errors import BadRow, RestoreRefused, UnknownRequiredType
from turnlog.events.event import Event
from turnlog.events.rows import Row, expand, pack, parse_row, unpack_value
from turnlog.events.vocabulary import Registry
from turnlog.kernel.log import Log, RowLog
from turnlog.kernel.messages import MessageList, messages
from turnlog.kernel.request import RequestFold
from turnlog.kernel.restore import END_SEED, Restored, check_known, restore
from turnlog.kernel.state import SessionState

from . import sessions
from .answers import Answer, answer, outcome
from .cases import Case
from .inputs import events_of, log_of, rows_of

__all__ = [
    "check_known_types",
    "check_live",
    "check_pack",
    "check_prefix",
    "check_restore",
    "check_unpack",
    "kernel_value",
    "session_value",
]


def check_restore(case: Case, recorded: Any) -> Iterator[Answer]:
    header, id = case.inputs["header"], case.inputs.get("id")

    def by_kernel() -> Any:
        restored = restore(header, rows_of(case), id=id)
        return kernel_value(restored)

    def by_session() -> Any:
        asked = id if id is not None else header["id"]
        return session_value(sessions.session_class().from_restore(asked, events_of(case), header))

    yield answer(0, "by the kernel", recorded, outcome(by_kernel, RestoreRefused))
    yield answer(0, "by the session", recorded, outcome(by_session, RestoreRefused))
    if recorded["ok"]:
        kept = outcome(lambda: _json(restore(header, rows_of(case), id=id).log.events()))
        yield Answer(0, "events kept", {"ok": True, "value": events_of(case)}, kept)


def check_prefix(case: Case, recorded: Any) -> Iterator[Answer]:
    header, id = case.inputs["header"], case.inputs.get("id")
    whole = log_of(case)
    for item, expected in enumerate(recorded):
        length = expected["length"]

        def by_restore(length: int = length) -> Any:
            return kernel_value(restore(header, islice(rows_of(case), length), id=id))

        def by_prefix(length: int = length) -> Any:
            return kernel_value(restore(header, whole.prefix(length).rows, id=id))

        for by, call in (("of the events", by_restore), ("of the log's prefix", by_prefix)):
            found = outcome(call, RestoreRefused)
            yield answer(item, by, _without(expected, "length"), found)
        at = outcome(lambda length=length: _values(messages(whole, length)), RestoreRefused)
        if expected["ok"]:
            wanted = {"ok": True, "value": expected["value"]["messages"]}
            yield answer(item, "messages of the log at", wanted, at)


def check_live(case: Case, recorded: Any) -> Iterator[Answer]:
    rows = RowLog()
    state = SessionState()
    projection = MessageList(rows.event)
    header = case.inputs["header"]
    session = sessions.session_class().create(header["id"], header=header)
    for item, (expected, event) in enumerate(zip(recorded, _views(case), strict=True)):

        def by_kernel(event: Event = event) -> Any:
            state.apply(event)
            rows.append(event)
            return _values(projection.of(state))

        def by_session(event: Event = event) -> Any:
            session.append(
                event.type,
                event.data,
                surface=event.surface,
                sources=event.sources,
                ignorable=event.ignorable,
                time_ms=event.time_ms,
            )
            return _values(session.messages())

        wanted = {"ok": True, "value": expected}
        yield Answer(item, "by the kernel", wanted, outcome(by_kernel))
        yield Answer(item, "by the session", wanted, outcome(by_session))


def check_known_types(case: Case, recorded: Any) -> Iterator[Answer]:
    registry = Registry()
    wanted = {**recorded, "value": None} if recorded["ok"] else recorded
    found = outcome(lambda: check_known(log_of(case), registry), UnknownRequiredType)
    yield answer(0, "of the log", wanted, found)
    restored = case.expect.get("restore", {"ok": True})
    if restored["ok"]:

        def by_restore() -> None:
            restore(case.inputs["header"], rows_of(case), registry, id=case.inputs.get("id"))

        yield answer(0, "by restore", wanted, outcome(by_restore, UnknownRequiredType))


def check_pack(case: Case, recorded: Any) -> Iterator[Answer]:
    events = events_of(case)

    def packed() -> list[Row]:
        return list(pack(_views(case)))

    if "records" in recorded:  # of a recorded session the number of rows stands for the rows
        found = outcome(lambda: len(packed()), BadRow)
        yield answer(0, "rows", {"ok": True, "value": recorded["records"]}, found)
    else:
        rows = outcome(lambda: [json.loads(row.text) for row in packed()], BadRow)
        yield answer(0, "rows", recorded, rows)
    if recorded["ok"]:
        wanted = {"ok": True, "value": events}
        yield Answer(0, "rows expanded", wanted, outcome(lambda: _json(expand(packed()))))
        stored = outcome(lambda: _json(expand(parse_row(row.text) for row in packed())))
        if not any(_bears_row_type(event) for event in events):
            yield Answer(0, "rows read and expanded", wanted, stored)


def check_unpack(case: Case, recorded: Any) -> Iterator[Answer]:
    records = case.inputs["records"]

    def by_value() -> Any:
        return [event for record in records for event in unpack_value(record)]

    yield answer(0, "of values", recorded, outcome(by_value, BadRow))


def check_event_count(case: Case, recorded: Any) -> Iterator[Answer]:
    yield Answer(0, "expanded", recorded, len(events_of(case)))


def kernel_value(restored: Restored) -> dict[str, Any]:
    """Give the answer of `restore` as the kernel has it, with the end-seed that is due added."""
    log = restored.log
    fold = RequestFold()
    last_type = None
    for event in log.events():
        fold.fold(event)
        last_type = event.type
    request = fold.request(messages(log), log.next_seq)
    return {
        "nodes": list(restored.state.nodes),
        "replaceGeneration": restored.state.replace_generation,
        "messages": _values(messages(log)),
        "requestHeader": request.header,
        "requestContext": request.context,
        "firstLiveSeq": restored.first_live_seq,
        "seq": restored.state.next_seq + restored.needs_end_seed,
        "lastType": END_SEED if restored.needs_end_seed else last_type,
    }


def session_value(session: Any) -> dict[str, Any]:
    """Give the answer of `restore` as an open session has it."""
    request = session.request()
    last = session.log.event(session.next_seq - 1)
    return {
        "nodes": list(session.state.nodes),
        "replaceGeneration": session.state.replace_generation,
        "messages": _values(session.messages()),
        "requestHeader": request.header,
        "requestContext": request.context,
        "firstLiveSeq": session.first_live_seq,
        "seq": session.next_seq,
        "lastType": None if last is None else last.type,
    }


def _views(case: Case) -> Iterator[Event]:
    return expand(rows_of(case))


def _json(events: Iterable[Event]) -> list[Any]:
    return [event.to_json() for event in events]


def _values(found: Iterable[Any]) -> list[Any]:
    return [message.value for message in found]


def _without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: item for name, item in value.items() if name != key}


def _bears_row_type(event: Any) -> bool:
    return type(event) is dict and event.get("type") in (
        "text-chunks",
        "reasoning-chunks",
        "tool-call-chunks",
    )
