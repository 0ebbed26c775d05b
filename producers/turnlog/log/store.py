"""The Kafka LogStore: sessions as commits on a topic, arbitrated by the ledger."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from turnlog.events.avro import encode_commit
from turnlog.events.body import Fork
from turnlog.events.commit import Commit
from turnlog.events.errors import SessionExists, UnknownSession
from turnlog.events.header import Header
from turnlog.session.ports import ForkOrigin, LogWriter, SessionInfo, StoredLog
from turnlog.session.store import SessionStore

from .commits import CommitMaker
from .partitioner import partition_of
from .reader import PartitionReader, Record, partition_count, partition_ends
from .session_log import SessionLog
from .settings import KafkaSettings, default_writer_info
from .translate import translated
from .writer import KafkaWriter

__all__ = ["KafkaLogStore", "KafkaStore"]

_CLOSE_S = 30.0
_PRODUCER = {
    "acks": "all",
    "enable.idempotence": "true",
    "partitioner": "murmur2_random",
    "linger.ms": "0",
    "message.timeout.ms": "30000",
    "message.max.bytes": str(9 * 1024 * 1024),
    "compression.type": "none",  # bodies are compressed already
}


class KafkaLogStore:
    """Keeps sessions as commits on the events topic; each open session reads its own partition.

    A session is found by reading its partition from the start.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._topic = settings.events_topic
        self._writer = uuid.uuid4().hex
        self._writer_info = default_writer_info()
        client: dict[str, Any] = {
            "bootstrap.servers": settings.bootstrap,
            "log_level": 0,
            **settings.client,
        }
        self._admin = AdminClient(client)
        self._producer = Producer({**client, **_PRODUCER})
        self._partitions = partition_count(self._admin, self._topic)

    @property
    def writer(self) -> str:
        """The id of this store object."""
        return self._writer

    @property
    def durable(self) -> bool:
        """Always: the log outlives its session object."""
        return True

    def create(self, header: Header, origin: ForkOrigin | None) -> LogWriter:
        """Produce `open` and read it back, or go on with an unborn child.

        Raises SessionExists, OutcomeUnknown, BrokerError.
        """
        log, reader = self._follow(header.id)
        writer = self._kafka_writer(log, reader)
        try:
            if not log.exists:
                writer.open(header, None if origin is None else Fork(*origin))
            elif origin is None or log.is_born or not log.is_fork_of(origin):
                raise SessionExists(header.id)
            else:
                writer.claim(take_over=True)
        except BaseException:
            reader.close()
            raise
        return writer

    def claim(self, id: str, *, take_over: bool) -> tuple[StoredLog, LogWriter]:
        """Produce a `claim` on the head and read it back.

        Raises UnknownSession, OwnedElsewhere, Conflict, OutcomeUnknown, BrokenLog, BrokerError.
        """
        log, reader = self._follow(id)
        writer = self._kafka_writer(log, reader)
        try:
            if not log.is_born:
                raise UnknownSession(id)
            writer.claim(take_over=take_over)
            return log.stored(), writer
        except BaseException:
            reader.close()
            raise

    def read(self, id: str) -> StoredLog:
        """Read up to the high watermark. Raises UnknownSession, BrokenLog, BrokerError."""
        log, reader = self._follow(id)
        reader.close()
        if not log.is_born:
            raise UnknownSession(id)
        return log.stored()

    def sessions(self) -> Iterator[SessionInfo]:
        """The born sessions of the layout, partition by partition, read from the log's start."""
        for partition in range(self._partitions):
            ids = {record.key for record in self._records(partition)}
            for key in sorted(key for key in ids if key is not None):
                log = SessionLog(self._settings.namespace, key.decode("utf-8", "replace"))
                log.fold(self._records(partition))
                if log.is_born:
                    stored = log.stored()
                    yield SessionInfo(
                        log.session_id, stored.header, stored.head.next_seq, stored.head.released
                    )

    def close(self) -> None:
        """Let go of the client."""
        self._producer.flush(_CLOSE_S)

    def _records(self, partition: int) -> Iterator[Record]:
        start, end = partition_ends(self._admin, self._topic, partition)
        with PartitionReader(self._settings, self._topic, partition, start) as reader:
            yield from reader.read_to(end)

    def _follow(self, id: str) -> tuple[SessionLog, PartitionReader]:
        """Read a session's partition to the high watermark; the reader stays open."""
        log = SessionLog(self._settings.namespace, id)
        partition = partition_of(id, self._partitions)
        start, end = partition_ends(self._admin, self._topic, partition)
        reader = PartitionReader(self._settings, self._topic, partition, start)
        try:
            log.fold(reader.read_to(end))
        except BaseException:
            reader.close()
            raise
        return log, reader

    def _kafka_writer(self, log: SessionLog, reader: PartitionReader) -> KafkaWriter:
        maker = CommitMaker(
            self._settings.namespace, log.session_id, self._writer, self._writer_info
        )
        return KafkaWriter(self._produce, maker, log, reader)

    def _produce(self, commit: Commit) -> None:
        """Hand a commit to the producer; the ledger says what becomes of it. Raises BrokerError."""
        with translated(self._topic):
            self._producer.produce(
                self._topic, key=commit.session_id.encode("utf-8"), value=encode_commit(commit)
            )
            self._producer.poll(0)


class KafkaStore(SessionStore):
    """Sessions on Kafka; durable means accepted in the log and read back.

    `options` are those of SessionStore. Raises BrokerError where the topic can't be reached.
    """

    def __init__(self, settings: KafkaSettings, **options: Any) -> None:
        super().__init__(KafkaLogStore(settings), **options)
