"""Sessions on their way into a store and out of it, where something fails or comes in between."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.session.doubles import UnreliableLogStore
from tests.session.talk import assistant, chunk, run_turn, say, user
from tests.session.threads import WITHIN_S, ends
from turnlog.events import (
    Backpressure,
    BadShape,
    Closed,
    Draft,
    Event,
    Header,
    OwnedElsewhere,
    Registry,
    RestoreRefused,
    SessionExists,
    StoreFailed,
    UnknownRequiredType,
    UnknownSession,
    event_row,
)
from turnlog.session import (
    FolderStore,
    MemoryLogs,
    MemoryStore,
    Session,
    SessionStore,
)


def types(session: Session) -> list[str]:
    return [event.type for event in session.log.events()]


def test_a_fork_over_an_unknown_required_type_is_refused_and_leaves_nothing() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs)
    rows = [event_row({"type": "later/thing", "seq": 0, "time": 1, "data": {}})]
    store.import_log(Header.new("p", 1), rows)
    made: list[str] = []
    logs.before = made.append
    with pytest.raises(UnknownRequiredType) as caught:
        store.fork("p", child_id="c")
    assert (caught.value.type, caught.value.seq) == ("later/thing", 0)
    assert "create" not in made
    assert store.create("c").next_seq == 0
    store.close()
    registry = Registry()
    registry.register("later/thing")
    knowing = SessionStore(logs, registry=registry)
    assert types(knowing.fork("p", child_id="d")) == ["later/thing", "session/end-seed"]
    knowing.close()


def test_a_seed_that_can_not_be_written_leaves_no_session_behind() -> None:
    source = Session.create("x")
    run_turn(source)
    seed = [event.to_json() for event in source.log.events()]
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)
    logs.failures = 2
    with pytest.raises(StoreFailed):
        store.create("s", seed=seed)
    assert store.live() == []
    assert store.open("s").next_seq == 1  # held by nobody of this store
    store.close()


class BrokenRegistry(Registry):
    """An embedder's registry with a fault of its own."""

    def knows(self, type: str) -> bool:
        raise ZeroDivisionError


@pytest.mark.parametrize("where", ["restore", "register"])
def test_whatever_fails_while_a_session_is_opened_leaves_it_free(where: str) -> None:
    def before(name: str) -> None:
        if name == "watch":
            raise ZeroDivisionError

    kept = MemoryLogs()
    with MemoryStore(kept) as store:
        run_turn(store.create("s"))
    logs = UnreliableLogStore(kept)
    if where == "register":
        logs.before = before
    store = SessionStore(logs, registry=BrokenRegistry() if where == "restore" else None)
    with pytest.raises(ZeroDivisionError):
        store.open("s")
    assert store.live() == []
    with MemoryStore(kept) as other:
        other.open("s")
    store.close()


def stuck_log(store: SessionStore) -> int:
    """A session whose turn stays open over a call; gives its length."""
    session = store.create("s")
    session.append("turn/start", {"turn": 1})
    session.append("step/start", {"turn": 1, "step": 1})
    call = {"type": "tool-call", "id": "c1", "name": "bash", "arguments": "{}"}
    data = {"turn": 1, "step": 1, "message": assistant("a1", call)}
    session.append("assistant/message", data, surface="append")
    session.detach()
    return session.next_seq


def test_opening_needs_no_room_in_a_full_buffer() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60, max_pending_bytes=1000)
    before = stuck_log(store)
    other = store.create("other")
    say(other, "u1", "x" * 900)
    with pytest.raises(Backpressure):
        say(other, "u2", "x" * 900)
    session = store.open("s")
    assert types(session)[before:] == ["tool/result", "step/end", "turn/end", "session/end-seed"]
    assert session.acknowledged_seq == session.next_seq
    child = store.fork(session, child_id="c")
    assert child.acknowledged_seq == child.next_seq
    store.close()


