"""Running a reader of the log that shares nothing with the product."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from turnlog.broker import DEFAULT_PARTITIONS

__all__ = ["read_outside"]


def read_outside(program: Path, bootstrap: str, namespace: str, timeout_s: float) -> dict[str, Any]:
    """Run a program over the events topic of a namespace; gives the JSON object that it prints."""
    run = subprocess.run(
        [sys.executable, "-I", str(program), bootstrap, namespace, str(DEFAULT_PARTITIONS)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=timeout_s,
    )
    found: dict[str, Any] = json.loads(run.stdout)
    return found
