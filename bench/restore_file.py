"""Time and memory to restore a plain JSONL file of 1,300,000 packed chunk events.

All checks of restore, each run in a process of its own, whose peak memory is read.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from bench.report import RUNS, at_most
from turnlog.events import Draft, write_jsonl
from turnlog.session import Session

_EVENTS = 1_300_000
_RUN = 100

_CHILD = """
import sys, time
from pathlib import Path
from turnlog.events import read_jsonl
from turnlog.kernel import restore
start = time.perf_counter()
with open(sys.argv[1], "rb") as file:
    header, rows = read_jsonl(file)
    restored = restore(header, rows)
spent = time.perf_counter() - start
status = Path("/proc/self/status").read_text().splitlines()
# Not `ru_maxrss`, which begins with what the parent had.
peak_kib = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
print(restored.first_live_seq, spent, peak_kib / 1024)
"""


def run() -> bool:
    """Print the two figures; gives whether both are ok."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        _write(path)
        seconds, sizes = [], []
        for _ in range(RUNS):
            answer = subprocess.run(
                [sys.executable, "-c", _CHILD, str(path)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout.split()
            if int(answer[0]) != _EVENTS:
                raise SystemExit(f"restored {answer[0]} events, expected {_EVENTS}")
            seconds.append(float(answer[1]))
            sizes.append(float(answer[2]))
    seconds.sort()
    sizes.sort()
    middle = RUNS // 2
    ok = at_most("restore-file-s", [seconds[middle], seconds[0], seconds[-1]], "s", 4)
    return ok & at_most("restore-file-mib", [sizes[middle], sizes[0], sizes[-1]], "MiB", 512)


def _write(path: Path) -> None:
    session = Session.create("bench")
    for start in range(0, _EVENTS, _RUN):
        session.append_all(
            Draft(
                "assistant/chunk",
                {
                    "turn": 1,
                    "step": 1,
                    "chunk": {"type": "text-delta", "index": start // _RUN, "text": f" word{i}"},
                },
            )
            for i in range(start, start + _RUN)
        )
    log = session.log
    with path.open("wb") as file:
        write_jsonl(file, log.header, log.rows)
