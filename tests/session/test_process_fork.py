"""A forked child: its copies of the parent's sessions refuse at once, and the parent goes on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from tests.session.doubles import UnreliableLogStore
from tests.session.talk import say
from tests.session.threads import WITHIN_S
from turnlog.events import Closed
from turnlog.session import SessionStore

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def in_child(act: Callable[[], object]) -> int:
    """Run something in a forked child; gives its exit code, or a negative signal."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    killer = threading.Timer(WITHIN_S, os.kill, (child, 9))
    killer.start()
    _, status = os.waitpid(child, 0)
    killer.cancel()
    return os.waitstatus_to_exitcode(status)


def test_sessions_of_a_forked_child_refuse_instead_of_hanging() -> None:
    logs = UnreliableLogStore()
    store = SessionStore(logs, window_s=0.001)
    busy, idle = store.create("busy"), store.create("idle")
    held, go_on = threading.Event(), threading.Event()

    def observer(event: object) -> None:
        held.set()
        assert go_on.wait(WITHIN_S)

    say(idle, "u1")
    idle.flush()
    busy.observe(event=observer)
    thread = threading.Thread(target=say, args=(busy, "u1"))
    thread.start()  # it holds the session's lock at the fork, and the window's thread wants it
    assert held.wait(WITHIN_S)

    def child() -> None:
        for session in (busy, idle):
            for act in (
                lambda session=session: say(session, "child"),
                session.flush,
                lambda session=session: store.flush(session),
                lambda: store.create("new"),
                lambda: store.open("idle"),
                lambda: store.fork(idle),
            ):
                with pytest.raises(Closed):
                    act()
            session.detach()  # nothing: it is the parent's
        assert len(idle.messages()) == 1
        assert store.live() == []
        store.close()

    assert in_child(child) == 0
    go_on.set()
    thread.join(WITHIN_S)
    say(idle, "u2")
    assert (busy.flush().next_seq, idle.flush().next_seq) == (1, 2)
    assert not idle.closed
    store.close()


def test_a_fork_inside_an_observer_closes_only_the_childs_session() -> None:
    store = SessionStore(UnreliableLogStore(), window_s=60)
    session = store.create("s")
    codes: list[int] = []

    def child() -> None:
        with pytest.raises(Closed):
            say(session, "child")
        with pytest.raises(Closed):
            session.flush()

    remove = session.observe(event=lambda event: codes.append(in_child(child)))
    say(session, "u1")
    remove()
    say(session, "u2")
    assert codes == [0]
    assert session.flush().next_seq == 2
    store.close()
