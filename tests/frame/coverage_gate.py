"""Fail when a package's lines or branches are covered below a bound.

    python -m tests.frame.coverage_gate coverage.json 95 schemas/turnlog/events ...

`coverage report --fail-under` mixes lines and branches into one number, in which many covered
lines hide uncovered branches; here each counts by itself.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict


class Summary(TypedDict):
    num_statements: int
    covered_lines: int
    num_branches: int
    covered_branches: int


class File(TypedDict):
    summary: Summary


def shortfalls(files: Mapping[str, File], folder: str, bound_percent: float) -> list[str]:
    """Return what of ``folder`` is covered below the bound; no file at all is a shortfall too."""
    summaries = [f["summary"] for name, f in files.items() if name.startswith(f"{folder}/")]
    if not summaries:
        return [f"{folder}: no file was measured"]
    found: list[str] = []
    for what, covered, total in (
        (
            "lines",
            sum(s["covered_lines"] for s in summaries),
            sum(s["num_statements"] for s in summaries),
        ),
        (
            "branches",
            sum(s["covered_branches"] for s in summaries),
            sum(s["num_branches"] for s in summaries),
        ),
    ):
        percent = 100 * covered / total if total else 100.0
        if percent < bound_percent:
            text = f"{covered} of {total} {what} covered, {percent:.2f} %"
            found.append(f"{folder}: {text}; needed {bound_percent:g} %")
    return found


def main(argv: Sequence[str]) -> int:
    report, bound_percent, *folders = argv
    files: Mapping[str, File] = json.loads(Path(report).read_text(encoding="utf-8"))["files"]
    found = [line for f in folders for line in shortfalls(files, f, float(bound_percent))]
    print("\n".join(found) or f"coverage: {bound_percent} % or more of {' '.join(folders)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
