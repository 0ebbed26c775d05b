"""Faults of the writer on Kafka in full: killed, stopped, taken over, raced; its broker as well.

`python -m bench.faults [N]`, N scales the runs. What each kind does and checks: tests/faults.
"""

from __future__ import annotations

import secrets
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.report import at_least, at_most, head
from tests.faults.broker import Broker, Outcome, running_broker
from tests.faults.broker_faults import run_broker_kills, run_pauses
from tests.faults.kills import POINTS, run_kills
from tests.faults.races import run_races
from tests.faults.stops import run_askers, run_stops, run_takeovers

__all__ = ["run"]

_HITS = 5
"""Kills at each failpoint, at least."""

_TAKEOVER_S = 1.0

_SHOWN = 10


def run(scale: float, seed: int) -> bool:
    """Run all kinds; gives whether nothing was wrong."""
    with tempfile.TemporaryDirectory() as name, running_broker(Path(name) / "home") as broker:
        folder = Path(name)
        sound = [_kills(broker, folder, max(1, round(200 * scale)), seed)]
        kinds: dict[str, tuple[int, Callable[..., Outcome]]] = {
            "stops-writer": (100, partial(run_stops, seed=seed)),
            "takeovers-writer": (100, partial(run_takeovers, seed=seed)),
            "askers-writer": (500, run_askers),
            "races-writer": (500, run_races),
            "broker-kills-writer": (20, partial(run_broker_kills, seed=seed)),
            "timeouts-writer": (20, partial(run_pauses, seed=seed)),
        }
        for kind, (full, function) in kinds.items():
            runs = max(1, round(full * scale))
            begin_s = time.monotonic()
            outcome = function(broker, folder, runs=runs)
            sound.append(_report(kind, outcome, runs, begin_s))
            if kind == "takeovers-writer":
                at_most(f"{kind}-max", [max(outcome.times_s, default=0.0)], "s", _TAKEOVER_S)
            if kind == "timeouts-writer":
                at_least(f"{kind}-seals", [outcome.hits["seals"]], "seals", runs)
    return all(sound)


def _kills(broker: Broker, folder: Path, runs: int, seed: int) -> bool:
    begin_s = time.monotonic()
    outcome = run_kills(broker, folder, runs=runs, seed=seed)
    sound = _report("kills-writer", outcome, runs, begin_s)
    least = min(outcome.hits[point] for point in POINTS)
    at_least("kills-writer-hits-least", [least], "hits", min(_HITS, runs // len(POINTS)))
    return sound


def _report(kind: str, outcome: Outcome, runs: int, begin_s: float) -> bool:
    """Print the bars of one kind, and what was counted; a fault is wrong, and so is a lost run."""
    at_least(f"{kind}-runs", [outcome.runs], "runs", runs)
    sound = at_most(f"{kind}-wrong", [len(outcome.wrong)], "events", 0)
    for name, count in sorted(outcome.hits.items()):
        print(f"#   {kind}: {name} {count}")
    for fault in outcome.wrong[:_SHOWN]:
        print(f"#   {kind} wrong: {fault}")
    if outcome.times_s:
        least, most = min(outcome.times_s), max(outcome.times_s)
        print(f"#   {kind}: a run took {least:.2f} to {most:.2f} s")
    print(f"#   {kind}: {time.monotonic() - begin_s:.0f} s in all", flush=True)
    return sound


def main(arguments: list[str]) -> int:
    """Run the faults alone."""
    seed = secrets.randbits(32)
    print(head(), f"# seed {seed}", sep="\n", flush=True)
    return 0 if run(float(arguments[0]) if arguments else 1.0, seed) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
