"""Reading one partition in offset order, to its end or on and on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from confluent_kafka import (
    OFFSET_INVALID,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from turnlog.events.errors import BrokerUnavailable

from .clients import consumer_client
from .ends import Ends
from .faults import ClientFaults
from .messages import Record, fault_of, poll_messages, read_message
from .settings import KafkaSettings
from .translate import UNLED, translate, translated

__all__ = [
    "PartitionReader",
    "ReaderPool",
    "cluster_id",
    "high_watermark",
    "partition_count",
    "partition_ends",
    "partition_offsets",
]

_POLL_S = 0.1
_ADMIN_TIMEOUT_S = 10.0
_RETRY_S = 0.05
_STALL_S = 5.0
_IDLE_READERS = 4
# A fetch that waits at the end of a partition holds up the first one after the next seek.
_AT_ONCE = {"fetch.wait.max.ms": 5}
_STALE_LEADER = UNLED | {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
}


class PartitionReader:
    """Reads one partition from an offset on; a context manager that closes its consumer.

    `position` is the next offset to read. `seek` makes it a reader of another place.
    """

    def __init__(self, settings: KafkaSettings, topic: str, partition: int, offset: int) -> None:
        self._faults = ClientFaults(settings.bootstrap)
        self._consumer = consumer_client(settings, self._faults, _AT_ONCE)
        self.seek(topic, partition, offset)

    def seek(self, topic: str, partition: int, offset: int) -> None:
        """Read from this place on."""
        self._topic = topic
        self._partition = partition
        self.position = offset
        with translated(topic):
            self._consumer.assign([TopicPartition(topic, partition, offset)])

    def poll(self, timeout_s: float) -> list[Record]:
        """Give the records that are there, or the first to come within the time; maybe none.

        Raises LogStartCut, BrokerError.
        """
        records = []
        for message in poll_messages(self._consumer, self._topic, timeout_s):
            record, self.position, fault = read_message(message, self.position)
            if fault is not None:
                raise fault_of(self._consumer, self._topic, self._partition, self.position, fault)
            if record is not None:
                records.append(record)
        return records

    def read_to(self, end: int, timeout_s: float = 60.0) -> Iterator[Record]:
        """Give the records below `end` (exclusive, a high watermark).

        Ends also where the last offsets below `end` are no records, such as transaction markers.
        Raises BrokerError where for so long nothing comes.
        """
        moved_s = asked_s = time.monotonic()
        while self.position < end:
            at = self.position
            records = self.poll(_POLL_S)
            yield from (record for record in records if record.offset < end)
            now_s = time.monotonic()
            if self.position > at:
                moved_s = asked_s = now_s
            elif now_s < moved_s + timeout_s:
                if now_s > asked_s + _STALL_S:
                    # Measured once, on a broker that had been stopped: the client fetched no more.
                    asked_s = now_s
                    self.seek(self._topic, self._partition, self.position)
            else:
                raise self._faults.error or BrokerUnavailable(
                    f"{self._topic}/{self._partition}: stopped at {self.position}, end is {end}"
                )

    def rest(self) -> None:
        """Fetch nothing until the next `seek`."""
        self._consumer.unassign()

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def __enter__(self) -> PartitionReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class ReaderPool:
    """Readers to borrow: a new consumer takes longer than the reading of a short stretch."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._idle: list[PartitionReader] = []
        self._lock = threading.Lock()

    @contextmanager
    def reader(self, topic: str, partition: int, offset: int) -> Iterator[PartitionReader]:
        """Lend a reader that stands at an offset. Raises BrokerError."""
        with self._lock:
            reader = self._idle.pop() if self._idle else None
        if reader is None:
            reader = PartitionReader(self._settings, topic, partition, offset)
        else:
            reader.seek(topic, partition, offset)
        try:
            yield reader
        except BaseException:
            reader.close()
            raise
        reader.rest()
        with self._lock:
            keep = len(self._idle) < _IDLE_READERS
            if keep:
                self._idle.append(reader)
        if not keep:
            reader.close()

    def close(self) -> None:
        """Close the readers that nobody has borrowed."""
        with self._lock:
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.close()


def cluster_id(admin: AdminClient) -> str:
    """The id of the cluster. Raises BrokerUnavailable."""
    with translated("cluster"):
        return str(admin.list_topics(timeout=_ADMIN_TIMEOUT_S).cluster_id)


def partition_count(admin: AdminClient, topic: str) -> int:
    """The number of partitions of a topic. Raises BrokerUnavailable where it is not there."""
    with translated(topic):
        metadata = admin.list_topics(topic, timeout=_ADMIN_TIMEOUT_S).topics[topic]
    if metadata.error is not None:
        raise translate(metadata.error, topic)
    return len(metadata.partitions)


def partition_ends(admin: AdminClient, topic: str, partition: int) -> tuple[int, int]:
    """The log start offset and the high watermark of a partition. Raises BrokerError."""
    start = partition_offsets(admin, topic, [partition], OffsetSpec.earliest())
    return start[partition], high_watermark(admin, topic, partition)


def high_watermark(admin: AdminClient, topic: str, partition: int) -> int:
    """The offset behind the last readable record of a partition. Raises BrokerError."""
    return partition_offsets(admin, topic, [partition], OffsetSpec.latest())[partition]


def topic_ends(admin: AdminClient, topic: str) -> Ends:
    """The ends of a topic's partitions, for many who ask at once."""
    return Ends(lambda wanted: partition_offsets(admin, topic, wanted, OffsetSpec.latest()))


def partition_offsets(
    admin: AdminClient, topic: str, partitions: Iterable[int], spec: OffsetSpec
) -> dict[int, int]:
    """The offset that a spec names in each partition, for uncommitted readers.

    Raises BrokerError.
    """
    deadline = time.monotonic() + _ADMIN_TIMEOUT_S
    while True:
        try:
            found = _offsets(admin, topic, partitions, spec)
            # A broker that has just come back may answer without an offset.
            if OFFSET_INVALID not in found.values():
                return found
            if time.monotonic() > deadline:
                raise BrokerUnavailable(f"{topic}: its offsets are not known")
            time.sleep(_RETRY_S)
        except KafkaException as exception:
            error = exception.args[0]
            if error.code() not in _STALE_LEADER or time.monotonic() > deadline:
                raise translate(error, topic) from exception
            # A client whose idea of the leader is old keeps it until it asks for the metadata.
            with translated(topic):
                admin.list_topics(topic, timeout=_ADMIN_TIMEOUT_S)
            time.sleep(_RETRY_S)


def _offsets(
    admin: AdminClient, topic: str, partitions: Iterable[int], spec: OffsetSpec
) -> dict[int, int]:
    futures = admin.list_offsets(
        {TopicPartition(topic, partition): spec for partition in partitions},
        isolation_level=IsolationLevel.READ_UNCOMMITTED,
        request_timeout=_ADMIN_TIMEOUT_S,
    )
    return {
        place.partition: int(future.result(timeout=_ADMIN_TIMEOUT_S).offset)
        for place, future in futures.items()
    }
