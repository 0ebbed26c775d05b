"""Two stores that are told the same things say the same things."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.session.doubles import UnreliableLogStore
from tests.strategies import AgentLog, agent_logs
from turnlog.events import CallerError, Draft, StoreFailed, Superseded
from turnlog.kernel import messages
from turnlog.session import (
    FolderLogStore,
    LogStore,
    MemoryLogs,
    MemoryLogStore,
    Session,
    SessionStore,
)


@given(agent_logs(60), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_memory_and_folder_answer_the_same(log: AgentLog, seed: int) -> None:
    kept = MemoryLogs()
    with tempfile.TemporaryDirectory() as folder:
        answers = [
            told(lambda: FailingLogStore(MemoryLogStore(kept)), log, Random(seed)),
            told(lambda: FailingLogStore(FolderLogStore(folder)), log, Random(seed)),
        ]
    assert answers[0] == answers[1]


class FailingLogStore(UnreliableLogStore):
    """Any LogStore, whose writes fail when told to."""

    def __init__(self, logs: LogStore) -> None:
        super().__init__()
        self._logs = logs


def told(make: Callable[[], FailingLogStore], log: AgentLog, random: Random) -> list[object]:
    """Append a log in random pieces; between them flush, fail, reopen, fork and take over.

    Two store objects over the same logs; gives all that they answer.
    """
    logs = [make(), make()]
    stores = [SessionStore(each, window_s=3600, clock=lambda: 1) for each in logs]
    session = stores[0].create("session", header=log.header)
    answers: list[object] = []
    drafts = list(log.drafts)
    while drafts:
        piece = [drafts.pop(0) for _ in range(min(len(drafts), random.randint(1, 9)))]
        session = _act(stores[0], session, piece, random, answers)
        if random.random() < 0.15:
            _fail(logs[0], session, answers)
        if random.random() < 0.15:
            # The other store takes it over; what was not flushed is lost, and said to be.
            taken = stores[1].open("session", take_over=True)
            answers.append((taken.first_live_seq, taken.next_seq))
            with suppress(Superseded):
                session.append("plan/mode", {})
                session.flush()
            answers.append([event.to_json() for event in session.not_landed])
            session = taken
            logs.reverse()
            stores.reverse()
    session.flush()
    stored = stores[1].read("session")
    answers.append([event.to_json() for event in stored.events()])
    answers.append([message.value for message in messages(stored)])
    answers.append(sorted((info.id, info.released) for info in stores[1].sessions()))
    for store in stores:
        store.close()
    answers.append(sorted((info.id, info.next_seq) for info in stores[0].sessions()))
    return answers


def _fail(logs: FailingLogStore, session: Session, answers: list[object]) -> None:
    """Fail one write; the next flush writes all."""
    logs.failures = 1
    try:
        answers.append(session.flush().next_seq)
    except StoreFailed as error:
        answers.append(("failed", error.first_seq))
    logs.failures = 0


def _act(
    store: SessionStore, session: Session, piece: list[Draft], random: Random, answers: list[object]
) -> Session:
    try:
        answers.append([event.to_json() for event in session.append_all(piece)])
    except CallerError as error:
        answers.append(type(error).__name__)
    what = random.random()
    if what < 0.2:
        answers.append(session.flush().next_seq)
    elif what < 0.3:
        session.detach()
        session = store.open("session")
        answers.append((session.first_live_seq, session.next_seq, session.state.save()))
    elif what < 0.4:
        try:
            with store.fork(session, child_id=f"child{len(answers)}") as child:
                answers.append([event.to_json() for event in child.log.events()])
        except CallerError as error:
            answers.append(type(error).__name__)
    return session