def test_the_events_that_repair_a_log_are_not_held_to_strictness() -> None:
    def never(state: Any, event: Event) -> tuple[Any, str | None]:
        return None, "not now" if event.type in ("turn/end", "session/end-seed") else None

    logs = UnreliableLogStore()
    store = SessionStore(logs)
    before = stuck_log(store)
    store.close()
    registry = Registry()
    registry.register("own/thing", invariant=never)
    store = SessionStore(logs, registry=registry)
    session = store.open("s", strict=True)
    assert types(session)[before:] == ["tool/result", "step/end", "turn/end", "session/end-seed"]
    assert [breach.rule for breach in session.breaches] == ["own/thing"] * 2
    store.close()


def test_the_events_that_repair_a_log_are_one_commit() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)
    before = stuck_log(store)
    groups: list[tuple[int, int]] = []
    logs.sent = lambda pending: groups.extend(pending.groups)
    store.open("s")
    assert groups == [(before, before + 3)]
    store.close()


@pytest.mark.parametrize("turn", ["one", None, 1.5])
def test_a_turn_that_can_not_be_closed_is_a_fault_of_the_data(turn: Any) -> None:
    events = [
        {"type": "plan/mode", "seq": 0, "time": 1, "data": {}},
        {"type": "turn/start", "seq": 1, "time": 1, "data": {"turn": turn}},
        {"type": "step/start", "seq": 2, "time": 1, "data": {"turn": turn, "step": 1}},
    ]
    store = MemoryStore(MemoryLogs())
    store.import_log(Header.new("s", 1), map(event_row, events))
    for _ in range(2):  # and it is left free
        with pytest.raises(RestoreRefused) as caught:
            store.open("s")
        assert caught.value.index == 1
    assert types(store.open("s", repair=False))[3:] == ["session/end-seed"]
    store.close()


def test_one_slow_open_does_not_hold_up_the_others() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs)
    for id in ("slow", "quick"):
        store.create(id).detach()
    slow, go = threading.Event(), threading.Event()

    def before(name: str) -> None:
        if name == "claim" and threading.current_thread().name == "slow":
            slow.set()
            assert go.wait(WITHIN_S)

    logs.before = before
    opened: list[Session] = []
    thread = threading.Thread(target=lambda: opened.append(store.open("slow")), name="slow")
    thread.start()
    assert slow.wait(WITHIN_S)
    assert ends(lambda: say(store.open("quick"), "u1")) == []
    assert ends(lambda: store.create("new")) == []
    assert [session.id for session in store.live()] == ["quick", "new"]
    # The id is taken: it is on its way.
    with pytest.raises(OwnedElsewhere):
        store.open("slow")
    with pytest.raises(SessionExists):
        store.create("slow")
    go.set()
    thread.join(WITHIN_S)
    assert opened[0].id == "slow"
    store.close()


@pytest.mark.parametrize("operation", ["create", "open", "fork", "import"])
def test_a_store_that_closes_meanwhile_gives_out_no_session(operation: str) -> None:
    kept = MemoryLogs()
    with MemoryStore(kept) as store:
        store.create("old")
    logs = UnreliableLogStore(kept)
    store = SessionStore(logs)
    source = Session.create("new")
    acts: dict[str, Callable[[], object]] = {
        "create": lambda: store.create("new"),
        "open": lambda: store.open("old"),
        "fork": lambda: store.fork("old", child_id="new"),
        "import": lambda: store.import_log(source.header, []),
    }
    under_way, go, order = threading.Event(), threading.Event(), []

    def before(name: str) -> None:
        order.append(name)
        if name in ("create", "claim"):
            under_way.set()
            assert go.wait(WITHIN_S)

    logs.before = before
    raised: list[object] = []
    act = threading.Thread(target=lambda: raised.extend(ends(acts[operation])))
    act.start()
    assert under_way.wait(WITHIN_S)
    close = threading.Thread(target=store.close)
    close.start()
    close.join(0.1)
    assert close.is_alive(), "it waits for what is under way"
    go.set()
    close.join(WITHIN_S)
    act.join(WITHIN_S)
    assert order[-1] == "close"
    assert store.live() == []
    if operation == "import":
        assert raised == []
    else:
        assert [type(error) for error in raised] == [Closed]
    with pytest.raises(Closed):
        acts[operation]()
    if operation == "open":
        with MemoryStore(kept) as other:  # it was released
            other.open("old")


