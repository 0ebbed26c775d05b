"""Runs the `turnlog` command in a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from typing import NamedTuple

__all__ = ["Shown", "in_terminal"]

_PATIENCE_S = 120.0  # far above what a run here takes


class Shown(NamedTuple):
    """What a terminal was told, and the exit code."""

    text: str
    code: int


def in_terminal(
    *arguments: str,
    columns: int = 80,
    interrupt_at: str | None = None,
    signal_number: signal.Signals = signal.SIGINT,
    **env: str,
) -> Shown:
    """Run the command to its end on a terminal so wide; `env` comes on top of the environment.

    With `interrupt_at` it gets a signal as soon as it has shown that text.
    """
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    wanted = {"COLUMNS", "LINES", "NO_COLOR"} - env.keys()
    inherited = {name: value for name, value in os.environ.items() if name not in wanted}
    process = subprocess.Popen(
        [sys.executable, "-m", "turnlog.cli", *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**inherited, "TERM": "xterm-256color", **env},
        start_new_session=True,
    )
    os.close(slave)
    shown = b""
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while time.monotonic() < deadline:
            if select.select([master], [], [], 0.2)[0]:
                try:
                    data = os.read(master, 65536)
                except OSError:  # the other side is closed
                    break
                if not data:
                    break
                shown += data
            if interrupt_at is not None and interrupt_at.encode() in shown:
                process.send_signal(signal_number)
                interrupt_at = None
        code = process.wait(max(0.1, deadline - time.monotonic()))
    finally:
        process.kill()
        process.wait()
        os.close(master)
    return Shown(shown.decode("utf-8", "replace").replace("\r\n", "\n"), code)
