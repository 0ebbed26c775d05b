"""Long runs that look for rare faults: `python -m bench.soak [N]`, N scales their length.

Fuzzes every target, kills the nodes of a cluster, then writers and their broker. Prints
`bar <name>-wrong`, and how much was tried, for each kind; exits with 1 where any was wrong.
"""

from __future__ import annotations

import secrets
import sys
import traceback

from bench import failover, faults
from bench.report import at_least, at_most, head
from tests.fuzz.mutate import Finding, fuzz
from tests.fuzz.targets import TARGETS

_SECONDS_EACH = 150.0


def main(arguments: list[str]) -> int:
    """Fuzz each target for 150 s, kill each part of a cluster 5 times, then all faults; times N."""
    times = float(arguments[0]) if arguments else 1.0
    seconds = _SECONDS_EACH * times
    seed = secrets.randbits(32)
    print(head(), f"# seed {seed}", sep="\n", flush=True)
    sound = True
    for name, target in TARGETS.items():
        kind = name.replace("_", "-")
        try:
            runs = fuzz(target, seed=seed, seconds=seconds)
        except Finding:
            traceback.print_exc()
            sound &= at_most(f"{kind}-wrong", [1], "inputs", 0)
        else:
            at_least(f"{kind}-runs", [runs], "runs", 1)
            sound &= at_most(f"{kind}-wrong", [0], "inputs", 0)
    sound &= failover.run(times)
    sound &= faults.run(times, seed)
    return 0 if sound else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
