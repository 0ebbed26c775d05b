"""Writers stopped in mid-work, taken over, and let go on; taken over, or not, at full rate."""

from __future__ import annotations

import random
import signal
import time
from dataclasses import replace
from pathlib import Path

from tests.faults.broker import Broker, Outcome
from tests.faults.children import Child, wait_until
from tests.faults.diary import Diary, read_diary
from tests.faults.judge import outside, wrong
from tests.faults.life import Places, Plan, marked, patiently, settings_of
from tests.session.talk import chunk
from turnlog.events import Conflict, OwnedElsewhere, SessionExists, Superseded, TurnlogError
from turnlog.log import KafkaStore
from turnlog.session import Session, SessionStore

__all__ = ["STOP_POINTS", "run_askers", "run_stops", "run_takeovers"]

STOP_POINTS = (
    "writer.before-produce.events",
    "writer.after-produce.events",
    "writer.before-read-back",
    "writer.before-answer",
)
"""Where a writer is stopped: with its commit made, on its way, in the log, or acknowledged."""

_BATCH = 25
_RATE_BATCH = 10
"""Take-overs in one namespace: a log at full rate grows."""

_MOST_EVENTS = 2_000_000
_ASK_BATCH = 50
"""Requests for one session, which grows meanwhile."""

_LAST_PASS = 20


def run_stops(broker: Broker, folder: Path, *, runs: int, seed: int) -> Outcome:
    """Stop a writer so many times, take its session over, and let it find out."""
    outcome = Outcome()
    for first in range(0, runs, _BATCH):
        plan = _plan(broker, folder / f"stops-{first}", first, min(runs, first + _BATCH), seed)
        diary = Diary(plan.diary)
        with KafkaStore(settings_of(plan)) as store, Child(write_until_superseded, plan) as child:
            store.create("warm").detach()
            for id in _ids(plan):
                _stop_one(child, store, diary, id, outcome)
            if child.end() != 0:
                outcome.wrong.append("the writer did not end well: its error stands above")
        said = {line["s"]: line for line in read_diary(plan.diary) if line["k"] == "lost"}
        outcome.wrong += [f"{id}: not told of it" for id in _ids(plan) if id not in said]
        outcome.hits.update(_drawn(plan, id)[0] for id in said)
        outcome.runs += len(said)
        _judge(broker, plan, outcome)
    return outcome


def run_takeovers(broker: Broker, folder: Path, *, runs: int, seed: int) -> Outcome:
    """Take over so many sessions from a writer that appends as fast as it can."""
    outcome = Outcome()
    draw = random.Random(seed)
    for first in range(0, runs, _RATE_BATCH):
        upto = min(runs, first + _RATE_BATCH)
        plan = _plan(broker, folder / f"takeovers-{first}", first, upto, seed)
        diary = Diary(plan.diary)
        with KafkaStore(settings_of(plan)) as store, Child(append_at_full_rate, plan) as child:
            store.create("warm").detach()
            for run in range(first, upto):
                id = f"rate-{run}"
                _await(child, plan, "created", id)
                time.sleep(draw.uniform(0.05, 0.3))
                begin_s = time.monotonic()
                session = _take_over(store, id, outcome)
                outcome.times_s.append(time.monotonic() - begin_s)
                _write_as_new_owner(session, diary)
                _await(child, plan, "lost", id)
                outcome.runs += 1
            if child.end() != 0:
                outcome.wrong.append("the writer did not end well: its error stands above")
        _judge(broker, plan, outcome)
    return outcome


def run_askers(broker: Broker, folder: Path, *, runs: int) -> Outcome:
    """Ask so many times for a session that a busy writer has, without taking it over."""
    outcome = Outcome()
    for first in range(0, runs, _ASK_BATCH):
        plan = _plan(broker, folder / f"askers-{first}", first + 1, first + 2, 0)
        with KafkaStore(settings_of(plan)) as store, Child(append_at_full_rate, plan) as child:
            _ask(child, plan, store, min(runs, first + _ASK_BATCH), outcome)
            if child.end() != 0:
                outcome.wrong.append("the writer did not end well: its error stands above")
        _judge(broker, plan, outcome)
    return outcome


def write_until_superseded(plan: Plan) -> None:
    """Write session after session, each until it is stopped in the midst of it and superseded.

    One more session is written all the time: who loses a session keeps the others.
    """
    diary = Diary(plan.diary)
    store = patiently(lambda: KafkaStore(settings_of(plan)))
    other = store.create(f"other-{plan.name}")
    for id in _ids(plan):
        session = store.create(id)
        accepted: list[str] = []
        point, nth = _drawn(plan, id)
        Places(replace(plan, point=point, nth=nth), signal.SIGSTOP)
        try:
            for round_ in range(10_000):
                token = f"{id}:{round_}"
                for index in range(3):
                    session.append_all([chunk(f"{token}:{index}")])
                    accepted.append(f"{token}:{index}")
                last = session.append_all([marked(token)])[0]
                accepted.append(token)
                if round_ % 3 == 0:  # else the next commit goes out before this one's answer
                    session.flush()
                    diary.ack(id, [(last.seq, token)])
                _write(other, f"{token}:other", diary)
        except Superseded as error:
            _say_lost(diary, session, accepted, error)
        _write(other, f"{id}:other", diary)
    store.close()


