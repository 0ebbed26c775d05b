"""A harness's life on Kafka, also after a crash: made to be killed anywhere, and to go on.

Each life takes over the sessions that the diary names, repeats the requests that were not answered,
and then works on them until it is done, told to stop, or killed at its failpoint.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.faults.diary import Diary, Line, read_diary
from tests.session.talk import chunk
from turnlog.events import (
    BrokerError,
    Conflict,
    Draft,
    OutcomeUnknown,
    SessionExists,
    UnknownSession,
)
from turnlog.log import KafkaSettings, KafkaStore
from turnlog.session import Session, SessionStore
from turnlog.session.failpoints import arm

__all__ = ["Life", "Plan", "live", "marked", "patiently", "settings_of"]

_T = TypeVar("_T")
_PATIENCE_S = 60.0
_BIG = 900
"""Events of a group in a session whose fork takes several commits; a commit has 1,024 at most."""


@dataclass(frozen=True)
class Plan:
    """What a life is to do.

    `point` is the failpoint of the kill and `nth` the pass that kills; `fork/` or `seal/` in front
    of a name counts only the passes inside a fork or after the decision for a seal. `mains` are the
    sessions worked on all the time, a thread each. Without `rounds` it goes on until `stop` is a
    file.
    """

    bootstrap: str
    namespace: str
    diary: Path
    name: str
    seed: int
    point: str | None = None
    nth: int = 0
    mains: tuple[str, ...] = ("s0", "s1")
    rounds: int | None = 12
    sides: int = 2
    stop: Path = Path("/nonexistent")
    flush_s: float = 30.0
    read_back_s: float = 30.0
    client: Mapping[str, Any] = field(default_factory=dict)


def settings_of(plan: Plan) -> KafkaSettings:
    """The settings of a store."""
    return KafkaSettings(
        bootstrap=plan.bootstrap,
        namespace=plan.namespace,
        read_back_s=plan.read_back_s,
        client=plan.client,
    )


def live(plan: Plan) -> None:
    """Live a life; ends without an exception where everything was as promised."""
    places = Places(plan)
    store = patiently(lambda: KafkaStore(settings_of(plan)))
    life = Life(plan, store, Diary(plan.diary), places)
    failures: list[BaseException] = []

    def contained(act: Callable[[], object]) -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - raised below, in the main thread
            failures.append(error)

    acts: list[Callable[[], object]] = [life.side]
    acts += [lambda id=id: life.main(id) for id in plan.mains]  # type: ignore[misc]
    threads = [threading.Thread(target=contained, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    store.close()


class Places:
    """Counts the passes of one failpoint and kills at the given one."""

    def __init__(self, plan: Plan, act: signal.Signals = signal.SIGKILL) -> None:
        self._left = plan.nth
        self._act = act
        self.forking = False
        self._sealing = False
        if plan.point is None:
            return
        where, _, name = plan.point.rpartition("/")
        counts = {"": lambda: True, "fork": lambda: self.forking, "seal": self._is_seal}[where]
        if where == "seal":
            arm("writer.before-seal", self._seal)

        def count() -> None:
            if counts():
                self._left -= 1
                if self._left == 0:
                    os.kill(os.getpid(), self._act)

        arm(name, count)

    def _seal(self) -> None:
        self._sealing = True

    def _is_seal(self) -> bool:
        # The seal is the first claim that is produced after the decision, in the same thread.
        sealing, self._sealing = self._sealing, False
        return sealing


class Life:
    """The work of one life, a thread a session."""

    def __init__(self, plan: Plan, store: SessionStore, diary: Diary, places: Places) -> None:
        self._plan = plan
        self._store = store
        self._diary = diary
        self._places = places
        self._past = read_diary(plan.diary)

    def main(self, id: str) -> None:
        """Go on with a session that every life shares."""
        plan = self._plan
        draw = random.Random(f"{plan.seed}/{plan.name}/{id}")
        session = self.resume(id)
        round_ = 0
        while not self._is_over(round_):
            self._work(session, f"{id}:{plan.name}:{round_}", draw)
            if draw.random() < 0.15:
                patiently(session.detach)
                session = self.hold(id)
            round_ += 1
        self.flush(session, [])

    def side(self) -> None:
        """Finish what was begun, then make and fork sessions that no later life goes on with."""
        plan = self._plan
        if plan.rounds is not None:  # else other processes of the same diary are alive
            for id in self._unfinished():
                self._finish(self.resume(id))
        draw = random.Random(f"{plan.seed}/{plan.name}/side")
        round_ = 0
        while round_ < plan.sides and not (plan.rounds is None and plan.stop.exists()):
            parent = self.hold(f"n:{plan.name}:{round_}")
            self._fill(parent)
            for index in range(2):
                self._work(parent, f"{parent.id}:{index}", draw)
            # Whatever turn is open is closed: a fork inside one is refused.
            parent.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
            self.flush(parent, [])
            child = self.fork(f"c:{plan.name}:{round_}", parent.id, parent.next_seq - 1)
            self._work(child, child.id, draw)
            self._finish(child)
            self._finish(parent)
            round_ += 1

    # --- steps -----------------------------------------------------------------------------------

    def hold(self, id: str) -> Session:
        """Open a session, whoever has it, or make it."""

        def attempt() -> Session:
            try:
                return self._store.open(id, take_over=True)
            except UnknownSession:
                self._diary.write("create", id)
            try:
                session = self._store.create(id)
            except SessionExists:  # an earlier attempt was not answered, and landed
                return self._store.open(id, take_over=True)
            self._diary.write("created", id)
            return session

        return patiently(attempt)

    def fork(self, id: str, parent: str, boundary: int) -> Session:
        """Fork a session, or go on with a fork that was begun."""

        def attempt() -> Session:
            try:
                session = self._store.fork(parent, boundary=boundary, child_id=id)
            except SessionExists:
                return self._store.open(id, take_over=True)
            self._diary.write("forked", id)
            return session

        self._diary.write("fork", id, p=parent, b=boundary)
        self._places.forking = True
        try:
            return patiently(attempt)
        finally:
            self._places.forking = False

    def resume(self, id: str) -> Session:
        """Hold a session of an earlier life, and repeat each request that was not answered."""
        past = [line for line in self._past if line["s"] == id]
        session = self._held_again(id, past)
        answered = {token for line in past if line["k"] == "ack" for _, token in line["t"]}
        asked: dict[tuple[str, ...], int] = {}
        for line in past:
            if line["k"] == "ask" and line["e"] is not None:
                asked[tuple(line["t"])] = line["e"]
        for tokens, expected_seq in asked.items():
            if answered.isdisjoint(tokens):
                self.flush(session, self._repeat(session, tokens, expected_seq))
        return session

    def flush(self, session: Session, tokens: list[tuple[int, str]]) -> None:
        """Flush until it answers, and write down what that acknowledges."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            before_seq = session.acknowledged_seq
            try:
                session.flush(timeout_s=self._plan.flush_s)
            except OutcomeUnknown as error:
                acknowledged = [before_seq, session.acknowledged_seq]
                self._diary.write("unknown", session.id, f=error.first_seq, a=acknowledged)
                if time.monotonic() > deadline:
                    raise
            else:
                self._diary.ack(session.id, tokens)
                return

    def _held_again(self, id: str, past: list[Line]) -> Session:
        kinds = {line["k"]: line for line in past}
        if "fork" in kinds and "forked" not in kinds:
            return self.fork(id, kinds["fork"]["p"], kinds["fork"]["b"])
        if "created" in kinds or "forked" in kinds:  # it must be there
            return patiently(lambda: self._store.open(id, take_over=True))
        return self.hold(id)

    def _repeat(
        self, session: Session, tokens: tuple[str, ...], expected_seq: int
    ) -> list[tuple[int, str]]:
        """Ask again; where the log says that it never came to be, ask anew."""
        drafts = [marked(token) for token in tokens]
        try:
            events = session.append_all(drafts, expected_seq=expected_seq)
        except Conflict:
            self._diary.ask(session.id, tokens, session.next_seq)
            events = session.append_all(drafts, expected_seq=session.next_seq)
        return [(event.seq, token) for event, token in zip(events, tokens, strict=True)]

    def _work(self, session: Session, name: str, draw: random.Random) -> None:
        """Append some events in several ways, and flush them."""
        found: list[tuple[int, str]] = []
        turn = session.next_seq + 1
        session.append("turn/start", {"turn": turn})
        for index in range(draw.randrange(1, 4)):
            way = draw.randrange(4)
            tokens = [f"{name}:{index}:{each}" for each in range(draw.choice((1, 3, 20)))]
            expected_seq = session.next_seq if way < 2 else None
            self._diary.ask(session.id, tokens, expected_seq)
            if way in (0, 3):
                drafts = [marked(token) for token in tokens]
                events = session.append_all(drafts, expected_seq=expected_seq)
                if way == 0 and draw.random() < 0.5:
                    # The same request again: nothing is doubled, in flight or not.
                    again = session.append_all(drafts, expected_seq=expected_seq)
                    assert [event.seq for event in again] == [event.seq for event in events]
            elif way == 1:
                events = session.append_all([marked(t) for t in tokens], expected_seq=expected_seq)
            else:
                events = [session.append_all([chunk(token)])[0] for token in tokens]
            found += [(event.seq, token) for event, token in zip(events, tokens, strict=True)]
            if draw.random() < 0.5:
                self.flush(session, found)
                found = []
        if draw.random() < 0.5:
            session.append("turn/end", {"turn": turn, "reason": {"kind": "completed"}})
        self.flush(session, found)

    def _fill(self, session: Session) -> None:
        """Make a log whose fork takes several commits, where forks are to be killed."""
        if self._plan.point is None or not self._plan.point.startswith("fork/"):
            return
        for index in range(2):
            tokens = [f"{session.id}:big{index}:{each}" for each in range(_BIG)]
            self._diary.ask(session.id, tokens, None)
            events = session.append_all([chunk(token) for token in tokens])
            pairs = zip(events, tokens, strict=True)
            self.flush(session, [(event.seq, token) for event, token in pairs])

    def _finish(self, session: Session) -> None:
        patiently(session.detach)
        self._diary.write("done", session.id)

    def _unfinished(self) -> list[str]:
        done = {line["s"] for line in self._past if line["k"] == "done"} | set(self._plan.mains)
        begun = [line["s"] for line in self._past if line["k"] in ("create", "fork")]
        return [id for id in dict.fromkeys(begun) if id not in done]

    def _is_over(self, round_: int) -> bool:
        if self._plan.rounds is None:
            return self._plan.stop.exists()
        return round_ >= self._plan.rounds


def marked(token: str) -> Draft:
    """An event that stands alone in its row."""
    return Draft("plan/mode", {"token": token})


def patiently(attempt: Callable[[], _T]) -> _T:
    """Try again as long as the broker does not answer."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return attempt()
        except BrokerError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
