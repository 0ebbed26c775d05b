"""What a session must refuse: in a forked child, and at a barrier without a broker."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager

from tests.faults.children import wait_until
from tests.faults.diary import Diary
from tests.faults.life import Plan, marked, settings_of
from tests.session.talk import HEADER, say
from turnlog.events import Closed, OutcomeUnknown
from turnlog.log import KafkaStore
from turnlog.session import Session

__all__ = ["await_barriers", "fork_in_mid_work"]

_BARRIER_S = 1.0


def fork_in_mid_work(plan: Plan) -> None:
    """Fork with events on their way: the child is refused everything, the parent goes on."""
    diary = Diary(plan.diary)
    store = KafkaStore(settings_of(plan))
    session = store.create("forked")
    for round_ in range(5):
        token = f"forked:parent:{round_}"
        event = session.append_all([marked(token)])[0]
        pid = os.fork()
        if pid == 0:
            _be_child(store, session, round_)
        _, status = os.waitpid(pid, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            raise AssertionError("the forked child was not refused everything")
        session.flush()
        diary.ack(session.id, [(event.seq, token)])
    store.close()


def _be_child(store: KafkaStore, session: Session, round_: int) -> None:
    acts: list[Callable[[], object]] = [
        lambda: session.append_all([marked(f"forked:child:{round_}")]),
        lambda: say(session, "child"),
        session.flush,
        lambda: store.create(f"child-{round_}"),
        lambda: store.open("forked", take_over=True),
        lambda: store.fork("forked", child_id=f"fork-{round_}"),
    ]
    refused = 0
    for act in acts:
        try:
            act()
        except Closed:
            refused += 1
    os._exit(0 if refused == len(acts) else 1)


def await_barriers(plan: Plan) -> None:
    """Come to each barrier with the broker gone; say so, and flush when it is there again."""
    diary = Diary(plan.diary)
    store = KafkaStore(settings_of(plan))
    sessions = {name: store.create(name) for name in ("step", "model", "tool")}
    for name, session in sessions.items():
        session.append("turn/start", {"turn": 1})
        session.append("request/header", {"header": HEADER, "reason": "initial"})
        if name != "step":
            session.append("step/start", {"turn": 1, "step": 1})
        session.flush(timeout_s=plan.flush_s)
    tokens = {}
    diary.write("ready", "")
    wait_until(plan.stop.exists, "the end of the broker")
    for name, session in sessions.items():
        token = f"{name}:before the barrier"
        event = session.append_all([marked(token)])[0]
        tokens[name] = (event.seq, token)
    wait = {"timeout_s": _BARRIER_S}
    _try_barrier(diary, sessions["step"], lambda it: it.step(1, 1, **wait))
    _try_barrier(diary, sessions["model"], lambda it: it.model_call(it.request(), **wait))
    _try_barrier(diary, sessions["tool"], lambda it: it.tool_call(1, 1, "c", "t", "{}", **wait))
    diary.write("barriers", "")
    for name, session in sessions.items():
        session.flush(timeout_s=plan.flush_s)
        diary.ack(name, [tokens[name]])
    store.close()


def _try_barrier(
    diary: Diary, session: Session, barrier: Callable[[Session], AbstractContextManager[object]]
) -> None:
    try:
        with barrier(session):
            diary.write("body", session.id)
    except OutcomeUnknown as error:
        diary.write("refused", session.id, f=error.first_seq)
