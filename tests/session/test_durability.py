"""Flush, the write-behind window, backpressure and detach, also when the store fails or is slow."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.session.doubles import UnreliableLogStore
from tests.session.talk import chunk, run_turn, say, user
from turnlog.events import (
    Backpressure,
    Closed,
    Draft,
    Header,
    NotAcknowledged,
    NotDurable,
    OwnedElsewhere,
    StoreFailed,
    Superseded,
    UnknownSession,
    event_row,
)
from turnlog.kernel import messages
from turnlog.session import (
    FolderLogStore,
    ForkOrigin,
    LogStore,
    MemoryLogs,
    MemoryLogStore,
    MemoryStore,
    Pending,
    Session,
    SessionStore,
)


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that happens in the background; fails when it does not come at all."""
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_failed_flush_raises_and_the_next_one_lands_all_in_order() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)
    session = store.create("s")
    say(session, "u1")
    logs.failures = 1
    with pytest.raises(StoreFailed) as caught:
        session.flush()
    assert caught.value.first_seq == 0
    for index in range(20):
        say(session, f"m{index}")
    session.flush()
    ids = [message.id for message in messages(store.read("s"))]
    assert ids == ["u1", *(f"m{index}" for index in range(20))]
    store.close()


def test_a_failing_background_write_is_reported_once_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=0.01)
    session = store.create("s")
    logs.failures = 3
    with caplog.at_level(logging.WARNING, logger="turnlog"):
        say(session, "u1")
        wait_until(lambda: session.acknowledged_seq == 1)
    assert logs.attempts == 4
    assert len(caplog.records) == 1
    store.close()


def test_append_does_not_wait_for_a_slow_write() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=0.01)
    session = store.create("s")
    logs.gate.clear()
    say(session, "u1")
    logs.writing.wait(30)
    say(session, "u2")  # would hang here if it waited
    assert session.next_seq == 2
    assert session.acknowledged_seq == 0
    logs.gate.set()
    session.flush()
    assert session.acknowledged_seq == 2
    store.close()


def test_a_full_buffer_refuses_and_changes_nothing_until_a_flush() -> None:
    store = SessionStore(UnreliableLogStore(), window_s=60, max_pending_bytes=1000)
    session = store.create("s")
    say(session, "u1", "x" * 900)
    with pytest.raises(Backpressure) as caught:
        say(session, "u2", "y" * 900)
    assert caught.value.limit == 1000
    assert session.next_seq == 1
    assert [message.id for message in session.messages()] == ["u1"]
    session.flush()
    say(session, "u2", "y" * 900)
    store.close()


def test_the_buffer_is_shared_by_the_sessions_of_a_store() -> None:
    store = SessionStore(UnreliableLogStore(), window_s=60, max_pending_bytes=1000)
    say(store.create("a"), "u1", "x" * 900)
    with pytest.raises(Backpressure):
        say(store.create("b"), "u1", "x" * 900)
    store.close()


def test_one_event_larger_than_the_buffer_is_taken_when_it_is_empty() -> None:
    store = SessionStore(UnreliableLogStore(), window_s=60, max_pending_bytes=10)
    session = store.create("s")
    say(session, "u1")
    session.flush()
    store.close()


def test_aappend_waits_for_room() -> None:
    async def talk() -> list[int]:
        store = SessionStore(UnreliableLogStore(), window_s=60, max_pending_bytes=500)
        session = store.create("s")
        seqs = []
        for index in range(10):
            event = await session.aappend(
                "user/message", user(f"u{index}", "x" * 300), surface="append"
            )
            seqs.append(event.seq)
        group = [Draft("user/message", user(f"g{index}"), "append") for index in range(3)]
        seqs.extend(event.seq for event in await session.aappend_all(group))
        await session.adetach()
        await store.aclose()
        return seqs

    assert asyncio.run(talk()) == list(range(13))


def test_a_detach_that_can_not_flush_names_the_events_and_writes_no_release() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)
    session = store.create("s")
    say(session, "u1")
    session.flush()
    say(session, "u2")
    say(session, "u3")
    logs.failures = 1
    with pytest.raises(NotAcknowledged) as caught:
        session.detach()
    assert [event.seq for event in caught.value.events] == [1, 2]
    assert isinstance(caught.value.__cause__, StoreFailed)
    assert store.live() == []
    with pytest.raises(Closed):
        say(session, "u4")
    assert [info.released for info in store.sessions()] == [False]
    # No other writer can hold it, so its own store needs no take-over.
    assert store.open("s").next_seq == 2
    store.close()


def test_closing_a_store_detaches_all_sessions_and_raises_the_first_failure() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=60)
    for id in ("a", "b", "c"):
        say(store.create(id), "u1")
    logs.failures = 1
    with pytest.raises(NotAcknowledged):
        store.close()
    assert sorted(info.next_seq for info in store.sessions()) == [0, 1, 1]
    with pytest.raises(Closed):
        store.create("d")


