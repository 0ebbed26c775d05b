"""What an observer may ask of the session that tells it, and what it may not."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable

import pytest

from tests.session.doubles import UnreliableLogStore
from tests.session.talk import assistant, chunk, result, say, user
from tests.session.threads import WITHIN_S, ends
from turnlog.events import Closed, Event, Reentrant
from turnlog.kernel import Inbox
from turnlog.kernel.inbox_plan import InboxPlan, plan_claim
from turnlog.session import MemoryStore, Session, SessionStore


def busy_store() -> tuple[UnreliableLogStore, SessionStore]:
    """A store whose background thread is inside a write and needs the session's lock for more."""
    logs = UnreliableLogStore()
    return logs, SessionStore(logs, window_s=0.001)


def changes_of_several_steps(session: Session) -> dict[str, Callable[[], object]]:
    return {
        "inbox": lambda: session.splice_inbox("next-turn", 0, inserted=[user("q1")]),
        "late result": lambda: session.append_late_result(1, 1, "c1", result("r2", "c1")),
        "one event": lambda: say(session, "u1"),
        "a group": lambda: session.append_all([chunk("a"), chunk("b")]),
        "expected seq": lambda: session.append(
            "user/message", user("u1"), surface="append", expected_seq=session.next_seq
        ),
    }


@pytest.mark.parametrize("change", ["inbox", "late result", "one event", "a group", "expected seq"])
def test_a_detach_asked_for_by_an_observer_comes_after_the_whole_change(change: str) -> None:
    _, store = busy_store()
    session = store.create("s")
    session.append("turn/start", {"turn": 1})
    session.append("step/start", {"turn": 1, "step": 1})
    call = {"type": "tool-call", "id": "c1", "name": "bash", "arguments": ""}
    data = {"turn": 1, "step": 1, "message": assistant("a1", call)}
    session.append("assistant/message", data, surface="append")
    session.append("tool/result", data | {"message": result("r1", "c1")}, surface="append")
    session.append("step/end", {"turn": 1, "step": 1})
    session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    before = session.next_seq
    heard: list[str] = []

    def observer(event: Event) -> None:
        session.detach()
        heard.append(event.type)
        threading.Event().wait(0.02)  # the window's thread comes to wait for the lock meanwhile

    session.observe(event=observer, detached=lambda _: heard.append("detached"))
    assert ends(changes_of_several_steps(session)[change]) == []
    assert heard[-1] == "detached"
    assert heard.count("detached") == 1
    assert store.live() == []
    assert store.read("s").next_seq == before + len(heard) - 1
    store.close()


def test_an_observer_may_not_wait_for_its_own_session() -> None:
    _, store = busy_store()
    session = store.create("s")
    told: list[str] = []

    def observer(event: Event) -> None:
        for act in (session.flush, lambda: store.flush(session), store.close):
            with pytest.raises(Reentrant) as caught:
                act()
            told.append(caught.value.session_id)

    session.observe(event=observer)
    assert ends(lambda: say(session, "u1")) == []
    assert told == ["s"] * 3
    assert session.flush().next_seq == 1
    store.close()


def test_a_plan_may_not_wait_for_its_own_session_and_detaches_it_afterwards() -> None:
    _, store = busy_store()
    session = store.create("s")
    session.splice_inbox("next-turn", 0, inserted=[user("q1")])

    def plan(inbox: Inbox) -> InboxPlan:
        with pytest.raises(Reentrant):
            session.flush()
        session.detach()
        return plan_claim(inbox, "next-turn")

    assert ends(lambda: session.change_inbox(plan)) == []
    assert store.live() == []
    assert store.read("s").next_seq == 2
    store.close()


def test_an_append_whose_observers_detach_fails_is_not_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)
    session = store.create("s")
    session.observe(event=lambda event: session.detach())
    logs.failures = 1
    with caplog.at_level(logging.ERROR, logger="turnlog"):
        assert say(session, "u1").seq == 0
    assert "not acknowledged" in caplog.text
    with pytest.raises(Closed):
        say(session, "u2")
    store.close()


def test_a_detach_that_an_observer_asks_for_does_not_block_the_event_loop() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)

    async def talk() -> int:
        session = await store.acreate("s")
        session.observe(event=lambda event: session.detach())
        logs.gate.clear()
        append = asyncio.create_task(session.aappend("user/message", user("u1"), surface="append"))
        assert await asyncio.to_thread(logs.writing.wait, WITHIN_S)
        await asyncio.sleep(0.05)  # the loop turns while the detach waits
        assert not append.done()
        logs.gate.set()
        return (await append).seq

    assert ends(lambda: asyncio.run(talk())) == []
    assert store.live() == []
    assert store.read("s").next_seq == 1
    store.close()


def test_taking_off_one_registration_leaves_another_of_the_same_callback() -> None:
    heard: list[int] = []

    def callback(event: Event) -> None:
        heard.append(event.seq)

    session = Session.create("s")
    remove = session.observe(event=callback)
    session.observe(event=callback)
    remove()
    remove()
    say(session, "u1")
    assert heard == [0]


def test_taking_off_one_created_observer_leaves_another_of_the_same_callback() -> None:
    created: list[str] = []

    def callback(session: Session) -> None:
        created.append(session.id)

    with MemoryStore() as store:
        remove = store.observe_created(callback)
        store.observe_created(callback)
        remove()
        remove()
        store.create("s")
    assert created == ["s"]


@pytest.mark.parametrize("failure", [asyncio.CancelledError, GeneratorExit, RecursionError])
def test_whatever_an_observer_raises_the_others_hear_and_the_append_stands(
    failure: type[BaseException],
) -> None:
    session = MemoryStore().create("s")
    heard: list[object] = []

    def fail(subject: object) -> None:
        raise failure

    session.observe(event=fail, flushed=fail, detached=fail)
    session.observe(event=heard.append, flushed=heard.append, detached=heard.append)
    assert say(session, "u1").seq == 0
    session.flush()
    session.detach()
    assert len(heard) == 3


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_process_goes_on_once_all_observers_heard(
    ending: type[BaseException],
) -> None:
    session = Session.create("s")
    heard: list[Event] = []

    def end(event: Event) -> None:
        raise ending

    session.observe(event=end)
    session.observe(event=heard.append)
    with pytest.raises(ending):
        say(session, "u1")
    assert len(heard) == session.next_seq == 1
    session.observe(event=heard.append)()


def test_a_flush_inside_a_flush_observer_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    one, other = store.create("one"), store.create("other")
    asked: list[str] = []

    def flush(which: Session) -> None:
        asked.append(which.id)
        which.flush()

    one.observe(flushed=lambda head: flush(one))
    one.observe(flushed=lambda head: flush(other))
    other.observe(flushed=lambda head: flush(one))
    with caplog.at_level(logging.ERROR, logger="turnlog"):
        one.flush()
    assert asked == ["one", "other", "one"]
    assert caplog.text.count("Reentrant: flush of") == 2
    one.flush()
    assert asked == ["one", "other", "one"] * 2
