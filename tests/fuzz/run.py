"""Fuzzes for a while: ``python tests/fuzz/run.py --seconds 60 --target fuzz_jsonl``."""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path

if __name__ == "__main__":  # found from anywhere, as a file
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fuzz.mutate import Finding, fuzz
from tests.fuzz.targets import TARGETS


def main(arguments: list[str] | None = None) -> int:
    """Run the targets; 0 where none found a fault, 1 where one did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="for each target")
    parser.add_argument("--target", choices=sorted(TARGETS), help="one target; all by default")
    parser.add_argument("--seed", type=int, default=0, help="of the random source")
    options = parser.parse_args(arguments)
    code = 0
    for name in [options.target] if options.target else sorted(TARGETS):
        try:
            runs = fuzz(TARGETS[name], seed=options.seed, seconds=options.seconds)
        except Finding:
            traceback.print_exc()
            code = 1
        else:
            print(f"{name}: {runs} inputs, no fault")
    return code


if __name__ == "__main__":
    sys.exit(main())
