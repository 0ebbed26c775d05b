"""Processes that own a broker, and patience."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Far above what anything here takes: a test that waits this long has failed.
PATIENCE_S = 60.0

_PROGRAM = """
import json, os, sys, threading, time
from pathlib import Path
from turnlog.broker import EmbeddedBroker

home, jars, how = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
broker = EmbeddedBroker(home, jars=jars, detached=how == "detached")
forked = None
if how == "thread":
    starter = threading.Thread(target=broker.start)
    starter.start()
    starter.join()
else:
    broker.start()
if how == "fork":
    forked = os.fork()
    if forked == 0:
        time.sleep(600)
        os._exit(0)
running = broker.status()
print(json.dumps({"bootstrap": running.bootstrap, "pid": running.pid, "process": running.process,
                  "forked": forked}), flush=True)
sys.stdin.read()
"""


@dataclass
class Owner:
    """A process that started or found a broker, and what it saw."""

    child: subprocess.Popen[str]
    said: dict[str, Any]

    @property
    def pid(self) -> int:
        return int(self.said["pid"])

    @property
    def process(self) -> str:
        return str(self.said["process"])

    def kill(self) -> None:
        self.child.kill()
        self.child.wait()


def launch_owner(home: Path, jars: Path, how: str = "plain") -> "subprocess.Popen[str]":
    """Start a process that starts a broker: ``plain``, ``detached``, ``thread`` or ``fork``."""
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(home), str(jars), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )


def hear(child: "subprocess.Popen[str]") -> Owner:
    """Wait until it has its broker."""
    assert child.stdout is not None
    line = child.stdout.readline()
    assert line, "it ended without a broker: its error stands above"
    return Owner(child, json.loads(line))


@contextmanager
def owner(home: Path, jars: Path, how: str = "plain") -> Iterator[Owner]:
    """Have such a process; it ends with the block, if it has not before."""
    child = launch_owner(home, jars, how)
    try:
        yield hear(child)
    finally:
        let_go(child)


def let_go(child: "subprocess.Popen[str]") -> None:
    """End it by the end of its input, and collect it."""
    with child:
        if child.stdin is not None:
            child.stdin.close()
        child.wait(PATIENCE_S)


def eventually(condition: Callable[[], bool]) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)
