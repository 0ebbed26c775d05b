"""Reading one session out of its partition, from where its hint says."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient, OffsetSpec

from turnlog.events.errors import LogStartCut
from turnlog.events.hint import Hint

from .clients import CONNECT_S, admin_client
from .heads import Heads
from .partitioner import partition_of
from .reader import ReaderPool, cluster_id, partition_count, partition_offsets, topic_ends
from .session_log import SessionLog
from .settings import KafkaSettings
from .tail import Tail

__all__ = ["SessionReader", "check_start", "is_true"]

_READ_S = 60.0


class SessionReader:
    """Reads the past of sessions of one layout; thread-safe.

    A hint is where reading starts, and no more: one that the log does not bear out is passed over,
    and the partition read from its start.
    """

    def __init__(self, settings: KafkaSettings, admin: AdminClient, heads: Heads) -> None:
        self._settings = settings
        self._topic = settings.events_topic
        self._admin = admin
        self.heads = heads
        self._readers = ReaderPool(settings)
        self._own_tail: Tail | None = None
        self.partitions = partition_count(admin, self._topic)
        self.ends = topic_ends(admin, self._topic)

    @classmethod
    def connect(cls, settings: KafkaSettings) -> SessionReader:
        """A reader with clients of its own. Raises BrokerError."""
        admin = admin_client(settings, CONNECT_S)
        tail = Tail(settings, lambda: None)
        reader = cls(settings, admin, Heads(settings, cluster_id(admin), admin, tail))
        reader._own_tail = tail
        return reader

    def past(self, id: str, end: int | None = None) -> SessionLog:
        """Read a session up to an offset of its partition, or to the high watermark.

        Raises DataError, BrokerError.
        """
        partition = partition_of(id, self.partitions)
        if end is None:
            end = self.ends.high_watermark(partition)
        hint = self.heads.lookup(id)
        if hint is not None and hint.first_offset <= end:
            log = self._read(id, partition, hint.first_offset, end)
            if is_true(hint, log, end):
                return log
        low = self.log_start(partition)
        log = self._read(id, partition, low, end)
        check_start(log, low)
        return log

    def log_start(self, partition: int) -> int:
        """The first offset that a partition still has. Raises BrokerError."""
        every = [partition]
        return partition_offsets(self._admin, self._topic, every, OffsetSpec.earliest())[partition]

    def read_into(self, log: SessionLog, partition: int, start: int, end: int) -> None:
        """Fold the records of a stretch into a session's log. Raises DataError, BrokerError."""
        if start < end:
            with self._readers.reader(self._topic, partition, start) as reader:
                for record in reader.read_to(end, _READ_S):
                    log.take(record)

    def close(self) -> None:
        """Close the clients that are its own."""
        self._readers.close()
        if self._own_tail is not None:
            self._own_tail.close()

    def _read(self, id: str, partition: int, start: int, end: int) -> SessionLog:
        log = SessionLog(self._settings.namespace, id)
        self.read_into(log, partition, start, end)
        return log


def is_true(hint: Hint, log: SessionLog, end: int) -> bool:
    """Whether a log read up to `end` has the `open` where the hint says; unborn says nowhere."""
    at = hint.open_offset
    return at is None or at >= end or at == log.open_offset


def check_start(log: SessionLog, low: int) -> None:
    """Refuse a log, read without a hint, whose beginning may be cut off. Raises LogStartCut."""
    if low > 0 and log.has_records:
        raise LogStartCut(0, low)
