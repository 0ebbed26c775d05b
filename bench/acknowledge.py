"""How fast events are acknowledged by the embedded broker.

ack-rate: text chunks appended and acknowledged; ack-share: beside a plain loop that dumps, packs
and produces the same events. flush-p50, flush-p99: a flush of one session of 50, at 5,000 events/s
in all.
"""

from __future__ import annotations

import statistics
import threading
import time

import orjson
from confluent_kafka import Producer

from bench.broker import broker, new_log
from bench.report import RUNS, at_least, at_most, median_of
from turnlog.events import Draft, pack
from turnlog.events.event import event_of_value
from turnlog.log import KafkaSettings, KafkaStore
from turnlog.session import Session

_EVENTS = 300_000
_BATCH = 500
_SESSIONS = 50
_RATE = 5_000
_FLUSH_EVENTS = 5
_FLUSH_S = 6.0


def run() -> bool:
    """Print the four figures; gives whether all are ok."""
    with broker() as bootstrap:
        settings = new_log(bootstrap)
        ours = median_of(lambda: _appended(settings))
        plain = median_of(lambda: _produced(settings))
        ok = at_least("ack-rate", ours, "events/s", 100_000)
        ok &= at_least("ack-share", [ours[0] / plain[0]], "times", 0.5)
        laps = [_flushes(settings) for _ in range(RUNS)]
    for name, percentiles, needed in zip(
        ("flush-p50", "flush-p99"), zip(*laps, strict=True), (5, 20), strict=True
    ):
        figures = statistics.median(percentiles), min(percentiles), max(percentiles)
        ok &= at_most(name, figures, "ms", needed)
    return ok


def _data(index: int) -> dict[str, object]:
    chunk = {"type": "text-delta", "index": index // 100, "text": f"tok{index % 997} "}
    return {"turn": 1, "step": 1, "chunk": chunk}


def _appended(settings: KafkaSettings) -> float:
    drafts = [Draft("assistant/chunk", _data(i)) for i in range(_EVENTS)]
    batches = [drafts[i : i + _BATCH] for i in range(0, _EVENTS, _BATCH)]
    with KafkaStore(settings) as store:
        session = store.create()
        session.append("turn/start", {"turn": 1})
        session.flush()
        start = time.perf_counter()
        for batch in batches:
            session.append_all(batch)
        session.flush()
        return _EVENTS / (time.perf_counter() - start)


def _produced(settings: KafkaSettings) -> float:
    """The same events by hand: JSON, packed, one record for each batch, all delivered."""
    batches = [[(i, _data(i)) for i in range(at, at + _BATCH)] for at in range(0, _EVENTS, _BATCH)]
    producer = Producer({**settings.producer(), "linger.ms": 5})
    start = time.perf_counter()
    for batch in batches:
        now_ms = time.time_ns() // 1_000_000
        events = []
        for seq, data in batch:
            value = {"type": "assistant/chunk", "seq": seq, "time": now_ms, "data": data}
            events.append(event_of_value(value, orjson.dumps(value)))
        body = b"[" + b",\n".join([row.text for row in pack(events)]) + b"]"
        producer.produce(settings.events_topic, key=b"plain", value=body)
        producer.poll(0)
    producer.flush()
    return _EVENTS / (time.perf_counter() - start)


def _flushes(settings: KafkaSettings) -> tuple[float, float]:
    """Milliseconds of the flushes of 50 sessions, each on a thread of its own."""
    times_ms: list[float] = []
    every_s = _SESSIONS * _FLUSH_EVENTS / _RATE

    def work(session: Session, start_s: float) -> None:
        for lap in range(int(_FLUSH_S / every_s)):
            time.sleep(max(0.0, start_s + lap * every_s - time.perf_counter()))
            for index in range(_FLUSH_EVENTS):
                session.append("assistant/chunk", _data(index))
            begun_s = time.perf_counter()
            session.flush()
            times_ms.append((time.perf_counter() - begun_s) * 1000)

    with KafkaStore(settings) as store:
        sessions = [store.create() for _ in range(_SESSIONS)]
        for session in sessions:
            session.append("turn/start", {"turn": 1})
            session.flush()
        start_s = time.perf_counter() + 0.2
        threads = [
            threading.Thread(target=work, args=(session, start_s + n * every_s / _SESSIONS))
            for n, session in enumerate(sessions)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    cuts = statistics.quantiles(times_ms, n=100)
    return cuts[49], cuts[98]
