"""Ten writers at once for one session: one owns it at a time, and nothing acknowledged is lost."""

from __future__ import annotations

import threading
from collections import defaultdict
from multiprocessing.synchronize import Barrier
from pathlib import Path

from tests.faults.broker import Broker, Outcome
from tests.faults.children import CONTEXT, Child
from tests.faults.diary import Diary, Line, read_diary
from tests.faults.judge import Found, outside, wrong
from tests.faults.life import Plan, marked, settings_of
from turnlog.events import Conflict, OwnedElsewhere, SessionExists, Superseded
from turnlog.log import KafkaStore
from turnlog.session import Session, SessionStore

__all__ = ["MODES", "run_races"]

MODES = ("create", "open", "take-over")
"""What all try at once: to make a session, to open a released one, to take it over."""

_PROCESSES, _STORES = 5, 2
_WRITERS = _PROCESSES * _STORES
_BATCH = 100
_TIMEOUT_S = 60.0


def run_races(broker: Broker, folder: Path, *, runs: int) -> Outcome:
    """Have ten writers, two in each of five processes, race so many times."""
    outcome = Outcome()
    for first in range(0, runs, _BATCH):
        upto = min(runs, first + _BATCH)
        plan = Plan(
            broker.bootstrap,
            broker.new_namespace(),
            folder / f"races-{first}",
            name=str(first),
            seed=0,
            rounds=upto - first,
        )
        barrier = CONTEXT.Barrier(_WRITERS, timeout=_TIMEOUT_S)
        children = [Child(race, plan, each * _STORES, barrier) for each in range(_PROCESSES)]
        for child in children:
            with child:
                if child.end(timeout_s=600.0) != 0:
                    outcome.wrong.append("a writer did not end well: its error stands above")
        lines = read_diary(plan.diary)
        found = outside(broker.bootstrap, plan.namespace)
        outcome.wrong += wrong(lines, found) + _wrong_owners(lines, found)
        ended = [line for line in lines if line["k"] == "race"]
        outcome.runs += len(ended) // _WRITERS
        for line in ended:
            outcome.hits[line["r"]] += 1
    return outcome


def race(plan: Plan, first_writer: int, barrier: Barrier) -> None:
    """Race with the stores of one process, a thread each."""
    failures: list[BaseException] = []

    def run(writer: int) -> None:
        try:
            _race_all(plan, writer, barrier)
        except BaseException as error:  # noqa: BLE001 - raised below, in the main thread
            barrier.abort()
            failures.append(error)

    threads = [threading.Thread(target=run, args=(first_writer + each,)) for each in range(_STORES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _race_all(plan: Plan, writer: int, barrier: Barrier) -> None:
    diary = Diary(plan.diary)
    first = int(plan.name)
    with KafkaStore(settings_of(plan)) as store:
        store.create(f"warm-{first}-{writer}").detach()
        for run in range(first, first + (plan.rounds or 0)):
            mode = MODES[run % len(MODES)]
            id = f"{mode}-{run}"
            if mode != "create" and run % _WRITERS == writer:
                session = store.create(id)
                _append(session, f"{id}:first", diary)
                session.detach()
            barrier.wait()
            won = _race_one(store, id, mode, writer, diary)
            barrier.wait()  # no release before all have tried
            if won is not None:
                _end(won)
            barrier.wait()


def _race_one(store: SessionStore, id: str, mode: str, writer: int, diary: Diary) -> Session | None:
    session = None
    try:
        if mode == "create":
            session = store.create(id)
        else:
            session = store.open(id, take_over=mode == "take-over")
        result = "won"
        for index in range(3):
            _append(session, f"{id}:w{writer}:{index}", diary)
    except (SessionExists, OwnedElsewhere, Conflict, Superseded) as error:
        result = f"{mode}: {type(error).__name__}"
    diary.write("race", id, w=writer, r=result)
    return session


def _append(session: Session, token: str, diary: Diary) -> None:
    event = session.append_all([marked(token)])[0]
    session.flush()
    diary.ack(session.id, [(event.seq, token)])


def _end(session: Session) -> None:
    try:
        session.detach()
    except Superseded:  # told at the detach at the latest
        pass


def _wrong_owners(lines: list[Line], found: Found) -> list[str]:
    """Each race has the winners that it may have, and the log one owner at each seq."""
    winners: dict[str, list[int]] = defaultdict(list)
    for line in lines:
        if line["k"] == "race":
            winners[line["s"]] += [line["w"]] * (line["r"] == "won")
    faults = []
    for id, won in winners.items():
        if len(won) != 1 and not (id.startswith("take-over") and won):
            faults.append(f"{id}: won by {won}")
        by_owner: dict[str, set[str]] = defaultdict(set)
        for seq, token in found.sessions.get(id, []):
            owner = [writer for first, writer in found.owners[id] if first <= seq][-1]
            by_owner[token.split(":")[1]].add(owner)
        for tag, owners in by_owner.items():
            if len(owners) != 1:
                faults.append(f"{id}: {tag} stands under {sorted(owners)}")
        owned = [owner for owners in by_owner.values() for owner in owners]
        taggers = {tag for tag in by_owner if tag != "first"}
        if len({*owned}) < len(taggers):
            faults.append(f"{id}: {sorted(taggers)} wrote under {sorted({*owned})}")
    return faults
