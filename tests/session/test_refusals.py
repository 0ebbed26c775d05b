"""What every store refuses before anything of it is written: what it could not give back later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.session.backends import Backend
from tests.session.talk import HEADER
from turnlog.events import (
    MAX_EVENT_BYTES,
    Backpressure,
    BadSessionId,
    BadShape,
    Draft,
    Header,
    Superseded,
    TooLarge,
    UnknownSession,
    event_row,
)
from turnlog.events.header import MAX_HEADER_BYTES
from turnlog.events.jsonl import MAX_LINE_BYTES
from turnlog.session import MemoryLogs, MemoryStore, Session, SessionStore


def header(**fields: Any) -> dict[str, Any]:
    return {"version": 0, "id": "s", "createdAt": 0, **fields}


def title(size: int) -> dict[str, Any]:
    """An event whose row is of just this many bytes."""
    event = {"type": "session/title", "seq": 0, "time": 1, "data": ""}
    event["data"] = "x" * (size - len(event_row(event).text))
    return event


def call_delta(index: int, size: int, field: str = "id") -> Draft:
    delta = {"type": "tool-call-delta", "index": index, "id": "c", "argumentsDelta": "a"}
    chunk = delta | {field: "x" * size}
    return Draft("assistant/chunk", {"turn": 1, "step": 1, "chunk": chunk})


def test_a_seed_event_above_the_size_of_an_event_is_refused(backend: Backend) -> None:
    store = backend.store()
    with pytest.raises(TooLarge):
        store.create("s", seed=[title(MAX_EVENT_BYTES + 1)])
    with pytest.raises(UnknownSession):
        store.read("s")
    store.create("s", seed=[title(MAX_EVENT_BYTES)]).detach()
    assert backend.store().open("s").next_seq == 2


WAYS: dict[str, Callable[[SessionStore, Any], object]] = {
    "create": lambda store, value: store.create("s", header=value),
    "a Header": lambda store, value: store.create("s", header=Header.of(value)),
    "import": lambda store, value: store.import_log(value, []),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_header_that_not_every_store_can_write_is_refused(backend: Backend, way: str) -> None:
    store = backend.store()
    with pytest.raises(TooLarge, match="header"):
        WAYS[way](store, header(further="x" * MAX_HEADER_BYTES))
    with pytest.raises(BadShape) as refused:
        WAYS[way](store, header(type="zz"))
    assert refused.value.field == "header.type"
    with pytest.raises(UnknownSession):
        store.read("s")
    store.create("s", header=header(further="x" * (MAX_HEADER_BYTES - 100))).detach()
    assert backend.store().open("s").next_seq == 1


def test_a_fork_whose_header_is_too_large_is_refused(backend: Backend) -> None:
    store = backend.store()
    store.create("s")
    with pytest.raises(TooLarge, match="header"):
        store.fork("s", child_id="kid", agent_preset="x" * MAX_HEADER_BYTES)
    with pytest.raises(UnknownSession):
        store.read("kid")


def test_a_row_that_no_reader_takes_back_is_not_imported(backend: Backend) -> None:
    store = backend.store()
    with pytest.raises(TooLarge):
        store.import_log(header(), [event_row(title(MAX_LINE_BYTES + 1))])
    with pytest.raises(UnknownSession):
        store.read("s")


def test_an_empty_id_is_refused_and_none_is_minted_for_it(backend: Backend) -> None:
    store = backend.store()
    store.create("s")
    acts: list[Callable[[], object]] = [
        lambda: store.fork("s", child_id=""),
        lambda: store.create(""),
        lambda: store.create(header=header(id="")),
    ]
    for act in acts:
        with pytest.raises(BadSessionId):
            act()
    assert [info.id for info in store.sessions()] == ["s"]


def test_a_session_with_nothing_to_write_passes_no_barrier_once_it_is_superseded(
    backend: Backend,
) -> None:
    first = backend.store(window_s=60).create("s")
    first.append("turn/start", {"turn": 1})
    first.append("request/header", {"header": HEADER, "reason": "initial"})
    first.append("step/start", {"turn": 1, "step": 1})
    first.flush()
    request = first.request()
    second = backend.store().open("s", take_over=True)
    assert second.head is not None
    with pytest.raises(Superseded) as caught, first.model_call(request):
        pytest.fail("the request left")
    assert caught.value.head.writer == second.head.writer
    assert first.not_landed == ()
    assert first.closed
    with pytest.raises(Superseded):
        first.flush()
    first.detach()


@pytest.mark.parametrize("field", ["id", "name", "argumentsDelta"])
def test_all_texts_of_a_call_delta_count_as_its_size(field: str) -> None:
    session = Session.create("s")
    with pytest.raises(TooLarge):
        session.append_all([call_delta(index, 5 << 20, field) for index in range(3)])
    assert session.next_seq == 0
    store = MemoryStore(MemoryLogs(), window_s=60, max_pending_bytes=100_000)
    one, many = store.create("one"), store.create("many")
    first = call_delta(0, 90_000, field)
    one.append(first.type, first.data)
    with pytest.raises(Backpressure):
        one.append(*call_delta(1, 90_000, field)[:2])
    with pytest.raises(Backpressure):
        many.append_all([call_delta(index, 6_000, field) for index in range(2)])


def test_a_group_of_one_call_counts_its_id_once_as_it_is_stored() -> None:
    session = Session.create("s")
    assert len(session.append_all([call_delta(0, 5 << 20) for _ in range(3)])) == 3


@pytest.mark.parametrize("expected", ["1", 0.0, False, float("nan"), [0]])
def test_an_expected_seq_that_is_none_is_refused(expected: Any) -> None:
    session = Session.create("s")
    for act in (
        lambda: session.append("plan/mode", {}, expected_seq=expected),
        lambda: session.append_all([Draft("plan/mode", {})], expected_seq=expected),
    ):
        with pytest.raises(BadShape) as refused:
            act()
        assert refused.value.field == "expected_seq"
    assert session.next_seq == 0


MEGABYTE = "x" * 1_000_000
LONG: dict[str, Callable[[Session], object]] = {
    "type": lambda session: session.append(MEGABYTE, {}),
    "key": lambda session: session.append("plan/mode", {MEGABYTE: {1}}),
    "call": lambda session: session.append_late_result(
        1,
        1,
        MEGABYTE,
        {
            "id": "r",
            "role": "user",
            "source": {"kind": "tool", "callId": MEGABYTE},
            "content": [{"type": "tool-result", "toolCallId": MEGABYTE, "content": []}],
        },
    ),
    "marker": lambda session: session.append(
        "request/header",
        {
            "header": {
                "config": {"provider": "p", "model": "m"},
                "adapterDefaults": {MEGABYTE: True},
            },
            "reason": "initial",
        },
    ),
    "stored key": lambda session: Session.from_restore(
        "s", [{"type": "plan/mode", "seq": 0, "time": 1, "data": 0, MEGABYTE: 1}], header()
    ),
}


@pytest.mark.parametrize("what", LONG)
def test_a_refusal_is_short_whatever_was_refused(what: str) -> None:
    with pytest.raises(Exception, match="xxx") as refused:
        LONG[what](Session.create("s"))
    assert len(str(refused.value)) < 400
