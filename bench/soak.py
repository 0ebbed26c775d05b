"""Long runs that look for rare faults: `python -m bench.soak [N]`, N scales their length.

Prints `bar <name>-runs` and `bar <name>-wrong` for each kind; exits with 1 where any was wrong.
"""

from __future__ import annotations

import secrets
import sys
import traceback

from bench.report import at_least, at_most, head
from tests.fuzz.mutate import Finding, fuzz
from tests.fuzz.targets import TARGETS

_SECONDS_EACH = 150.0


def main(arguments: list[str]) -> int:
    """Fuzz every target for 150 seconds, times N."""
    seconds = _SECONDS_EACH * (float(arguments[0]) if arguments else 1.0)
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
    return 0 if sound else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
