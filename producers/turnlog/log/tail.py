"""The live tail of a process: one consumer and one thread for all partitions that it follows."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from turnlog.events.errors import BrokerError, BrokerUnavailable, TurnlogError

from .clients import consumer_client
from .faults import ClientFaults
from .messages import Record, fault_of, poll_messages, read_message
from .settings import KafkaSettings
from .translate import translated

__all__ = ["Sink", "Tail"]

_log = logging.getLogger(__name__)

_POLL_S = 0.02
_ASK_S = 5.0

Place = tuple[str, int]
"""A topic and a partition."""


class Sink:
    """What takes the records of one partition, in the tail's thread and in offset order."""

    def take(self, records: Sequence[Record]) -> None:
        """Take the next records."""

    def fail(self, error: TurnlogError) -> None:
        """Hear that no more records come."""


class Tail:
    """Follows partitions from an offset on and gives their records to sinks.

    `turn` runs in the tail's thread after each batch and at least ten times a second. The thread
    starts with the first partition. Partitions are never let go of: sessions come back to them.
    """

    def __init__(self, settings: KafkaSettings, turn: Callable[[], None]) -> None:
        self._settings = settings
        self._turn = turn
        self._faults = ClientFaults(settings.bootstrap)
        self._sinks: dict[Place, Sink] = {}
        self._read: dict[Place, int] = {}
        self._taken: dict[Place, int] = {}
        self._failed: dict[Place, TurnlogError] = {}
        self._lock = threading.Lock()
        self._moved = threading.Condition(self._lock)
        self._new: list[TopicPartition] = []
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def error(self) -> BrokerError | None:
        """The last fault of the connections."""
        return self._faults.error

    def follows(self, topic: str, partition: int) -> bool:
        """Whether a partition is followed."""
        return (topic, partition) in self._sinks

    def follow(self, topic: str, offsets: Mapping[int, int], sinks: Sequence[Sink]) -> None:
        """Follow partitions, each from its offset on; those followed already stay as they are.

        `sinks` are those of all partitions of the topic. Many at once come faster than one by one:
        each time, a fetch that waits at the broker has to end first.
        """
        with self._lock:
            for partition, offset in offsets.items():
                place = topic, partition
                if place not in self._sinks:
                    self._sinks[place] = sinks[partition]
                    self._read[place] = self._taken[place] = offset
                    self._new.append(TopicPartition(topic, partition, offset))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="turnlog-tail", daemon=True)
                self._thread.start()

    def join(self, topic: str, partition: int, register: Callable[[int], None]) -> int:
        """Give `register` the first offset of the next batch, before that is read; returns it too.

        The sink may still be given records below that offset afterwards.
        """
        with self._lock:
            offset = self._read[topic, partition]
            register(offset)
            return offset

    def wait_until(self, topic: str, partition: int, offset: int, timeout_s: float) -> None:
        """Return when all records below `offset` were taken. Raises BrokerError, LogStartCut."""
        place = topic, partition
        deadline = time.monotonic() + timeout_s
        with self._moved:
            while self._taken[place] < offset:
                if place in self._failed:
                    raise self._failed[place]
                if not self._moved.wait(deadline - time.monotonic()):
                    raise self._faults.error or BrokerUnavailable(
                        f"{topic}/{partition}: stopped at {self._taken[place]}, end is {offset}"
                    )

    def close(self) -> None:
        """Stop the thread and close the consumer."""
        self._closed = True
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        consumer = consumer_client(self._settings, self._faults)
        try:
            while not self._closed:
                self._assign(consumer)
                messages = self._poll(consumer)
                if messages:
                    self._take(consumer, messages)
                self._turn()
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            _log.exception("the tail stopped")
            with self._lock:
                places = list(self._sinks)
            for place in places:
                self._fail(place, BrokerError(f"the tail stopped: {error!r}"))
        finally:
            consumer.close()

    def _assign(self, consumer: Consumer) -> None:
        with self._lock:
            new, self._new = self._new, []
        if new:
            with translated("tail"):
                # A topic that the client doesn't know yet would be asked for after a second only.
                for topic in {place.topic for place in new}:
                    consumer.list_topics(topic, timeout=_ASK_S)
                consumer.incremental_assign(new)

    def _poll(self, consumer: Consumer) -> list[Message]:
        try:
            return poll_messages(consumer, "tail", _POLL_S)
        except BrokerError as error:
            _log.warning("tail: %s", error)
            time.sleep(_POLL_S)
            return []

    def _take(self, consumer: Consumer, messages: Sequence[Message]) -> None:
        batches: dict[Place, list[Record]] = defaultdict(list)
        faults: dict[Place, KafkaError] = {}
        with self._lock:
            for message in messages:
                place = message.topic() or "", message.partition() or 0
                if place not in self._sinks:
                    continue
                record, self._read[place], fault = read_message(message, self._read[place])
                batch = batches[place]
                if record is not None:
                    batch.append(record)
                if fault is not None:
                    faults[place] = fault
        for place, records in batches.items():
            if records:
                self._sinks[place].take(records)
        for place, fault in faults.items():
            self._fail(place, fault_of(consumer, *place, self._read[place], fault))
        with self._moved:
            for place in batches:
                self._taken[place] = self._read[place]
            self._moved.notify_all()

    def _fail(self, place: Place, error: TurnlogError) -> None:
        with self._moved:
            self._failed[place] = error
            self._moved.notify_all()
        self._sinks[place].fail(error)
