"""Start the broker's process, with an owner to die with or without."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE

from turnlog.broker import watch
from turnlog.broker.errors import HomeUnusable, StartFailed
from turnlog.broker.home import Home, writing
from turnlog.broker.process import identity

#: How long a broker may take to close its log when its owner is gone: measured below 2 s.
GRACE_S = 30.0

_FORMAT_S = 120.0


@dataclass
class Launched:
    """A process that this one started: the broker's, and the child to reap, which may be another.

    As long as this object's pipe is open the broker lives; see :mod:`turnlog.broker.watch`.
    """

    pid: int
    process: str
    child: subprocess.Popen[bytes]

    def reap(self, timeout_s: float) -> None:
        """Let go of the pipe and collect the child, which ends when the broker has."""
        if self.child.stdin is not None:
            self.child.stdin.close()
        try:
            self.child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


def launch(command: Sequence[str], home: Home, *, detached: bool) -> Launched:
    """Start ``command`` in a session of its own, so that Ctrl-C reaches its owner only.

    What it writes is appended to the home's log. Its process id is known on return, and no more.

    Raises:
        HomeUnusable: the log can't be written.
        StartFailed: the program can't be run.
    """
    if not detached:
        command = [
            sys.executable,
            "-I",
            "-S",
            watch.__file__,
            str(os.getpid()),
            str(GRACE_S),
            *command,
        ]
    with writing(home.path):
        log = home.log.open("ab")
    with log:
        try:
            child = subprocess.Popen(
                command,
                stdin=DEVNULL if detached else PIPE,
                stdout=log if detached else PIPE,
                stderr=log,
                cwd=home.path,
                start_new_session=True,
            )
        except OSError as error:
            raise StartFailed(f"{command[0]}: {error.strerror}", "") from error
    pid = child.pid if detached else _announced(child)
    # No identity: it is dead already, and no process ever has the empty one.
    return Launched(pid, identity(pid) or "", child)


def run_to_end(command: Sequence[str], home: Home) -> bool:
    """Run a short program, its words into the home's log; tells whether it ended well.

    Raises:
        HomeUnusable: the log can't be written.
    """
    try:
        with writing(home.path), home.log.open("ab") as log:
            done = subprocess.run(
                command,
                stdin=DEVNULL,
                stdout=log,
                stderr=log,
                cwd=home.path,
                timeout=_FORMAT_S,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def rotate(log: Path) -> None:
    """Put the last run's log aside, so that this run's begins here.

    Raises:
        HomeUnusable: the log's folder can't be written to.
    """
    try:
        log.replace(log.with_name(log.name + ".1"))
    except FileNotFoundError:
        pass
    except OSError as error:
        raise HomeUnusable(log, error.strerror or str(error)) from error


def _announced(child: subprocess.Popen[bytes]) -> int:
    line = b""
    if child.stdout is not None:
        with child.stdout as answer:
            line = answer.readline()
    if not line.strip().isdigit():
        child.wait()
        raise StartFailed("its watcher did not start", "")
    return int(line)
