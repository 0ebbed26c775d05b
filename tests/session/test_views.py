"""Views of a live session: of a faulty log, after a take-over, and that nothing can change them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.session.backends import Backend
from tests.session.doubles import UnreliableLogStore
from tests.session.talk import chunk, run_turn, say, user
from turnlog.events import (
    BadSplice,
    Conflict,
    Draft,
    Event,
    Header,
    MissingField,
    Registry,
    Replace,
    RestoreRefused,
    Superseded,
    SurfaceRefused,
    TooLarge,
    event_row,
)
from turnlog.events.gate import MAX_EVENT_BYTES
from turnlog.kernel import Log, messages
from turnlog.session import MemoryLogs, MemoryStore, Session, SessionStore


def splice(seq: int, start: int, *ids: str) -> dict[str, Any]:
    data = {"target": "next-turn", "start": start, "inserted": [user(id) for id in ids]}
    return {"type": "agent/inbox/spliced", "seq": seq, "time": 1, "data": data}


def test_a_splice_that_does_not_fit_is_named_each_time() -> None:
    store = MemoryStore(MemoryLogs())
    events = [splice(0, 0, "a"), splice(1, 5, "b")]
    store.import_log(Header.new("s", 1), map(event_row, events))
    session = store.open("s")
    for _ in range(3):
        with pytest.raises(BadSplice) as caught:
            _ = session.inbox
        assert caught.value.seq == 1
        with pytest.raises(BadSplice):
            session.claim_inbox("next-turn")
    store.close()


def test_an_invariant_that_raises_is_asked_about_each_event_once() -> None:
    fails = [True]

    def counts(state: Any, event: Event) -> tuple[Any, str | None]:
        if event.seq == 2 and fails:
            fails.pop()
            raise ZeroDivisionError
        return state + 1, None if state == event.seq else f"{event.seq} is heard as {state}"

    registry = Registry()
    registry.register("own/thing", invariant=lambda state, event: counts(state or 0, event))
    session = Session.create("s", registry=registry)
    session.append("turn/start", {"turn": 1})
    session.append("step/start", {"turn": 1, "step": 1})
    session.append_all([chunk(f"t{index}") for index in range(5)])
    with pytest.raises(ZeroDivisionError):
        _ = session.breaches
    assert session.breaches == ()


@pytest.mark.parametrize("data", [[1], "text", 7, None])
@pytest.mark.parametrize("act", ["append", "append_all"])
def test_a_log_only_event_that_would_replace_is_refused_whatever_its_data(
    act: str, data: Any
) -> None:
    session = Session.create("s")
    say(session, "u1")
    appends: dict[str, Callable[[], object]] = {
        "append": lambda: session.append("plan/mode", data, surface=Replace(0, 0), sources=[0]),
        "append_all": lambda: session.append_all([Draft("plan/mode", data, Replace(0, 0), [0])]),
    }
    with pytest.raises(SurfaceRefused):
        appends[act]()
    assert session.next_seq == 1


def test_a_superseded_session_shows_nothing_that_is_not_its_log() -> None:
    kept = MemoryLogs()
    store, other = MemoryStore(kept), MemoryStore(kept)
    session = store.create("s")
    say(session, "u1")
    session.flush()
    say(session, "lost")
    other.open("s", take_over=True)
    with pytest.raises(Superseded):
        session.flush()
    for name in ("state", "breaches", "log", "inbox"):
        with pytest.raises(Superseded):
            getattr(session, name)
    for act in (session.messages, session.request):
        with pytest.raises(Superseded):
            act()
    store.close()
    other.close()


def test_a_conflict_names_the_head_with_what_is_in_flight() -> None:
    store = SessionStore(UnreliableLogStore(), window_s=60)
    session = store.create("s")
    say(session, "u1")
    say(session, "u2")
    with pytest.raises(Conflict) as caught:
        session.append("user/message", user("other"), surface="append", expected_seq=0)
    assert (caught.value.head.next_seq, caught.value.head.hash) == (2, b"")
    assert session.head is not None
    assert (caught.value.head.writer, caught.value.expected_seq) == (session.head.writer, 0)
    assert "another writer" not in str(caught.value)
    session.flush()
    with pytest.raises(Conflict) as caught:
        session.append("user/message", user("other"), surface="append", expected_seq=7)
    assert caught.value.head == session.head
    with pytest.raises(Conflict) as caught:
        Session.create("t").append("plan/mode", {}, expected_seq=3)
    assert caught.value.head.next_seq == 0
    store.close()


def test_a_stored_message_without_data_is_named() -> None:
    value = {"type": "user/message", "seq": 0, "time": 1, "surfaceOp": "append"}
    with pytest.raises(MissingField) as caught:
        messages(Log(Header.new("s", 1), (event_row(value),)))
    assert (caught.value.seq, caught.value.field) == (0, "data")


LOSSY: list[Any] = [
    float("nan"),
    float("inf"),
    (1, 2),
    {1, 2},
    b"x",
    {1: 2},
    10**30,
    Header.new("s", 1),
]


@pytest.mark.parametrize("value", LOSSY, ids=str)
def test_a_seed_that_json_can_not_hold_is_refused(value: Any) -> None:
    good = {"type": "plan/mode", "seq": 0, "time": 1, "data": {}}
    bad = {"type": "plan/mode", "seq": 1, "time": 1, "data": {"x": [value]}}
    header = {"version": 0, "id": "s", "createdAt": 1}
    acts: list[Callable[[], object]] = [
        lambda: Session.create("s", [good, bad]),
        lambda: Session.from_restore("s", [good, bad], header),
        lambda: MemoryStore().create("s", seed=[good, bad]),
    ]
    for act in acts:
        with pytest.raises(RestoreRefused) as caught:
            act()
        assert caught.value.index == 1
        assert "$.data.x[0]" in str(caught.value)


@pytest.mark.parametrize("value", LOSSY, ids=str)
def test_a_header_that_json_can_not_hold_is_refused(value: Any) -> None:
    header = {"version": 0, "id": "s", "createdAt": 1, "own": {"x": value}}
    acts: list[Callable[[], object]] = [
        lambda: Session.create("s", header=header),
        lambda: Session.from_restore("s", [], header),
        lambda: MemoryStore().create(header=header),
        lambda: MemoryStore().import_log(header, []),
    ]
    for act in acts:
        with pytest.raises(RestoreRefused) as caught:
            act()
        assert caught.value.index is None
        assert "header.own.x" in str(caught.value)


def test_what_a_seed_holds_is_no_more_the_callers_to_change() -> None:
    event = {"type": "plan/mode", "seq": 0, "time": 1, "data": {"x": [-0.0, 2**60]}}
    session = Session.create("s", [event])
    event["data"] = {}
    first = session.log.event(0)
    assert first is not None
    assert str(first.data) == "{'x': [-0.0, 1152921504606846976]}"


def test_a_group_is_measured_as_it_is_stored() -> None:
    text = "x" * 8_100
    session = Session.create("s")
    events = session.append_all([chunk(text)] * 1024)  # unpacked they would be above the limit
    assert sum(len(event.text) for event in events) > MAX_EVENT_BYTES
    assert sum(len(row.text) for row in session.log.rows) < MAX_EVENT_BYTES
    with pytest.raises(TooLarge):
        session.append_all([chunk("x" * 8_300)] * 1024)


def test_one_observer_can_not_change_what_the_next_one_hears() -> None:
    session = Session.create("s")
    heard: list[object] = []

    def spoils(event: Event) -> None:
        event.data.clear()
        for value in (event.sources_value, event.surface_value, event.to_json()):
            if isinstance(value, list):
                value.append(77)
            elif isinstance(value, dict):
                value.clear()

    def hears(event: Event) -> None:
        heard.append((event.sources, event.surface, event.data["id"]))

    say(session, "u1")
    session.observe(event=spoils)
    session.observe(event=hears)
    session.append("user/message", user("u2"), surface=Replace(0, 0), sources=[0])
    assert heard == [((0,), Replace(0, 0), "u2")]
    logged = session.log.event(1)
    assert logged is not None
    logged.sources_value.append(5)
    assert logged.sources == (0,)


def test_a_strict_session_is_still_strict_after_it_was_resumed(backend: Backend) -> None:
    with backend.store() as store:
        run_turn(store.create("s"))
    session = backend.store().open("s", strict=True)
    with pytest.raises(Exception, match="turn"):
        session.append("turn/start", {"turn": 7})