def append_at_full_rate(plan: Plan) -> None:
    """Write session after session, each until it is taken over: odd ones in many small commits."""
    diary = Diary(plan.diary)
    store = patiently(lambda: KafkaStore(settings_of(plan)))
    first = int(plan.name)
    for run in range(first, first + (plan.rounds or 0)):
        id = f"rate-{run}"
        session = store.create(id)
        diary.write("created", id)
        accepted: list[str] = []
        try:
            while True:
                # Who comes to its end would release the session, and anyone could have it then.
                assert len(accepted) < _MOST_EVENTS, "nobody took the session over"
                tokens = [f"{id}:{len(accepted)}:{each}" for each in range(20)]
                events = session.append_all([chunk(token) for token in tokens])
                accepted += tokens
                if run % 2 or len(accepted) % 10_000 == 0:
                    session.flush()
                    diary.ack(id, [(events[0].seq, tokens[0]), (events[-1].seq, tokens[-1])])
        except Superseded as error:
            _say_lost(diary, session, accepted, error)
    store.close()


def _ask(child: Child, plan: Plan, store: SessionStore, upto: int, outcome: Outcome) -> None:
    id = f"rate-{plan.name}"
    _await(child, plan, "created", id)
    while outcome.runs < upto:
        ask = store.create if outcome.runs % 2 else store.open
        outcome.runs += 1
        try:
            ask(id)
        except (OwnedElsewhere, SessionExists) as error:
            outcome.hits[type(error).__name__] += 1
        else:
            outcome.wrong.append(f"{ask.__name__}: got what another has")
            return
        if _says(plan, "lost", id):
            outcome.wrong.append(f"after {outcome.runs} requests: taken from its writer")
            return
    _take_over(store, id, outcome)


def _stop_one(child: Child, store: SessionStore, diary: Diary, id: str, outcome: Outcome) -> None:
    wait_until(lambda: child.is_stopped or child.exit_code is not None, f"{id} stopped")
    if child.exit_code is not None:
        return
    try:
        _write_as_new_owner(store.open(id, take_over=True), diary)
    except TurnlogError as error:
        outcome.wrong.append(f"{id}: not taken over: {error!r}")
    child.signal(signal.SIGCONT)
    wait_until(lambda: not child.is_stopped, f"{id} going on")


def _take_over(store: SessionStore, id: str, outcome: Outcome) -> Session:
    """Take a session over, again where its owner was too busy for all tries of one open."""
    while True:
        try:
            session = store.open(id, take_over=True)
        except Conflict:
            outcome.hits["conflicts"] += 1
        else:
            outcome.hits["take-overs"] += 1
            return session


def _write_as_new_owner(session: Session, diary: Diary) -> None:
    _write(session, f"{session.id}:new owner", diary)
    session.detach()


def _write(session: Session, token: str, diary: Diary) -> None:
    event = session.append_all([marked(token)])[0]
    session.flush()
    diary.ack(session.id, [(event.seq, token)])


def _say_lost(diary: Diary, session: Session, accepted: list[str], error: Superseded) -> None:
    lost = [_token(event.data) for event in session.not_landed]
    if error.not_landed != session.not_landed:
        raise AssertionError("the error and the session name other events")
    diary.write("lost", session.id, t=accepted, n=lost)


def _token(data: object) -> str:
    match data:
        case {"token": str(token)} | {"chunk": {"text": str(token)}}:
            return token
    raise AssertionError(f"no event of ours: {data}")


def _ids(plan: Plan) -> list[str]:
    first = int(plan.name)
    return [f"stop-{run}" for run in range(first, first + (plan.rounds or 0))]


def _drawn(plan: Plan, id: str) -> tuple[str, int]:
    """Where a session's writer is stopped, and at which pass."""
    draw = random.Random(f"{plan.seed}/{id}")
    return draw.choice(STOP_POINTS), draw.randrange(1, _LAST_PASS)


def _await(child: Child, plan: Plan, kind: str, id: str) -> None:
    child.until(lambda: _says(plan, kind, id), f"{id}: {kind}")


def _says(plan: Plan, kind: str, id: str) -> bool:
    return any(line["k"] == kind and line["s"] == id for line in read_diary(plan.diary))


def _plan(broker: Broker, diary: Path, first: int, upto: int, seed: int) -> Plan:
    return Plan(
        broker.bootstrap,
        broker.new_namespace(),
        diary,
        name=str(first),
        seed=seed,
        rounds=upto - first,
    )


def _judge(broker: Broker, plan: Plan, outcome: Outcome) -> None:
    outcome.wrong += wrong(read_diary(plan.diary), outside(broker.bootstrap, plan.namespace))
