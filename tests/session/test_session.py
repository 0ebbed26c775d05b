"""One session in memory: the gate's order, observers, barriers, views that can't change the log."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from tests.session.doubles import UnreliableLogStore
from tests.session.talk import HEADER, assistant, chunk, result, run_turn, say, user
from turnlog.events import (
    BadSessionId,
    BadShape,
    Closed,
    Draft,
    EmptyReplacement,
    Event,
    InvariantBreach,
    NotLossless,
    Reentrant,
    Registry,
    Replace,
    RequestMismatch,
    RestoreRefused,
    StoreFailed,
    SurfaceRefused,
    TooLarge,
    UnregisteredType,
    ViewBreach,
)
from turnlog.kernel import Request
from turnlog.session import MemoryStore, Session, SessionStore


def snapshot_of(session: Session) -> tuple[object, ...]:
    return (
        [row.text for row in session.log.rows],
        [message.value for message in session.messages()],
        session.state.save(),
        session.next_seq,
    )


REFUSED: list[tuple[type[Exception], dict[str, Any]]] = [
    (NotLossless, {"type": "plan/mode", "data": {"x": float("nan")}}),
    (BadShape, {"type": "turn/start", "data": {}}),
    (BadShape, {"type": "text-chunks", "data": {}}),
    (UnregisteredType, {"type": "own/thing", "data": {}}),
    (SurfaceRefused, {"type": "plan/mode", "data": {}, "surface": "append"}),
    (SurfaceRefused, {"type": "user/message", "data": user("u9")}),
    (
        SurfaceRefused,
        {"type": "user/message", "data": user("u9"), "surface": Replace(99, 99), "sources": [1]},
    ),
    (
        EmptyReplacement,
        {
            "type": "user/message",
            "data": user("u9") | {"content": []},
            "surface": Replace(1, 1),
            "sources": [1],
        },
    ),
    (TooLarge, {"type": "plan/mode", "data": {"x": "y" * (8 * 1024 * 1024)}}),
]


@pytest.mark.parametrize(("error", "draft"), REFUSED)
def test_a_refused_event_changes_nothing(error: type[Exception], draft: dict[str, Any]) -> None:
    session = Session.create("s")
    run_turn(session)
    before = snapshot_of(session)
    with pytest.raises(error):
        session.append(**draft)
    assert snapshot_of(session) == before
    with pytest.raises(error):
        session.append_all(
            [
                Draft("user/message", user("first"), "append"),
                chunk("second"),
                Draft(**draft),
            ]
        )
    assert snapshot_of(session) == before
    say(session, "next")


def test_a_group_above_the_limits_is_refused_whole() -> None:
    session = Session.create("s")
    with pytest.raises(TooLarge) as caught:
        session.append_all([chunk("x")] * 1025)
    assert (caught.value.limit, caught.value.unit) == (1024, "events")
    with pytest.raises(TooLarge):
        session.append_all([Draft("plan/mode", "y" * 3_000_000)] * 3)
    assert session.next_seq == 0
    assert len(session.append_all([chunk("x")] * 1024)) == 1024


def test_what_is_no_draft_is_refused() -> None:
    with pytest.raises(BadShape):
        Session.create("s").append_all([{"type": "turn/start"}])  # type: ignore[list-item]


def test_an_ignorable_event_of_an_unknown_type_is_appended() -> None:
    session = Session.create("s")
    assert session.append("own/thing", {"a": 1}, ignorable=True).ignorable


def test_a_registered_type_and_its_invariant_are_checked() -> None:
    def shape(data: Any) -> None:
        if "n" not in data:
            raise BadShape("data.n", "a number", "nothing")

    def grows(state: Any, event: Event) -> tuple[Any, str | None]:
        if event.type != "own/count":
            return state, None
        n = event.data["n"]
        return n, None if state is None or n > state else f"{n} after {state}"

    registry = Registry()
    registry.register("own/count", shape=shape, invariant=grows)
    session = Session.create("s", registry=registry)
    with pytest.raises(BadShape):
        session.append("own/count", {})
    for n in (1, 2, 2):
        session.append("own/count", {"n": n})
    assert [(breach.seq, breach.rule) for breach in session.breaches] == [(2, "own/count")]


def test_a_breach_is_reported_and_a_strict_session_refuses_it() -> None:
    session = Session.create("s")
    session.append("turn/start", {"turn": 2})
    assert [breach.seq for breach in session.breaches] == [0]
    strict = Session.create("s", strict=True)
    with pytest.raises(InvariantBreach) as caught:
        strict.append_all([Draft("turn/start", {"turn": 1}), Draft("turn/start", {"turn": 2})])
    assert caught.value.seq == 1
    assert (strict.next_seq, strict.breaches) == (0, ())
    run_turn(strict)


def test_observers_hear_in_order_and_a_failing_one_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    session = Session.create("s")
    heard: list[str] = []

    def fails(event: Event) -> None:
        raise RuntimeError("broken")

    session.observe(event=fails)
    remove = session.observe(event=lambda event: heard.append(f"a{event.seq}"))
    session.observe(event=lambda event: heard.append(f"b{event.seq}"))
    with caplog.at_level(logging.ERROR, logger="turnlog"):
        session.append_all([chunk("x"), chunk("y")])
    assert heard == ["a0", "b0", "a1", "b1"]
    assert len(caplog.records) == 2
    remove()
    remove()
    session.append_all([chunk("z")])
    assert heard[4:] == ["b2"]


def test_an_observer_sees_the_event_in_the_log_and_may_not_append() -> None:
    session = Session.create("s")
    seen: list[object] = []

    def observer(event: Event) -> None:
        seen.append(session.log.event(event.seq))
        with pytest.raises(Reentrant):
            say(session, "again")
        with pytest.raises(Reentrant):
            session.append_all([chunk("again")])

    session.observe(event=observer)
    say(session, "u1")
    assert len(seen) == 1
    assert seen[0] is not None
    assert session.next_seq == 1
    other = Session.create("other")
    session.observe(event=lambda event: say(other, f"heard{event.seq}"))
    say(session, "u2")
    assert other.next_seq == 1


def test_an_observer_that_detaches_waits_for_the_publication() -> None:
    store = MemoryStore()
    session = store.create("s")
    heard: list[str] = []

    def observer(event: Event) -> None:
        session.detach()
        heard.append("event")

    session.observe(event=observer, detached=lambda _: heard.append("detached"))
    session.append_all([chunk("x"), chunk("y")])
    assert heard == ["event", "event", "detached"]
    with pytest.raises(Closed):
        say(session, "u1")
    store.close()


def test_a_detach_by_another_thread_waits_for_the_publication() -> None:
    store = MemoryStore()
    session = store.create("s")
    heard: list[str] = []
    threads: list[threading.Thread] = []

    def observer(event: Event) -> None:
        thread = threading.Thread(target=session.detach)
        thread.start()
        thread.join(0.2)
        heard.append("event")
        threads.append(thread)

    session.observe(event=observer, detached=lambda _: heard.append("detached"))
    say(session, "u1")
    threads[0].join()
    assert heard == ["event", "detached"]
    store.close()


def test_flush_observers_hear_the_head() -> None:
    store = MemoryStore()
    session = store.create("s")
    heads: list[int] = []
    session.observe(flushed=lambda head: heads.append(head.next_seq))
    say(session, "u1")
    session.flush()
    assert heads == [1]
    store.close()


def mutate(value: Any) -> None:
    """Change all that can be changed in a JSON value, at every level."""
    if isinstance(value, dict):
        for item in list(value.values()):
            mutate(item)
        value["__changed__"] = True
        value.pop(next(iter(value)))
    elif isinstance(value, list):
        for item in value:
            mutate(item)
        value.append("changed")


def test_nothing_returned_changes_the_log_or_a_cache() -> None:
    session = Session.create("s")
    given = user("mine")
    event = session.append("user/message", given, surface="append")
    mutate(given)
    run_turn(session)
    say(session, "r1")
    node = session.next_seq - 1
    session.append("user/message", user("r2"), surface=Replace(node, node), sources=[node])
    session.splice_inbox("next-turn", 0, inserted=[user("t1")])
    before = snapshot_of(session), session.request().messages, session.request().header
    for _ in range(2):
        mutate(event.data)
        mutate(event.to_json())
        for message in session.messages():
            for value in (message.value, message.content, message.source):
                mutate(value)
        session.messages().clear()
        mutate(session.request().messages)
        mutate(session.request().header)
        mutate(session.header.value)
        for logged in session.log.events():
            mutate(logged.data)
        for waiting in session.inbox.next_turn:
            mutate(waiting.value)
        state = session.state
        state.apply(Event("plan/mode", state.next_seq, 0))
        for read_only in (event, session.messages()[0], session.header, session.log):
            with pytest.raises(AttributeError):
                setattr(read_only, "seq", 5)  # noqa: B010 - mypy would not let us try
        with pytest.raises(AttributeError):
            setattr(session.log.rows[0], "text", b"")  # noqa: B010
    assert (snapshot_of(session), session.request().messages, session.request().header) == before
    observed: list[Any] = []
    session.observe(event=lambda event: mutate(event.data))
    session.observe(event=lambda event: observed.append(event.data))
    say(session, "u9")
    assert observed == [user("u9")]


def test_messages_of_before_stay_as_they_were() -> None:
    session = Session.create("s")
    say(session, "u1")
    first = session.messages()
    log = session.log
    say(session, "u2")
    session.append("user/message", user("sum"), surface=Replace(0, 1), sources=[0, 1])
    assert [message.id for message in first] == ["u1"]
    assert log.next_seq == 1
    assert [message.id for message in session.messages()] == ["sum"]


def test_a_request_that_is_not_the_log_does_not_leave() -> None:
    session = MemoryStore().create("s")
    session.append("turn/start", {"turn": 1})
    say(session, "u1")
    session.append("request/header", {"header": HEADER, "reason": "initial"})
    ran: list[str] = []
    with pytest.raises(RequestMismatch), session.model_call(session.request()):
        ran.append("without a step")
    session.append("step/start", {"turn": 1, "step": 1})
    good = session.request()
    with session.model_call(good) as request:
        ran.append("good")
        assert request is good
    for bad in (
        Request.of(HEADER, []),
        Request.of(HEADER, [user("other")]),
        Request.of(HEADER | {"system": "else"}, [user("u1")]),
        Request.of(None, [user("u1")]),
    ):
        with pytest.raises(RequestMismatch), session.model_call(bad):
            ran.append("bad")
    assert ran == ["good"]


def test_no_request_leaves_while_calls_and_results_do_not_pair() -> None:
    session = MemoryStore().create("s")
    session.append("turn/start", {"turn": 1})
    session.append("request/header", {"header": HEADER, "reason": "initial"})
    session.append("step/start", {"turn": 1, "step": 1})
    call = {"type": "tool-call", "id": "c1", "name": "bash", "arguments": ""}
    data = {"turn": 1, "step": 1, "message": assistant("a1", call)}
    session.append("assistant/message", data, surface="append")
    with pytest.raises(ViewBreach) as caught, session.model_call(session.request()):
        pytest.fail("the body ran")
    assert len(caught.value.breaches) == 1
    session.append("tool/call", {**data, "callId": "c1", "name": "bash", "arguments": ""})
    answer = {"turn": 1, "step": 1, "message": result("r1", "c1")}
    session.append("tool/result", answer, surface="append")
    with session.model_call(session.request()):
        pass


def test_a_barrier_that_can_not_flush_does_not_run_the_body() -> None:
    logs = UnreliableLogStore()
    session = SessionStore(logs, window_s=60).create("s")
    session.append("turn/start", {"turn": 1})
    session.append("request/header", {"header": HEADER, "reason": "initial"})
    logs.failures = 1
    with pytest.raises(StoreFailed), session.step(1, 1):
        pytest.fail("the body ran")
    session.append("step/start", {"turn": 1, "step": 1})
    logs.failures = 1
    with pytest.raises(StoreFailed), session.model_call(session.request()):
        pytest.fail("the body ran")
    logs.failures = 1
    with pytest.raises(StoreFailed), session.tool_call(1, 1, "c1", "bash", "{}"):
        pytest.fail("the body ran")


def test_a_step_ends_itself_unless_its_body_fails() -> None:
    session = MemoryStore().create("s")
    session.append("turn/start", {"turn": 1})
    with session.step(1, 1) as start:
        assert start.type == "step/start"
        assert session.acknowledged_seq == 1
    with pytest.raises(KeyError), session.step(1, 2):
        raise KeyError
    types = [event.type for event in session.log.events()]
    assert types == ["turn/start", "step/start", "step/end", "step/start"]


def test_a_tool_body_runs_when_its_call_is_durable() -> None:
    session = MemoryStore().create("s")
    with session.tool_call(1, 1, "c1", "bash", "{") as call:
        assert session.acknowledged_seq == call.seq + 1
        assert call.data["arguments"] == "{"


def test_the_coroutine_twins_do_the_same() -> None:
    async def talk() -> list[str]:
        async with await MemoryStore().acreate("s") as session:
            await session.aappend("turn/start", {"turn": 1})
            await session.aappend("request/header", {"header": HEADER, "reason": "initial"})
            async with session.astep(1, 1):
                async with session.amodel_call(session.request()) as request:
                    assert len(request) == 0
                async with session.atool_call(1, 1, "c1", "bash", "{}") as call:
                    assert session.acknowledged_seq == call.seq + 1
            with pytest.raises(KeyError):
                async with session.astep(1, 2):
                    raise KeyError
            await session.aflush()
            return [event.type for event in session.log.events()]

    assert asyncio.run(talk())[2:] == ["step/start", "tool/call", "step/end", "step/start"]


def test_a_seed_is_inherited_and_ended() -> None:
    parent = Session.create("p")
    run_turn(parent)
    seed = [event.to_json() for event in parent.log.events()]
    child = Session.create("c", seed)
    assert [event.to_json() for event in child.log.events()][:-1] == seed
    assert child.first_live_seq == len(seed)
    with pytest.raises(RestoreRefused) as caught:
        Session.create("c", seed[1:])
    assert caught.value.index == 0


def test_from_restore_ends_the_seed_and_appends_no_closers() -> None:
    events = [{"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}}]
    header = {"version": 0, "id": "s", "createdAt": 1}
    session = Session.from_restore("s", events, header)
    assert [event.type for event in session.log.events()] == ["turn/start", "session/end-seed"]
    again = Session.from_restore("s", [e.to_json() for e in session.log.events()], header)
    assert again.next_seq == 2
    with pytest.raises(RestoreRefused):
        Session.from_restore("other", events, header)


@pytest.mark.parametrize("id", ["", "x" * 256, "a\x00b", "a\nb", "cut \ud83d", 7, None])
def test_an_id_that_no_store_takes_is_refused(id: Any) -> None:
    with pytest.raises(BadSessionId):
        Session.create(id)
    with pytest.raises(BadSessionId):
        MemoryStore().read(id)
    with pytest.raises(BadSessionId):
        MemoryStore().open(id)


def test_inbox_changes_are_events_and_empty_ones_are_not() -> None:
    session = Session.create("s")
    assert session.splice_inbox("next-turn", 0, 1) == []
    assert session.next_seq == 0
    session.splice_inbox("next-turn", -5, 0, [user("a"), user("b")])
    assert session.splice_inbox("next-turn", -1, 1)[0]["id"] == "b"
    with pytest.raises(BadShape):
        session.splice_inbox("next-step", 0, inserted=[user("a")])
    assert [event.data.get("outcome") for event in session.log.events()] == [None, "canceled"]
    assert [message["id"] for message in session.claim_inbox("next-turn")] == ["a"]
    assert "outcome" not in session.log.event(2).data  # type: ignore[union-attr]
