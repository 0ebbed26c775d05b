"""Writers under load while nodes are killed, and what the log then holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.cluster import Cluster
from tests.support.outside import read_outside
from tests.support.shared import REPO
from turnlog.broker import DEFAULT_PARTITIONS, ensure_topics, events_topic
from turnlog.log import partition_of

__all__ = [
    "MOST_PAUSE_S",
    "PARTS",
    "Diary",
    "Flush",
    "Found",
    "Result",
    "kill",
    "load",
    "pause",
    "wrong",
]

#: Who may be killed: what leads the first session's partition, coordinates a group (the store
#: itself is in none), leads the metadata quorum.
PARTS = ("leader", "coordinator", "controller")

#: The longest flush that is no surprise: three times what a leader's death was measured to cost.
MOST_PAUSE_S = 10.0

_SESSIONS = ("s1", "s2", "s3", "s4")
_GROUP = "turnlog-unused"
_PATIENCE_S = 90.0
_FLUSHES = 10


@dataclass(frozen=True)
class Flush:
    """One line of the diary: `tokens` holds [seq, token]."""

    session: str
    tokens: list[tuple[int, str]]
    flush_s: float


class Diary:
    """What the writers wrote down so far."""

    def __init__(self, path: Path, sessions: tuple[str, ...]) -> None:
        self.path = path
        self.sessions = sessions
        self._flushes: list[Flush] = []
        self._read_bytes = 0
        self.process: subprocess.Popen[str] | None = None

    def flushes(self) -> list[Flush]:
        """All lines that are whole by now."""
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self._read_bytes)
                new = file.read()
            new = new[: new.rindex(b"\n") + 1] if b"\n" in new else b""
            self._read_bytes += len(new)
            self._flushes += [Flush(**json.loads(line)) for line in new.splitlines()]
        return self._flushes

    def await_progress(self) -> None:
        """Return when each session was flushed some times more than it is now."""
        before = Counter(flush.session for flush in self.flushes())
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            assert self.process is None or self.process.poll() is None, "the writer has ended"
            now = Counter(flush.session for flush in self.flushes())
            if all(now[each] >= before[each] + _FLUSHES for each in self.sessions):
                return
            assert time.monotonic() < deadline, f"flushes: {dict(before)}, then {dict(now)}"
            time.sleep(0.02)


@dataclass(frozen=True)
class Result:
    """What a load came to; `faults` is empty where every acknowledged event is where it belongs."""

    flushes: int
    longest_flush_s: float
    faults: list[str]


@dataclass(frozen=True)
class Found:
    """What stands in the log, read from outside: each session's events, [seq, type, data]."""

    sessions: dict[str, list[tuple[int, str, Any]]]
    released: list[str]
    verdicts: dict[str, int]


def load(
    cluster: Cluster, namespace: str, folder: Path, disturb: Callable[[Diary], None]
) -> Result:
    """Write sessions while `disturb` runs, close them, and read the log from outside."""
    diary = Diary(folder / f"{namespace}.diary", _SESSIONS)
    ensure_topics(cluster.bootstrap, namespace)
    with _writing(cluster.bootstrap, namespace, diary):
        disturb(diary)
    flushes = diary.flushes()
    faults = wrong(flushes, _outside(cluster.bootstrap, namespace))
    return Result(len(flushes), max(flush.flush_s for flush in flushes), faults)


def kill(cluster: Cluster, namespace: str, part: str, diary: Diary) -> None:
    """Kill the node that plays a part now; when the sessions have gone on, start it again."""
    node = _node_of(cluster, namespace, part)
    cluster.kill(node)
    diary.await_progress()
    cluster.restart(node)
    diary.await_progress()


def pause(cluster: Cluster, namespace: str, part: str, pause_s: float, diary: Diary) -> None:
    """Stop that node's process for so long, then let it go on."""
    with cluster.paused(_node_of(cluster, namespace, part)):
        time.sleep(pause_s)
    diary.await_progress()


def _node_of(cluster: Cluster, namespace: str, part: str) -> int:
    if part == "leader":
        partition = partition_of(_SESSIONS[0], DEFAULT_PARTITIONS)
        return cluster.leader(events_topic(namespace).name, partition)
    return cluster.coordinator(_GROUP) if part == "coordinator" else cluster.controller()


@contextmanager
def _writing(bootstrap: str, namespace: str, diary: Diary) -> Iterator[None]:
    """Have a process that writes these sessions; at the end of the block they are closed."""
    command = [sys.executable, "-m", "tests.cluster.writer", bootstrap, namespace, str(diary.path)]
    with subprocess.Popen(
        [*command, *diary.sessions],
        stdin=subprocess.PIPE,
        text=True,
        cwd=REPO,
        env=dict(os.environ),
    ) as process:
        diary.process = process
        try:
            diary.await_progress()
            yield
            process.communicate(timeout=_PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0, "a writer failed: its error stands above"


def _outside(bootstrap: str, namespace: str) -> Found:
    """Read the events topic by code that shares nothing with the product."""
    program = Path(__file__).with_name("outside.py")
    return Found(**read_outside(program, bootstrap, namespace, _PATIENCE_S))


def wrong(flushes: list[Flush], found: Found) -> list[str]:
    """List what is lost, doubled, out of place or not whole."""
    faults = []
    for session, events in found.sessions.items():
        if [seq for seq, _, _ in events] != list(range(len(events))):
            faults.append(f"{session}: the seqs are not dense")
    places: dict[str, list[tuple[str, int]]] = {}
    for session, events in found.sessions.items():
        for seq, _, data in events:
            if (token := _token(data)) is not None:
                places.setdefault(token, []).append((session, seq))
    for token, stands in places.items():
        if len(stands) > 1:
            faults.append(f"{token}: stands at {stands}")
    for flush in flushes:
        for seq, token in flush.tokens:
            if places.get(token, [None])[0] != (flush.session, seq):
                faults.append(f"{token}: acknowledged at {seq}, found at {places.get(token)}")
    held = sorted(found.sessions.keys() - set(found.released))
    if held:
        faults.append(f"{held}: closed without a release")
    for verdict in ("broken", "newer"):
        if found.verdicts.get(verdict):
            faults.append(f"{found.verdicts[verdict]} records are {verdict}")
    return faults


def _token(data: Any) -> str | None:
    token = data.get("token", data.get("chunk", {}).get("text"))
    return token if isinstance(token, str) else None
