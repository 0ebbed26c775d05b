"""Writers and their broker killed, stopped and raced: nothing acknowledged is lost or doubled.

The short form of what `make soak` runs in full; its bars are in bench/faults.py.
"""

from __future__ import annotations

from pathlib import Path

from tests.faults.broker import Broker, Outcome
from tests.faults.broker_faults import run_broker_kills, run_pauses
from tests.faults.children import Child
from tests.faults.diary import read_diary
from tests.faults.judge import outside, wrong
from tests.faults.kills import POINTS, run_kills
from tests.faults.life import Plan
from tests.faults.races import run_races
from tests.faults.refusals import await_barriers, fork_in_mid_work
from tests.faults.stops import run_askers, run_stops, run_takeovers

SEED = 20_261_201


def ran(outcome: Outcome, runs: int) -> None:
    assert outcome.wrong == []
    assert outcome.runs >= runs


def plan_of(broker: Broker, folder: Path, name: str) -> Plan:
    namespace = broker.new_namespace()
    return Plan(broker.bootstrap, namespace, folder / name, name, SEED, stop=folder / "stop")


def test_a_writer_killed_at_each_point_loses_and_doubles_nothing(
    broker: Broker, tmp_path: Path
) -> None:
    outcome = run_kills(broker, tmp_path, runs=len(POINTS), seed=SEED)
    ran(outcome, len(POINTS))
    assert set(outcome.hits) == set(POINTS)


def test_a_stopped_writer_is_superseded_and_knows_what_did_not_land(
    broker: Broker, tmp_path: Path
) -> None:
    ran(run_stops(broker, tmp_path, runs=8, seed=SEED), 8)


def test_a_writer_at_full_rate_can_be_taken_over(broker: Broker, tmp_path: Path) -> None:
    ran(run_takeovers(broker, tmp_path, runs=8, seed=SEED), 8)


def test_a_busy_writer_keeps_what_others_only_ask_for(broker: Broker, tmp_path: Path) -> None:
    ran(run_askers(broker, tmp_path, runs=60), 60)


def test_of_ten_writers_one_at_a_time_owns_a_session(broker: Broker, tmp_path: Path) -> None:
    outcome = run_races(broker, tmp_path, runs=15)
    ran(outcome, 15)
    assert outcome.hits["won"] >= 15


def test_writers_go_on_after_their_broker_was_killed(broker: Broker, tmp_path: Path) -> None:
    ran(run_broker_kills(broker, tmp_path, runs=1, seed=SEED), 1)


def test_messages_that_time_out_are_settled_by_a_seal(broker: Broker, tmp_path: Path) -> None:
    outcome = run_pauses(broker, tmp_path, runs=2, seed=SEED)
    ran(outcome, 2)
    assert outcome.hits["seals"] >= 1
    assert outcome.hits["unknown"] >= 1


def test_a_forked_process_is_refused_and_its_parent_goes_on(broker: Broker, tmp_path: Path) -> None:
    plan = plan_of(broker, tmp_path, "forked")
    with Child(fork_in_mid_work, plan) as child:
        assert child.end() == 0
    found = outside(broker.bootstrap, plan.namespace)
    assert wrong(read_diary(plan.diary), found) == []
    assert found.sizes == {"forked": 5}


def test_barriers_stay_closed_without_a_broker(broker: Broker, tmp_path: Path) -> None:
    plan = plan_of(broker, tmp_path, "barriers")

    def said(kind: str) -> list[str]:
        return [line["s"] for line in read_diary(plan.diary) if line["k"] == kind]

    with Child(await_barriers, plan) as child:
        child.until(lambda: said("ready") != [], "sessions")
        with broker.stopped():
            plan.stop.touch()
            child.until(lambda: said("barriers") != [], "barriers")
        assert child.end() == 0
    assert said("body") == []
    assert said("refused") == ["step", "model", "tool"]
    found = outside(broker.bootstrap, plan.namespace)
    assert wrong(read_diary(plan.diary), found) == []
    # The call was logged before its barrier, the start of a step comes after one.
    assert found.sizes == {"step": 3, "model": 4, "tool": 5}
