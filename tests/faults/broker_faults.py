"""The broker killed, and paused for longer than a message may take, under writers at work."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.faults.broker import Broker, Outcome
from tests.faults.children import Child, wait_until
from tests.faults.diary import read_diary
from tests.faults.judge import outside, wrong
from tests.faults.life import Plan, live

__all__ = ["run_broker_kills", "run_pauses"]

_PROGRESS = 5
"""Acknowledgements of each session that show that the work goes on."""

_PAUSE_S = 2.0
_IMPATIENT = {"message.timeout.ms": 500}


def run_broker_kills(broker: Broker, folder: Path, *, runs: int, seed: int) -> Outcome:
    """Kill the broker so many times under two processes of two sessions each."""
    outcome = Outcome()
    draw = random.Random(seed)
    plans = [
        Plan(broker.bootstrap, "", folder / "broker-kills", f"w{each}", seed + each, rounds=None)
        for each in range(2)
    ]
    with _working(broker, plans, outcome) as await_progress:
        for _ in range(runs):
            begin_s = time.monotonic()
            with broker.killed():
                time.sleep(draw.uniform(0.0, 1.0))
            await_progress()
            outcome.times_s.append(time.monotonic() - begin_s)
            outcome.runs += 1
    return outcome


def run_pauses(broker: Broker, folder: Path, *, runs: int, seed: int) -> Outcome:
    """Pause the broker so many times, until messages time out and outcomes are unknown.

    `hits` counts the seals in the log and the flushes whose time was up.
    """
    outcome = Outcome()
    plan = Plan(
        broker.bootstrap,
        "",
        folder / "pauses",
        "p",
        seed,
        rounds=None,
        flush_s=0.3,
        read_back_s=1.0,
        client=_IMPATIENT,
    )
    with _working(broker, [plan], outcome) as await_progress:
        for _ in range(runs):
            begin_s = time.monotonic()
            broker.pause(_PAUSE_S)
            await_progress()
            outcome.times_s.append(time.monotonic() - begin_s)
            outcome.runs += 1
    return outcome


@contextmanager
def _working(broker: Broker, plans: list[Plan], outcome: Outcome) -> Iterator[Callable[[], None]]:
    """Have processes at work, two sessions each; gives what waits until all go on. Judges."""
    namespace = broker.new_namespace()
    stop = plans[0].diary.with_suffix(".stop")
    each = [
        Plan(
            plan.bootstrap,
            namespace,
            plan.diary,
            plan.name,
            plan.seed,
            mains=(f"{plan.name}-0", f"{plan.name}-1"),
            rounds=None,
            sides=1_000_000,
            stop=stop,
            flush_s=plan.flush_s,
            read_back_s=plan.read_back_s,
            client=plan.client,
        )
        for plan in plans
    ]
    diary = plans[0].diary
    sessions = [id for plan in each for id in plan.mains]

    def acknowledged() -> Counter[str]:
        return Counter(line["s"] for line in read_diary(diary) if line["k"] == "ack")

    with ExitStack() as stack:
        children = [stack.enter_context(Child(live, plan)) for plan in each]

        def await_progress() -> None:
            before = acknowledged()

            def goes_on() -> bool:
                if any(child.exit_code is not None for child in children):
                    raise RuntimeError("a writer has ended: its error stands above")
                now = acknowledged()
                return all(now[id] >= before[id] + _PROGRESS for id in sessions)

            wait_until(goes_on, "acknowledgements of each session")

        await_progress()
        try:
            yield await_progress
        except (RuntimeError, TimeoutError) as error:
            outcome.wrong.append(str(error))
        stop.touch()
        for child in children:
            if child.end() != 0:
                outcome.wrong.append("a writer did not end well: its error stands above")
    lines = read_diary(diary)
    found = outside(broker.bootstrap, namespace)
    outcome.wrong += wrong(lines, found)
    outcome.hits["seals"] += found.reasons.get("seal", 0)
    outcome.hits["unknown"] += sum(line["k"] == "unknown" for line in lines)