def test_a_session_without_a_store_has_nothing_to_flush() -> None:
    with pytest.raises(NotDurable):
        Session.create("s").flush()


def test_a_store_that_keeps_nothing_resumes_nothing() -> None:
    store = MemoryStore()
    session = store.create("s")
    say(session, "u1")
    session.flush()
    with pytest.raises(NotDurable):
        store.open("s")
    session.detach()
    with pytest.raises(UnknownSession):
        store.read("s")
    store.close()


def test_a_store_flushes_only_its_own_sessions() -> None:
    store, other = MemoryStore(), MemoryStore()
    session = store.create("s")
    say(session, "u1")
    assert store.flush(session).next_seq == 1
    with pytest.raises(UnknownSession):
        other.flush(session)
    store.close()
    other.close()


def test_many_threads_append_without_a_gap_or_a_double() -> None:
    store = MemoryStore(window_s=0.001)
    session = store.create("s")

    def work(name: int) -> None:
        for index in range(200):
            if index % 3:
                session.append_all([chunk(f"{name}.{index}"), chunk("more")])
            else:
                say(session, f"{name}.{index}")

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session.flush()
    stored = store.read("s")
    assert [event.seq for event in stored.events()] == list(range(session.next_seq))
    assert [event.to_json() for event in stored.events()] == [
        event.to_json() for event in session.log.events()
    ]
    store.close()


@pytest.fixture(params=["memory", "folder"])
def logs_of(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], LogStore]:
    """Makes log stores that share what they keep."""
    kept = MemoryLogs()
    return lambda: MemoryLogStore(kept) if request.param == "memory" else FolderLogStore(tmp_path)


CHILD = Header.new("c", 1)
ORIGIN = ForkOrigin("p", 0, b"")


def one_row(text: str) -> Pending:
    """One event to write."""
    return Pending([event_row({"type": "a", "seq": 0, "time": 1, "data": text})], ())


def test_a_fork_that_was_begun_again_is_no_more_its_first_writers(
    logs_of: Callable[[], LogStore],
) -> None:
    first, second = logs_of(), logs_of()
    old = first.create(CHILD, ORIGIN)
    old.send(one_row("old"), timeout_s=9)
    new = second.create(CHILD, ORIGIN)
    acts: list[Callable[[], object]] = [lambda: old.send(one_row("late"), timeout_s=9), old.born]
    for act in acts:
        with pytest.raises(Superseded) as caught:
            act()
        assert caught.value.head.writer == second.writer
    with pytest.raises(UnknownSession):
        second.read("c")
    new.send(one_row("new"), timeout_s=9)
    old.release()
    old.abandon()
    new.born()
    stored = second.read("c")
    assert [row.events()[0].data for row in stored.rows] == ["new"]
    assert (stored.head.writer, stored.head.released) == (second.writer, False)
    with pytest.raises(OwnedElsewhere):
        first.claim("c", take_over=False)
    new.release()
    first.claim("c", take_over=False)[1].release()
    first.close()
    second.close()


def test_a_session_given_up_without_a_release_is_still_held_for_others(
    logs_of: Callable[[], LogStore],
) -> None:
    first, second = logs_of(), logs_of()
    writer = first.create(Header.new("s", 1), None)
    with pytest.raises(OwnedElsewhere):
        first.claim("s", take_over=False)
    writer.abandon()
    with pytest.raises(OwnedElsewhere):
        second.claim("s", take_over=False)
    _, again = first.claim("s", take_over=False)
    with pytest.raises(OwnedElsewhere):
        first.claim("s", take_over=False)
    with pytest.raises(Superseded):
        writer.send(one_row("late"), timeout_s=9)
    again.release()
    first.close()
    second.close()


def test_a_failed_import_is_tried_again_here_or_elsewhere() -> None:
    source = Session.create("s")
    run_turn(source)
    log = source.log
    for tries in (1, 2):
        logs = UnreliableLogStore()
        store, other = SessionStore(logs), SessionStore(logs)
        logs.failures = tries
        for _ in range(tries):
            with pytest.raises(StoreFailed):
                store.import_log(log.header, log.rows)
            assert [info.released for info in store.sessions()] == [True]
        assert other.import_log(log.header, log.rows).added == log.next_seq
        assert store.import_log(log.header, log.rows).added == 0
        store.close()
        other.close()


def test_an_append_stands_though_no_thread_can_be_had_for_the_window(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = SessionStore(UnreliableLogStore(), window_s=0.001)
    session = store.create("s")

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as starved, caplog.at_level(logging.WARNING, logger="turnlog"):
        starved.setattr(threading.Thread, "start", refuse)
        for n in range(3):
            assert say(session, f"u{n}").seq == n
    assert caplog.text.count("no write-behind") == 1
    assert session.acknowledged_seq == 0
    say(session, "u3")  # with the next append there is a thread again, and all is written
    deadline = time.monotonic() + 30
    while session.acknowledged_seq < 4:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    store.close()
