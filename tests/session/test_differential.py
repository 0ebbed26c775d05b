"""Two stores that are told the same things say the same things."""

from __future__ import annotations

import tempfile
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import AgentLog, agent_logs
from turnlog.events import CallerError, Draft
from turnlog.kernel import messages
from turnlog.session import FolderStore, MemoryLogs, MemoryStore, Session, SessionStore


@given(agent_logs(60), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_memory_and_folder_answer_the_same(log: AgentLog, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        answers = [
            told(MemoryStore(MemoryLogs(), clock=lambda: 1), log, Random(seed)),
            told(FolderStore(folder, clock=lambda: 1), log, Random(seed)),
        ]
    assert answers[0] == answers[1]


def told(store: SessionStore, log: AgentLog, random: Random) -> list[object]:
    """Append a log in random pieces, with flushes, reopenings and forks between; all answers."""
    session = store.create("session", header=log.header)
    answers: list[object] = []
    drafts = list(log.drafts)
    while drafts:
        piece = [drafts.pop(0) for _ in range(min(len(drafts), random.randint(1, 9)))]
        session = _act(store, session, piece, random, answers)
    session.flush()
    stored = store.read("session")
    answers.append([event.to_json() for event in stored.events()])
    answers.append([message.value for message in messages(stored)])
    answers.append(sorted(info.id for info in store.sessions()))
    store.close()
    return answers


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
