"""How fast a folder of session files goes into Kafka.

import-folder: a folder of 10,000 sessions of some 200 events, plain and packed, into an empty log;
from the listing of the folder until all is read back and released.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import orjson

from bench.broker import broker, new_log
from bench.report import at_least, median_of
from turnlog.importers import Summary, import_files, session_files
from turnlog.log import KafkaSettings, KafkaStore

__all__ = ["run", "write_folder"]

_SESSIONS = 10_000
_TURNS = 4
_CHUNKS = 40
EVENTS = 2 + _TURNS * (_CHUNKS + 6)


def run() -> bool:
    """Print the figure; gives whether it is ok."""
    with tempfile.TemporaryDirectory() as folder, broker() as bootstrap:
        write_folder(Path(folder), _SESSIONS)
        rates = median_of(lambda: _imported(new_log(bootstrap), Path(folder)))
    return at_least("import-folder", rates, "events/s", 50_000)


def write_folder(folder: Path, sessions: int) -> None:
    """Write so many sessions, each of EVENTS events, streams packed."""
    for number in range(sessions):
        id = f"session-{number:05}"
        lines: list[dict[str, object]] = [
            {"type": "session", "version": 0, "id": id, "createdAt": 1, "delegationDepth": 0}
        ]
        lines += _rows()
        text = b"".join(orjson.dumps(line) + b"\n" for line in lines)
        (folder / f"{id}.jsonl").write_bytes(text)


def _rows() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    seq = 0

    def event(type: str, data: dict[str, object], **more: object) -> None:
        nonlocal seq
        rows.append({"type": type, "seq": seq, "time": seq, "data": data, **more})
        seq += 1

    event("session/title", {"title": "t", "sourceSeqs": [], "source": {"kind": "user"}})
    for turn in range(1, _TURNS + 1):
        text = [{"type": "text", "text": f"What about {turn}?"}]
        event("turn/start", {"turn": turn})
        event(
            "user/message",
            {"id": f"u{turn}", "role": "user", "source": {"kind": "user"}, "content": text},
            surfaceOp="append",
        )
        event("step/start", {"turn": turn, "step": 1})
        data = {
            "turn": turn,
            "step": 1,
            "index": 0,
            "dt": [7] * (_CHUNKS - 1),
            "texts": [f"tok{number} " for number in range(_CHUNKS)],
        }
        rows.append({"type": "text-chunks", "seq0": seq, "time0": seq, "data": data})
        seq += _CHUNKS
        model = {"kind": "model", "provider": "p", "model": "m"}
        message = {"id": f"a{turn}", "role": "assistant", "source": model, "content": text}
        event(
            "assistant/message",
            {"turn": turn, "step": 1, "message": message},
            surfaceOp="append",
        )
        event("step/end", {"turn": turn, "step": 1})
        event("turn/end", {"turn": turn, "reason": {"kind": "completed"}})
    event("session/end-seed", {})
    return rows


def _imported(settings: KafkaSettings, folder: Path) -> float:
    start = time.perf_counter()
    summary = Summary()
    with KafkaStore(settings) as store:
        for outcome in import_files(store, session_files(folder)):
            summary.add(outcome)
            if not outcome.ok:
                raise RuntimeError(f"{outcome.path}: {outcome.reason}")
    return summary.events_added / (time.perf_counter() - start)
