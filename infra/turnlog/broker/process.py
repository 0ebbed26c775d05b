"""Know a process again by more than its number, and end it.

A process id is used again after its process is gone, so a recorded id alone may name a stranger.
The start time makes it unique; it is compared as text and never reckoned with.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

_POLL_S = 0.02


def parse_stat(text: str) -> tuple[str, str]:
    """Read state letter and start time (clock ticks since boot) from ``/proc/<pid>/stat``.

    The program's name stands second, in parentheses, and may hold spaces and parentheses.
    """
    fields = text[text.rindex(")") + 1 :].split()
    return fields[0], fields[19]


def parse_ps(text: str) -> tuple[str, str] | None:
    """Read state letter and start time from ``ps -o stat=,lstart=``; ``None`` for no process."""
    state, _, started = text.strip().partition(" ")
    return (state[0], started.strip()) if state else None


def identity(pid: int) -> str | None:
    """Give a text that only this process has; ``None`` if it is gone, or dead and not yet reaped.

    On Linux: boot id and start tick. Elsewhere: what ``ps`` says, to the second.
    """
    if sys.platform == "linux":
        try:
            state, started = parse_stat(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace"))
            boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        except (FileNotFoundError, ProcessLookupError):
            return None
        found: tuple[str, str] | None = state, f"{boot} {started}"
    else:
        answer = subprocess.run(
            ["ps", "-o", "stat=,lstart=", "-p", str(pid)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "LC_ALL": "C", "TZ": "UTC"},
        )
        found = parse_ps(answer.stdout)
    if found is None or found[0] in "ZX":
        return None
    return found[1]


def is_alive(pid: int, known: str) -> bool:
    """Tell whether the process that had ``known`` as its identity still runs."""
    return identity(pid) == known


def wait_gone(pid: int, known: str, timeout_s: float) -> bool:
    """Wait until that process is gone; ``False`` if it still is there after ``timeout_s``."""
    deadline = time.monotonic() + timeout_s
    while is_alive(pid, known):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_S)
    return True


def end(pid: int, known: str, grace_s: float) -> bool:
    """End that process and no other: ask, and after ``grace_s`` kill.

    Returns whether it went by itself. On Linux a descriptor of the process is held from before
    its identity is compared until after the signal, so its number can't change hands between.
    """
    if not _signal(pid, known, signal.SIGTERM) or wait_gone(pid, known, grace_s):
        return True
    _signal(pid, known, signal.SIGKILL)
    wait_gone(pid, known, grace_s)
    return False


def _signal(pid: int, known: str, number: signal.Signals) -> bool:
    try:
        if sys.platform == "linux":
            descriptor = os.pidfd_open(pid)
            try:
                if not is_alive(pid, known):
                    return False
                signal.pidfd_send_signal(descriptor, number)
            finally:
                os.close(descriptor)
        else:
            if not is_alive(pid, known):
                return False
            os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True
