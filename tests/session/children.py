"""Processes that work with a folder store, to be paused and killed."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

__all__ = ["run_child", "start_child"]

_PROLOGUE = """
import os, signal, sys
from resource import RLIM_INFINITY, RLIMIT_FSIZE, setrlimit
from tests.session.talk import chunk, run_turn, say
from turnlog.events import Draft, NotAcknowledged, OwnedElsewhere, StoreFailed, Superseded
from turnlog.session import FolderStore
from turnlog.session.failpoints import arm

def limit_files(size_bytes):
    # As a full disk: a write goes as far as there is room, then fails.
    setrlimit(RLIMIT_FSIZE, (size_bytes, RLIM_INFINITY))

def pause(what="paused"):
    print(what, flush=True)
    sys.stdin.readline()

def at(count, action):
    # The action at the count-th time only.
    left = [count]
    def reached():
        left[0] -= 1
        if left[0] == 0:
            action()
    return reached

folder = sys.argv[1]
path = os.path.join(folder, "s.jsonl")
"""
_STORE = "store = FolderStore(folder, window_s=60)\n"


def start_child(folder: Path, body: str, *, store: bool = True) -> subprocess.Popen[str]:
    """Run code in a process of its own, by default with an open FolderStore `store`."""
    script = _PROLOGUE + (_STORE if store else "") + textwrap.dedent(body)
    return subprocess.Popen(
        [sys.executable, "-c", script, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ,
        cwd=Path(__file__).parents[2],
    )


def run_child(folder: Path, body: str, *, store: bool = True, expected: int = 0) -> str:
    """Run code as `start_child` does, to its end; gives what it printed."""
    child = start_child(folder, body, store=store)
    printed, _ = child.communicate()
    assert child.returncode == expected
    return printed
