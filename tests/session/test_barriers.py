"""Barriers while other threads append, time runs out, or the one who waits is cancelled."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.session.doubles import UnreliableLogStore
from tests.session.talk import HEADER, chunk, say, user
from tests.session.threads import WITHIN_S, ends
from turnlog.events import Backpressure, Draft, Event, OutcomeUnknown, RequestMismatch
from turnlog.kernel import Request
from turnlog.session import MemoryLogs, MemoryStore, Session, SessionStore


def ready_for_a_call(store: SessionStore) -> Session:
    session = store.create("s")
    session.append("turn/start", {"turn": 1})
    session.append("request/header", {"header": HEADER, "reason": "initial"})
    session.append("step/start", {"turn": 1, "step": 1})
    return session


def once(act: Callable[[], object]) -> Callable[[str], None]:
    """An operation that comes in between the first time that something is sent."""
    left = [act]

    def before(name: str) -> None:
        if name == "send" and left:
            left.pop()()

    return before


def enter(session: Session, request: Request) -> int:
    """Go through the barrier; gives how many events were not durable when the body ran."""
    with session.model_call(request):
        return session.next_seq - session.acknowledged_seq


def aenter(session: Session, request: Request) -> int:
    async def go() -> int:
        async with session.amodel_call(request):
            return session.next_seq - session.acknowledged_seq

    return asyncio.run(go())


@pytest.mark.parametrize("enter", [enter, aenter])
def test_a_request_that_another_thread_made_stale_during_the_flush_does_not_leave(
    enter: Callable[[Session, Request], int],
) -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)
    session = ready_for_a_call(store)
    request = session.request()
    logs.before = once(lambda: ends(lambda: say(session, "u9")))
    with pytest.raises(RequestMismatch):
        enter(session, request)
    store.close()


@pytest.mark.parametrize("enter", [enter, aenter])
def test_what_another_thread_appends_during_the_flush_is_durable_before_the_request_leaves(
    enter: Callable[[Session, Request], int],
) -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)
    session = ready_for_a_call(store)
    logs.before = once(lambda: ends(lambda: session.append_all([chunk("x")])))
    assert enter(session, session.request()) == 0
    assert session.next_seq == 4
    store.close()


def test_a_request_leaves_though_another_thread_never_stops_streaming() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)
    session = ready_for_a_call(store)

    def before(name: str) -> None:
        if name == "send":
            ends(lambda: session.append_all([chunk("x")]))

    logs.before = before
    assert ends(lambda: enter(session, session.request())) == []
    logs.before = lambda name: None
    store.close()


def cancelled(session: Session, logs: UnreliableLogStore, enter: Callable[[], Any]) -> list[str]:
    """Cancel a barrier while its flush waits; gives the types in the log at the end."""

    async def go() -> None:
        async def body() -> None:
            async with enter():
                pytest.fail("the body ran")

        logs.writing.clear()
        logs.gate.clear()
        task = asyncio.create_task(body())
        assert await asyncio.to_thread(logs.writing.wait, WITHIN_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        logs.gate.set()

    asyncio.run(go())  # waits for the threads that it started
    time.sleep(0.05)
    return [event.type for event in session.log.events()]


def test_a_cancelled_step_appends_nothing_afterwards() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)
    session = store.create("s")
    session.append("turn/start", {"turn": 1})
    assert cancelled(session, logs, lambda: session.astep(1, 1)) == ["turn/start"]
    store.close()


def test_a_cancelled_tool_call_appends_nothing_but_its_call() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)
    session = store.create("s")
    types = cancelled(session, logs, lambda: session.atool_call(1, 1, "c1", "bash", ""))
    assert types == ["tool/call"]
    store.close()


@pytest.mark.parametrize("operation", ["create", "claim"])
def test_a_cancelled_twin_leaves_no_session_held(operation: str) -> None:
    kept = MemoryLogs()
    with MemoryStore(kept) as store:
        store.create("old")
    logs = UnreliableLogStore(kept)
    store = SessionStore(logs, window_s=60)
    under_way, go_on = threading.Event(), threading.Event()

    def before(name: str) -> None:
        if name == operation:
            under_way.set()
            assert go_on.wait(WITHIN_S)

    logs.before = before

    async def go() -> None:
        make = store.acreate("new") if operation == "create" else store.aopen("old")
        task = asyncio.create_task(make)
        assert await asyncio.to_thread(under_way.wait, WITHIN_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()

    asyncio.run(go())
    assert store.live() == []
    assert all(info.released for info in store.sessions())
    store.close()


def test_a_flush_whose_time_is_up_leaves_the_outcome_open_and_the_next_one_answers() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=0.001)
    session = store.create("s")
    logs.gate.clear()
    say(session, "u1")
    assert logs.writing.wait(WITHIN_S)  # the window's thread is in the middle of a write
    with pytest.raises(OutcomeUnknown) as caught:
        session.flush(timeout_s=0.05)
    assert caught.value.first_seq == 0
    logs.gate.set()
    assert session.flush().next_seq == 1
    store.close()


def in_barrier(session: Session, request: Request, barrier: str) -> None:
    """Go through one that has 0.05 s."""
    if barrier == "model_call":
        entered: Any = session.model_call(request, timeout_s=0.05)
    elif barrier == "tool_call":
        entered = session.tool_call(1, 1, "c", "t", "{}", timeout_s=0.05)
    else:
        entered = session.step(1, 2, timeout_s=0.05)
    with entered:
        pytest.fail("the body ran")


def in_twin(session: Session, request: Request, barrier: str) -> None:
    async def go() -> None:
        if barrier == "model_call":
            entered: Any = session.amodel_call(request, timeout_s=0.05)
        elif barrier == "tool_call":
            entered = session.atool_call(1, 1, "c", "t", "{}", timeout_s=0.05)
        else:
            entered = session.astep(1, 2, timeout_s=0.05)
        async with entered:
            pytest.fail("the body ran")

    asyncio.run(go())


@pytest.mark.parametrize("barrier", ["model_call", "tool_call", "step"])
@pytest.mark.parametrize("go_in", [in_barrier, in_twin])
def test_a_barrier_waits_no_longer_than_it_is_told_and_its_body_does_not_run(
    barrier: str, go_in: Callable[[Session, Request, str], None]
) -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=0.001)
    session = ready_for_a_call(store)
    session.flush()
    logs.writing.clear()
    logs.gate.clear()
    say(session, "u1")
    assert logs.writing.wait(WITHIN_S)  # the window's thread is in the middle of a write
    begun_s = time.monotonic()
    with pytest.raises(OutcomeUnknown):
        go_in(session, session.request(), barrier)
    assert time.monotonic() - begun_s < WITHIN_S
    logs.gate.set()
    store.close()


def test_an_event_appended_while_a_flush_writes_is_written_by_the_window() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=0.01)
    session = store.create("s")
    say(session, "u1")
    logs.before = once(lambda: ends(lambda: say(session, "late")))
    session.flush()
    deadline = time.monotonic() + WITHIN_S
    while session.acknowledged_seq < 2:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    store.close()


def test_a_detach_by_an_observer_and_a_flush_under_a_running_write_both_end() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=0.001)
    session = store.create("s")
    logs.gate.clear()
    say(session, "u1")
    assert logs.writing.wait(WITHIN_S)
    flush = threading.Thread(target=lambda: ends(session.flush))
    flush.start()
    session.observe(event=lambda event: session.detach())
    threading.Timer(0.05, logs.gate.set).start()
    assert ends(lambda: say(session, "u2")) == []
    flush.join(WITHIN_S)
    assert not flush.is_alive()
    assert store.read("s").next_seq == 2
    store.close()


def test_the_fault_of_one_session_does_not_stop_the_window_of_the_others() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=0.01)
    bad, good = store.create("bad"), store.create("good")

    def sent(pending: Any) -> None:
        if b'"bad"' in pending.rows[0].text:
            raise ZeroDivisionError

    logs.sent = sent
    say(bad, "bad")
    say(good, "good")
    deadline = time.monotonic() + WITHIN_S
    while good.acknowledged_seq < 1:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    logs.sent = lambda pending: None
    store.close()


def full_store(window_s: float) -> tuple[UnreliableLogStore, SessionStore, Session, Session]:
    """A store whose buffer another session fills, and a session of its own that is durable."""
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=window_s, max_pending_bytes=1000)
    session, other = store.create("s"), store.create("other")
    say(other, "o1", "x" * 900)
    with pytest.raises(Backpressure):
        say(session, "u1", "x" * 900)
    return logs, store, session, other


def test_waiting_for_the_room_of_another_session_is_not_a_busy_loop() -> None:
    logs, store, session, other = full_store(window_s=0.05)
    flushed: list[object] = []
    session.observe(flushed=flushed.append)
    logs.gate.clear()

    async def talk() -> Event:
        data = user("u1", "x" * 900)
        append = asyncio.create_task(session.aappend("user/message", data, surface="append"))
        await asyncio.sleep(0.5)
        assert not append.done()
        logs.gate.set()
        return await append

    assert asyncio.run(talk()).seq == 0
    assert len(flushed) <= 3
    assert other.acknowledged_seq == 1
    store.close()


def test_waiting_for_room_does_not_wait_for_the_windows_end() -> None:
    _, store, session, _ = full_store(window_s=3600)

    async def talk() -> list[Event]:
        return await session.aappend_all([Draft("user/message", user("u1", "x" * 900), "append")])

    raised = ends(lambda: asyncio.run(talk()))
    assert raised == []
    assert session.next_seq == 1
    store.close()


def test_one_who_is_cancelled_while_waiting_for_room_appends_nothing() -> None:
    logs, store, session, _ = full_store(window_s=0.01)
    logs.gate.clear()

    async def talk() -> None:
        data = user("u1", "x" * 900)
        append = asyncio.create_task(session.aappend("user/message", data, surface="append"))
        await asyncio.sleep(0.1)
        append.cancel()
        with pytest.raises(asyncio.CancelledError):
            await append

    asyncio.run(talk())
    logs.gate.set()
    store.close()
    assert session.next_seq == 0


def test_one_by_one_appended_chunks_are_packed_by_the_twin_too() -> None:
    session = Session.create("s")

    async def talk() -> None:
        for index in range(10):
            draft = chunk(f"t{index}")
            await session.aappend(draft.type, draft.data)

    asyncio.run(talk())
    assert len(session.log.rows) == 1
