"""What writers asked for and what they were told, in a file that outlives them.

A line a fact, JSON, fsynced before the writer goes on. `k` says what it is, `s` whose session:

    create, created, fork (p: parent, b: boundary), forked    around the making of a session
    ask     t: tokens asked for, e: with this expected_seq or null
    ack     t: [seq, token] pairs that a flush has made durable
    unknown f: first_seq of an OutcomeUnknown, a: the seqs acknowledged before and after
    lost    t: tokens accepted by append, n: those in not_landed; the session was superseded
    done    nothing more is asked of this session

A token is text that one event has and no other.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["Diary", "Line", "read_diary"]

Line = dict[str, Any]


class Diary:
    """Appends to the file; thread-safe, also beside other processes."""

    def __init__(self, path: Path | str) -> None:
        self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
        self._lock = threading.Lock()

    def write(self, kind: str, session: str, **facts: Any) -> None:
        """Write a line; durable on return."""
        data = json.dumps({"k": kind, "s": session, **facts}).encode() + b"\n"
        with self._lock:
            # One write: a kill leaves all of it or nothing.
            if os.write(self._file, data) != len(data):
                raise OSError("a line of the diary was cut")
            os.fsync(self._file)

    def ask(self, session: str, tokens: Iterable[str], expected_seq: int | None) -> None:
        """Say what is about to be appended."""
        self.write("ask", session, t=list(tokens), e=expected_seq)

    def ack(self, session: str, tokens: Iterable[tuple[int, str]]) -> None:
        """Say what was acknowledged, and where."""
        self.write("ack", session, t=list(tokens))

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read_diary(path: Path | str) -> list[Line]:
    """All lines so far."""
    try:
        text = Path(path).read_text("utf-8")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line[-1] == "\n"]
