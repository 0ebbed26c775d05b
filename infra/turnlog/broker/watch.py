"""Run a program that ends when its owner ends, however the owner ends.

Run as a script, with the standard library only: ``watch.py OWNER_PID GRACE_S COMMAND...``; prints
the program's process id, then waits. Why a process of its own:

- SIGKILL leaves the owner no time for anything, so what ends the program must live outside of it.
- ``PR_SET_PDEATHSIG`` set by the owner's own child is tied to the *thread* that forked: the broker
  would die with a worker thread, and running Python between fork and exec is unsafe with threads.
  This process has one thread while it forks, and that one lives to the end, so here it is sound,
  and takes the program along should this process be killed.
- The owner holds the other end of the pipe that is standard input here; the kernel closes it when
  the owner is gone. Processes that the owner forked hold it too, so on Linux the owner itself is
  waited for as well, by a process descriptor: no other process can be taken for it.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence

_PR_SET_PDEATHSIG = 1


def main(arguments: Sequence[str]) -> int:
    """Run ``COMMAND`` and give its exit code."""
    owner, grace_s, command = int(arguments[0]), float(arguments[1]), list(arguments[2:])
    program = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),
        stderr=sys.stderr.fileno(),
        preexec_fn=_die_with_parent(),
    )
    signal.signal(signal.SIGTERM, lambda *_: program.terminate())
    os.write(1, b"%d\n" % program.pid)
    os.close(1)

    def follow() -> None:
        _wait_for_end(owner)
        program.terminate()
        try:
            program.wait(grace_s)
        except subprocess.TimeoutExpired:
            program.kill()

    threading.Thread(target=follow, daemon=True).start()
    return program.wait()


def _die_with_parent() -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def arrange() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the line above
            os.kill(os.getpid(), signal.SIGKILL)

    return arrange


def _wait_for_end(owner: int) -> None:
    events = select.poll()
    events.register(0, select.POLLIN | select.POLLHUP)
    if sys.platform == "linux":
        try:
            events.register(os.pidfd_open(owner), select.POLLIN)
        except ProcessLookupError:
            return
        except OSError:  # a kernel before 5.3: the pipe has to do
            pass
    if os.getppid() == owner:
        events.poll()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
