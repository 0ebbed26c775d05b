"""How long it takes to come back to sessions on the embedded broker.

restore-log: 1,300,000 packed chunk events of one session alone in its partition;
restore-log-shared: with ten times as many bytes of other sessions between them. open-p50: opening
for writing in a running process, with 3,000 commits of 100 events of other sessions behind the
hint. sessions-*: 5,000 open sessions in one process: its threads, its memory, and the time to open
all of them again after SIGKILL.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.broker import broker, new_log
from bench.report import at_most
from turnlog.events import Draft
from turnlog.log import KafkaSettings, KafkaStore, partition_of
from turnlog.session import Session

__all__ = ["run"]

_EVENTS = 1_300_000
_BATCH = 1_000
_PARTITIONS = 12
_PASSED_COMMITS = 3_000
_PASSED_EVENTS = 100
_OPENS = 40
_SESSIONS = 5_000
_OPENERS = 4


def run() -> bool:
    """Print the six figures; gives whether all are ok."""
    with broker() as bootstrap:
        ok = at_most("restore-log", [_restored(new_log(bootstrap), others=0)], "s", 6)
        ok &= at_most("restore-log-shared", [_restored(new_log(bootstrap), others=10)], "s", 20)
        ok &= at_most("open-p50", [_open_ms(new_log(bootstrap))], "ms", 200)
        return ok & _many(new_log(bootstrap))


def _chunks(count: int, first: int = 0) -> list[Draft]:
    return [
        Draft(
            "assistant/chunk",
            {
                "turn": 1,
                "step": 1,
                "chunk": {"type": "text-delta", "index": i // 100, "text": f"tok{i % 997} "},
            },
        )
        for i in range(first, first + count)
    ]


def _id_in(partition: int) -> str:
    while True:
        id = uuid.uuid4().hex
        if partition_of(id, _PARTITIONS) == partition:
            return id


def _restored(settings: KafkaSettings, *, others: int) -> float:
    """Seconds to open a long session in a new store; `others` sessions write as much between."""
    with KafkaStore(settings) as store:
        session = store.create(_id_in(0))
        foreign = [store.create(_id_in(0)) for _ in range(others)]
        for each in (session, *foreign):
            each.append("turn/start", {"turn": 1})
        batch = _chunks(_BATCH)
        for lap in range(_EVENTS // _BATCH):
            for each in (session, *foreign):
                each.append_all(batch)
            if others or lap % 100 == 99:
                session.flush()
        for each in (session, *foreign):
            each.detach()
    with KafkaStore(settings) as store:
        start = time.perf_counter()
        opened = store.open(session.id)
        spent = time.perf_counter() - start
        if opened.next_seq < _EVENTS:
            raise SystemExit(f"restored {opened.next_seq} events, expected {_EVENTS}")
        return spent


def _open_ms(settings: KafkaSettings) -> float:
    """The median, in milliseconds, of opening small sessions of a busy partition."""
    with KafkaStore(settings) as store:
        ids = []
        for _ in range(_OPENS):
            session = store.create(_id_in(0))
            session.append("turn/start", {"turn": 1})
            session.detach()
            ids.append(session.id)
        busy = [store.create(_id_in(0)) for _ in range(4)]
        for session in busy:
            session.append("turn/start", {"turn": 1})
        batch = _chunks(_PASSED_EVENTS)
        for lap in range(_PASSED_COMMITS):
            busy[lap % 4].append_all(batch)
            busy[lap % 4].flush()
        times_ms = []
        for id in ids:
            start = time.perf_counter()
            store.open(id)
            times_ms.append((time.perf_counter() - start) * 1000)
    return statistics.median(times_ms)


def _many(settings: KafkaSettings) -> bool:
    """5,000 sessions of a process that is killed, opened again by this one."""
    child = subprocess.Popen(
        [sys.executable, "-m", "bench.open_log", settings.bootstrap, settings.namespace],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        lines = [] if child.stdout is None else [child.stdout.readline() for _ in range(2)]
        child.kill()
    ids = lines[0].split()
    threads, mib = (float(word) for word in lines[1].split())
    ok = at_most("sessions-threads", [threads], "threads", 32)
    ok &= at_most("sessions-mib", [mib], "MiB", 512)
    with KafkaStore(settings) as store, ThreadPoolExecutor(_OPENERS) as openers:
        start = time.perf_counter()
        list(openers.map(lambda id: store.open(id, take_over=True), ids))
        spent = time.perf_counter() - start
    return ok & at_most("sessions-reopen", [spent], "s", 60)


def _hold(settings: KafkaSettings) -> None:
    """Open 5,000 sessions, write to each, say which and what it takes, and wait to be killed."""
    store = KafkaStore(settings)
    with ThreadPoolExecutor(_OPENERS) as openers:
        sessions: list[Session] = list(openers.map(lambda _: store.create(), range(_SESSIONS)))
    for session in sessions:
        session.append("turn/start", {"turn": 1})
        session.append_all(_chunks(5))
    for session in sessions:
        session.flush()
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    threads = next(line.split()[1] for line in status if line.startswith("Threads:"))
    # Not `ru_maxrss`, which begins with what the parent had.
    peak_kib = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    print(" ".join(session.id for session in sessions))
    print(threads, peak_kib / 1024, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    _hold(KafkaSettings(bootstrap=sys.argv[1], namespace=sys.argv[2]))
