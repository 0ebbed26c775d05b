"""The ops that rebuild a session, and those on its rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from turnlog.events.errors import BadRow, EmptyReplacement, RestoreRefused, UnknownRequiredType
from turnlog.events.event import Event
from turnlog.events.jsonl import read_jsonl
from turnlog.events.rows import Row, expand, pack, unpack_value
from turnlog.events.vocabulary import Registry
from turnlog.kernel.log import Log, RowLog
from turnlog.kernel.messages import MessageList, messages
from turnlog.kernel.request import RequestFold
from turnlog.kernel.restore import END_SEED, Restored, check_known, restore
from turnlog.kernel.state import SessionState
from turnlog.session.session import Session

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
    header, asked = case.inputs["header"], case.inputs.get("id")
    kept: list[Any] = []

    def by_kernel() -> Any:
        restored = restore(header, rows_of(case), id=asked)
        kept.extend(_json(restored.log.events()))
        return kernel_value(restored)

    def by_session() -> Any:
        name = header["id"] if asked is None else asked
        return session_value(Session.from_restore(name, events_of(case), header))

    yield answer(0, "by the kernel", recorded, outcome(by_kernel, RestoreRefused))
    yield answer(0, "by the session", recorded, outcome(by_session, RestoreRefused))
    if recorded["ok"]:
        yield Answer(0, "events kept", events_of(case), kept)


def check_prefix(case: Case, recorded: Any) -> Iterator[Answer]:
    header, asked = case.inputs["header"], case.inputs.get("id")
    whole = log_of(case)
    for item, expected in enumerate(recorded):
        length = expected["length"]

        def by_restore(length: int = length) -> Any:
            return kernel_value(restore(header, islice(rows_of(case), length), id=asked))

        def by_prefix(length: int = length) -> Any:
            return kernel_value(restore(header, whole.prefix(length).rows, id=asked))

        for by, call in (("of the events", by_restore), ("of the log's prefix", by_prefix)):
            found = outcome(call, RestoreRefused)
            yield answer(item, by, _without(expected, "length"), found)
        at = outcome(partial(_messages_at, whole, length), RestoreRefused)
        if expected["ok"]:
            wanted = {"ok": True, "value": expected["value"]["messages"]}
            yield answer(item, "messages of the log at", wanted, at)


def check_live(case: Case, recorded: Any) -> Iterator[Answer]:
    rows = RowLog()
    state = SessionState()
    projection = MessageList(rows.event)
    header = case.inputs["header"]
    session = Session.create(header["id"], header=header)
    in_step = True
    for item, (expected, event) in enumerate(zip(recorded, log_of(case).events(), strict=True)):

        def by_kernel(event: Event = event) -> Any:
            state.apply(event)
            rows.append(event)
            return _values(projection.of(state))

        def by_session(event: Event = event) -> Any:
            session.append(
                event.type,
                whole_numbers_as_ints(event.data),  # the gate wants an int where a reader takes 1.0
                surface=event.surface,
                sources=event.sources,
                ignorable=event.ignorable,
                time_ms=event.time_ms,
            )
            return _values(session.messages())

        wanted = {"ok": True, "value": expected}
        yield Answer(item, "by the kernel", wanted, outcome(by_kernel))
        if in_step and _replaces_by_nothing(event):
            # The one event of a sound log that our own append refuses: the session can't follow.
            in_step = False
            refused = outcome(by_session, EmptyReplacement)
            yield answer(item, "by the session", {"ok": False, "seq": event.seq}, refused)
        elif in_step:
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
    packed = outcome(lambda: list(pack(expand(log_of(case).rows))), BadRow)
    if type(packed) is not dict or not packed["ok"]:
        yield answer(0, "rows", recorded, packed)
        return
    rows: list[Row] = packed["value"]
    if "records" in recorded:  # of a recorded session the number of rows stands for the rows
        yield Answer(0, "rows", recorded, {"ok": True, "records": len(rows)})
    else:
        values = [json.loads(row.text) for row in rows]
        yield answer(0, "rows", recorded, {"ok": True, "value": values})
    wanted = {"ok": True, "value": events_of(case)}
    yield Answer(0, "rows expanded", wanted, outcome(lambda: _json(expand(rows))))


def check_unpack(case: Case, recorded: Any) -> Iterator[Answer]:
    records = case.inputs["records"]

    def by_value() -> Any:
        return [event for record in records for event in unpack_value(record)]

    yield answer(0, "of values", recorded, outcome(by_value, BadRow))


def check_event_count(case: Case, recorded: Any) -> Iterator[Answer]:
    events = events_of(case)
    yield Answer(0, "expanded", recorded, len(events))

    def of_file() -> list[Any]:
        with case.inputs["path"].open("rb") as file:
            header, rows = read_jsonl(file)
            return [header.value, *_json(expand(rows))]

    wanted = {"ok": True, "value": [case.inputs["header"], *events]}
    yield Answer(0, "by the reader of files", wanted, outcome(of_file))


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


def session_value(session: Session) -> dict[str, Any]:
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


def _messages_at(log: Log, seq: int) -> list[Any]:
    return _values(messages(log, seq))


def _json(events: Iterable[Event]) -> list[Any]:
    return [event.to_json() for event in events]


def _values(found: Iterable[Any]) -> list[Any]:
    return [message.value for message in found]


def _without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: item for name, item in value.items() if name != key}


def _replaces_by_nothing(event: Event) -> bool:
    if event.surface_value is None or event.appends:
        return False
    data = event.to_json()["data"]
    message = data if event.type == "user/message" else data["message"]
    return bool(message["content"] == [])


def whole_numbers_as_ints(value: Any) -> Any:
    """Give a JSON value with each whole number as an int; changes it in place, iterative."""
    root = [value]
    containers: list[Any] = [root]
    while containers:
        container = containers.pop()
        for place, item in list(
            enumerate(container) if type(container) is list else container.items()
        ):
            if type(item) is float and item.is_integer():
                container[place] = int(item)
            elif type(item) is list or type(item) is dict:
                containers.append(item)
    return root[0]