def test_a_closing_store_waits_for_the_detach_of_another_thread() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)
    session = store.create("s")
    say(session, "u1")
    logs.gate.clear()
    detach = threading.Thread(target=session.detach)
    detach.start()
    assert logs.writing.wait(WITHIN_S)
    order: list[str] = []
    logs.before = order.append
    close = threading.Thread(target=store.close)
    close.start()
    close.join(0.1)
    assert close.is_alive()
    logs.gate.set()
    close.join(WITHIN_S)
    detach.join(WITHIN_S)
    assert order == ["wait", "release", "close"]
    assert [info.released for info in store.sessions()] == [True]


def test_a_closing_store_ends_all_whatever_one_of_them_raises() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)
    for id in ("a", "b"):
        say(store.create(id), "u1")
    order: list[str] = []

    def before(name: str) -> None:
        order.append(name)
        if order == ["send"]:
            raise ZeroDivisionError

    logs.before = before
    with pytest.raises(ZeroDivisionError):
        store.close()
    assert order[-1] == "close"
    assert sorted(info.next_seq for info in store.sessions()) == [0, 1]


def test_a_failing_release_is_logged_for_all_is_durable(caplog: pytest.LogCaptureFixture) -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)
    session = store.create("s")
    say(session, "u1")

    def before(name: str) -> None:
        if name == "release":
            raise StoreFailed("no space left", 1)

    logs.before = before
    session.detach()
    assert "no release" in caplog.text
    assert store.live() == []
    store.close()


def test_a_header_names_the_new_session() -> None:
    store = MemoryStore()
    assert store.create(header={"version": 0, "id": "named", "createdAt": 1}).id == "named"
    assert store.create(header=Header.new("other", 1)).id == "other"
    with pytest.raises(RestoreRefused):
        store.create("else", header={"version": 0, "id": "named", "createdAt": 1})
    store.close()


def test_a_session_that_is_open_here_is_said_to_be(tmp_path: Any) -> None:
    store = FolderStore(tmp_path)
    session = store.create("s")
    event = session.append("plan/mode", {}, time_ms=77)
    for take_over in (False, True):
        with pytest.raises(OwnedElsewhere) as caught:
            store.open("s", take_over=take_over)
        assert (caught.value.here, caught.value.last_time_ms) == (True, event.time_ms)
        assert caught.value.host
        assert "this very store object" in str(caught.value)
        assert "take-over" not in str(caught.value)
    store.close()


def test_a_session_object_of_another_store_is_not_forked_by_its_id() -> None:
    kept = MemoryLogs()
    store, other = MemoryStore(kept), MemoryStore(kept)
    session = store.create("s")
    for act in (other.fork, other.flush):
        with pytest.raises(UnknownSession):
            act(session)
    with pytest.raises(UnknownSession):
        other.fork(Session.create("s"))
    session.detach()
    assert store.fork(session, child_id="c").header.parent_session == "s"
    assert other.fork("s", child_id="d").header.parent_session == "s"
    store.close()
    other.close()


def test_a_session_shows_an_embedder_nothing_of_its_store() -> None:
    for name in ("lock", "attach", "take", "supersede", "end_seed"):
        assert not hasattr(Session, name)


def test_a_refused_event_gives_back_its_room() -> None:
    store = SessionStore(UnreliableLogStore(), window_s=60, max_pending_bytes=1000)
    session = store.create("s")
    say(session, "u1")
    for _ in range(100):  # the Surface refuses them, after they were given room
        with pytest.raises(BadShape):
            session.append("user/message", user("x"), surface={"op": "replace"})
        with pytest.raises(Exception, match="on the Surface"):
            session.append(
                "user/message",
                user("u2"),
                surface={"op": "replace", "start": 7, "end": 7},
                sources=[0],
            )
        with pytest.raises(Exception, match="must carry"):
            session.append_all([chunk("a"), Draft("user/message", user("u3"))])
    say(session, "u2")
    store.close()
