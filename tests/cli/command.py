"""Runs the `turnlog` command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

__all__ = ["turnlog"]

_PATIENCE_S = 120.0  # far above what a run here takes


def turnlog(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; `env` comes on top of this process's environment."""
    return subprocess.run(
        [sys.executable, "-m", "turnlog.cli", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **env},
        timeout=_PATIENCE_S,
        check=False,
    )
