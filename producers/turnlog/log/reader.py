"""Reading one partition in offset order, to its end or on and on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from turnlog.events.errors import BrokerUnavailable, LogStartCut

from .settings import KafkaSettings
from .translate import translate, translated

__all__ = ["PartitionReader", "Record", "partition_count", "partition_ends"]

_BATCH = 2_000
_POLL_S = 0.1
_ADMIN_TIMEOUT_S = 10.0
_RETRY_S = 0.05
_STALE_LEADER = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
}
_CONSUMER = {
    # No group membership and no stored offsets: a reader knows its own position.
    "group.id": "turnlog-unused",
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "auto.offset.reset": "error",
    # All readers of the ledger must see the same records, whatever a foreign transaction did.
    "isolation.level": "read_uncommitted",
    "fetch.min.bytes": "1",
    "fetch.wait.max.ms": "100",
    "queued.min.messages": "1000",
    "fetch.max.bytes": str(9 * 1024 * 1024),
    "check.crcs": "true",
    "log_level": "0",
}


class Record(NamedTuple):
    """One Kafka record as it was found."""

    offset: int
    key: bytes | None
    value: bytes | None


class PartitionReader:
    """Reads one partition from an offset on; a context manager that closes its consumer.

    `position` is the next offset to read.
    """

    def __init__(self, settings: KafkaSettings, topic: str, partition: int, offset: int) -> None:
        self._topic = topic
        self._partition = partition
        self.position = offset
        self._consumer = Consumer(
            {**_CONSUMER, **settings.client, "bootstrap.servers": settings.bootstrap}
        )
        with translated(topic):
            self._consumer.assign([TopicPartition(topic, partition, offset)])

    def poll(self, timeout_s: float) -> list[Record]:
        """Give the records that are there, or the first to come within the time; maybe none.

        Raises LogStartCut, BrokerError.
        """
        with translated(self._topic):
            first = self._consumer.poll(timeout_s)
            if first is None:
                return []
            # consume() waits out its time-out when fewer are there, so it may only take the rest.
            messages = [first, *self._consumer.consume(_BATCH, 0)]
        records = []
        for message in messages:
            error = message.error()
            if error is not None:
                self._raise(error)
                continue
            offset = message.offset()
            if offset is None or offset < self.position:
                continue
            self.position = offset + 1
            records.append(Record(offset, message.key(), message.value()))
        return records

    def read_to(self, end: int, timeout_s: float = 60.0) -> Iterator[Record]:
        """Give the records below `end` (exclusive, a high watermark). Raises BrokerUnavailable.

        Ends also where the last offsets below `end` are no records, such as transaction markers.
        """
        deadline = time.monotonic() + timeout_s
        while self.position < end:
            records = self.poll(_POLL_S)
            yield from (record for record in records if record.offset < end)
            if not records:
                self._skip_markers(end)
            if time.monotonic() > deadline:
                raise BrokerUnavailable(
                    f"{self._topic}/{self._partition}: stopped at {self.position}, end is {end}"
                )

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def __enter__(self) -> PartitionReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _skip_markers(self, end: int) -> None:
        with translated(self._topic):
            found = self._consumer.position([TopicPartition(self._topic, self._partition)])
        if found and found[0].offset > self.position:
            self.position = min(found[0].offset, end)

    def _raise(self, error: KafkaError) -> None:
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise LogStartCut(self.position, self.position + 1)
        if error.fatal() or not error.retriable():
            raise translate(error, f"{self._topic}/{self._partition}")


def partition_count(admin: AdminClient, topic: str) -> int:
    """The number of partitions of a topic. Raises BrokerUnavailable where it is not there."""
    with translated(topic):
        metadata = admin.list_topics(topic, timeout=_ADMIN_TIMEOUT_S).topics[topic]
    if metadata.error is not None:
        raise translate(metadata.error, topic)
    return len(metadata.partitions)


def partition_ends(admin: AdminClient, topic: str, partition: int) -> tuple[int, int]:
    """The log start offset and the high watermark of a partition. Raises BrokerError."""
    deadline = time.monotonic() + _ADMIN_TIMEOUT_S
    while True:
        try:
            start = _offset(admin, topic, partition, OffsetSpec.earliest())
            return start, _offset(admin, topic, partition, OffsetSpec.latest())
        except KafkaException as exception:
            error = exception.args[0]
            if error.code() not in _STALE_LEADER or time.monotonic() > deadline:
                raise translate(error, topic) from exception
            # A client whose idea of the leader is old keeps it until it asks for the metadata.
            with translated(topic):
                admin.list_topics(topic, timeout=_ADMIN_TIMEOUT_S)
            time.sleep(_RETRY_S)


def _offset(admin: AdminClient, topic: str, partition: int, spec: OffsetSpec) -> int:
    place = TopicPartition(topic, partition)
    futures = admin.list_offsets(
        {place: spec},
        isolation_level=IsolationLevel.READ_UNCOMMITTED,
        request_timeout=_ADMIN_TIMEOUT_S,
    )
    return int(futures[place].result(timeout=_ADMIN_TIMEOUT_S).offset)
