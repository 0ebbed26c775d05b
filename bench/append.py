"""The rate at which text chunks are appended, and whether it holds as the log grows.

append-one, append-batch: `Session.append` and `append_all` of text chunks without a store: gate,
shape, seq, Surface. append-flat: the time of an event at 1,000,000 events beside that at 10,000.
"""

from __future__ import annotations

import time

from bench.report import at_least, at_most, median_of
from turnlog.events import Draft
from turnlog.session import Session

_EVENTS = 200_000
_BATCH = 500
_TEXTS = [f"tok{i} " for i in range(997)]


def run() -> bool:
    """Print the three figures; gives whether all are ok."""
    ok = at_least("append-one", median_of(_one), "events/s", 300_000)
    ok &= at_least("append-batch", median_of(_batch), "events/s", 600_000)
    return ok & at_most("append-flat", median_of(_flat), "times", 1.2)


def _data(index: int) -> dict[str, object]:
    # A new run every 100 chunks, as blocks of a stream are.
    chunk = {"type": "text-delta", "index": index // 100, "text": _TEXTS[index % 997]}
    return {"turn": 1, "step": 1, "chunk": chunk}


def _one() -> float:
    session = Session.create("bench")
    values = [_data(i) for i in range(_EVENTS)]
    append = session.append
    start = time.perf_counter()
    for value in values:
        append("assistant/chunk", value)
    return _EVENTS / (time.perf_counter() - start)


def _batch() -> float:
    session = Session.create("bench")
    drafts = [Draft("assistant/chunk", _data(i)) for i in range(_EVENTS)]
    batches = [drafts[i : i + _BATCH] for i in range(0, _EVENTS, _BATCH)]
    start = time.perf_counter()
    for batch in batches:
        session.append_all(batch)
    return _EVENTS / (time.perf_counter() - start)


def _flat() -> float:
    session = Session.create("bench")
    values = [_data(i) for i in range(10_000)]
    append = session.append

    def lap() -> float:
        start = time.perf_counter()
        for value in values:
            append("assistant/chunk", value)
        return time.perf_counter() - start

    laps = [lap() for _ in range(100)]
    # Single laps are noisy on a shared machine: the median of a few at each end.
    return sorted(laps[-5:])[2] / sorted(laps[:5])[2]
