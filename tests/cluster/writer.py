"""A process that writes sessions and keeps a diary of what was acknowledged.

    python -m tests.cluster.writer BOOTSTRAP NAMESPACE DIARY SESSION ...

Each session has a thread: append some events, flush, write down. The diary gets one JSON line a
flush, fsynced: `{"session", "tokens": [[seq, token], ...], "flush_s"}`; a token is text that one
event has and no other. At the end of its input the process closes the store and ends with 0; after
any error, with another code.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from tests.session.talk import chunk
from turnlog.events import Draft
from turnlog.log import KafkaSettings, KafkaStore
from turnlog.session import Session

# Deltas that share a row, between two events that stand alone.
_DELTAS = 8
# Beside the flush: else the writers fill both cores that the brokers need, too.
_REST_S = 0.005


class Diary:
    """One line a flush; thread-safe."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._lock = threading.Lock()

    def write(self, session: str, tokens: Sequence[tuple[int, str]], flush_s: float) -> None:
        """Write a line; durable on return."""
        line = json.dumps({"session": session, "tokens": tokens, "flush_s": flush_s})
        with self._lock:
            self._file.write(line + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())


def drafts(session: str, round_: int) -> tuple[list[Draft], list[str]]:
    """Some events, and the token of each."""
    tokens = [f"{session}/{round_}/{index}" for index in range(_DELTAS + 2)]
    first, *deltas, last = tokens
    alone = [Draft("plan/mode", {"token": token}) for token in (first, last)]
    return [alone[0], *(chunk(token) for token in deltas), alone[1]], tokens


def write(session: Session, diary: Diary, stop: threading.Event) -> None:
    """Append, flush and write down, until told to stop."""
    round_ = 0
    while not stop.wait(_REST_S):
        events, tokens = drafts(session.id, round_)
        first_seq = session.next_seq
        for event in events:
            session.append_all([event])
        begin_s = time.monotonic()
        session.flush()
        diary.write(
            session.id, list(enumerate(tokens, first_seq)), round(time.monotonic() - begin_s, 4)
        )
        round_ += 1


def main(arguments: Sequence[str]) -> int:
    """Write until the end of the input."""
    bootstrap, namespace, path, *ids = arguments
    store = KafkaStore(KafkaSettings(bootstrap=bootstrap, namespace=namespace))
    stop = threading.Event()
    failed = threading.Event()

    def fail(told: threading.ExceptHookArgs) -> None:
        failed.set()
        threading.__excepthook__(told)

    threading.excepthook = fail
    with Path(path).open("a", encoding="utf-8") as file:
        diary = Diary(file)
        sessions = [store.create(id) for id in ids]
        threads = [
            threading.Thread(target=write, args=(session, diary, stop)) for session in sessions
        ]
        for thread in threads:
            thread.start()
        sys.stdin.read()
        stop.set()
        for thread in threads:
            thread.join()
        store.close()
    return 1 if failed.is_set() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
