"""Processes that write to Kafka, to be killed, stopped and raced.

They fork from a server that has everything imported and no threads: a start costs some 20 ms.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

__all__ = ["CONTEXT", "Child", "wait_until"]

CONTEXT: ForkServerContext = multiprocessing.get_context("forkserver")
# What stands in __main__ is imported anew in each child, and pytest takes its time.
CONTEXT.set_forkserver_preload(["pytest", "tests.fuzz.targets", "tests.faults.life"])


def wait_until(holds: Callable[[], bool], what: str, timeout_s: float = 60.0) -> None:
    """Wait for something that happens elsewhere. Raises TimeoutError where it does not come."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {timeout_s} s: {what}")
        time.sleep(0.002)


class Child:
    """A process that runs a function; a context manager that kills it at the end."""

    def __init__(self, function: Callable[..., object], *arguments: Any) -> None:
        self._process: ForkServerProcess = CONTEXT.Process(
            target=_run, args=(function, arguments), daemon=True
        )
        self._process.start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        if self._process.pid is None:
            raise ProcessLookupError
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How it ended, a signal as its negative number; None while it runs."""
        return self._process.exitcode

    @property
    def is_stopped(self) -> bool:
        """Whether a SIGSTOP holds it."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text("utf-8")
        except FileNotFoundError:
            return False
        return stat.rpartition(")")[2].split()[0] == "T"

    def end(self, timeout_s: float = 60.0) -> int | None:
        """Wait for its end; None where that does not come."""
        self._process.join(timeout_s)
        return self._process.exitcode

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait for something that it does. Raises TimeoutError, ProcessLookupError at its end."""
        wait_until(lambda: self.exit_code is not None or holds(), what)
        if self.exit_code is not None and not holds():
            raise ProcessLookupError(f"ended with {self.exit_code} before: {what}")

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()


def _run(function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    # Unknown outcomes are what these processes are for; what else is logged should be seen.
    logging.getLogger("turnlog").setLevel(logging.ERROR)
    try:
        function(*arguments)
    except BaseException:  # noqa: BLE001 - whatever it is, the process fails
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)  # threads of a failed run would keep the process
