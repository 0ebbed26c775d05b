"""How a figure is printed: the machine once, then one `bar` line each."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

__all__ = ["RUNS", "at_least", "at_most", "head", "median_of"]

RUNS = 5
"""An absolute figure is the median of so many runs."""

_LIBRARIES = ("turnlog", "orjson", "msgspec", "fastavro", "zstandard", "confluent-kafka")


def head() -> str:
    """Say where and with what the figures were measured."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    return (
        f"# {_processor()}, {os.cpu_count()} cores; Python {platform.python_version()}; "
        f"commit {commit or 'unknown'}\n# {libraries}"
    )


def median_of(measure: Callable[[], float], runs: int = RUNS) -> tuple[float, float, float]:
    """Measure several times: the median, the least and the largest."""
    figures = [measure() for _ in range(runs)]
    return statistics.median(figures), min(figures), max(figures)


def at_least(name: str, figures: Sequence[float], unit: str, needed: float) -> bool:
    """Print a figure that should not be below its bar; gives whether it is ok."""
    return _print(name, figures, unit, needed, figures[0] >= needed)


def at_most(name: str, figures: Sequence[float], unit: str, needed: float) -> bool:
    """Print a figure that should not be above its bar; gives whether it is ok."""
    return _print(name, figures, unit, needed, figures[0] <= needed)


def _print(name: str, figures: Sequence[float], unit: str, needed: float, ok: bool) -> bool:
    value = _shown(figures[0])
    print(f"bar {name} {value} {unit} {_shown(needed)} {'ok' if ok else 'short'}", flush=True)
    if len(figures) == 3:
        print(f"#   {name}: from {_shown(figures[1])} to {_shown(figures[2])}", flush=True)
    return ok


def _shown(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
