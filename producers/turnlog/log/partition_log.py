"""One partition of the log through the ledger: from its start, from within, and on and on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from confluent_kafka.admin import OffsetSpec

from turnlog.events.errors import LogEndPassed, LogStartCut, UnknownSession
from turnlog.events.head import Head
from turnlog.kernel.ledger import Ledger, Verdict, VerdictKind

from .clients import CONNECT_S, admin_client
from .reader import PartitionReader, high_watermark, partition_ends, partition_offsets
from .session_reader import SessionReader
from .settings import KafkaSettings

__all__ = ["LOG_START", "FromOffset", "FromTime", "LogRecord", "PartitionLog", "Position"]

_POLL_S = 0.1


class FromOffset(NamedTuple):
    """Start at an offset of the partition."""

    offset: int


LOG_START = FromOffset(0)
"""The start of a whole log."""


class FromTime(NamedTuple):
    """Start at the first record that Kafka took at this time or later; epoch milliseconds."""

    time_ms: int


class Position(NamedTuple):
    """Where a reader stands behind the last batch: the next offset, and the ledger's state."""

    offset: int
    heads: Mapping[str, Head]
    stopped: frozenset[str]
    partial: bool


class LogRecord(NamedTuple):
    """One record and what it is to the log; `time_ms` is Kafka's, epoch milliseconds."""

    partition: int
    offset: int
    time_ms: int
    key: bytes | None
    value: bytes | None
    verdict: Verdict


class PartitionLog:
    """Reads one partition of the layout in offset order; a context manager.

    From the start of a whole log every verdict is proven. From inside it a session's commits are
    `unproven` until `learn` has read its past.

    Raises LogStartCut where the start lies before what the log still has, LogEndPassed where behind
    its end, BrokerError.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        partition: int,
        start: FromOffset | FromTime | Position = LOG_START,
    ) -> None:
        self._settings = settings
        self._topic = settings.events_topic
        self._partition = partition
        self._admin = admin_client(settings, CONNECT_S)
        low, end = partition_ends(self._admin, self._topic, partition)
        offset = self._offset(start)
        if offset < low:
            raise LogStartCut(offset, low)
        if offset > end:
            raise LogEndPassed(offset, end)
        if not isinstance(start, Position):
            start = Position(offset, {}, frozenset(), partial=offset > 0)
        self._partial = start.partial
        self._ledger = Ledger(
            settings.namespace, heads=start.heads, stopped=start.stopped, partial=start.partial
        )
        self._reader = PartitionReader(settings, self._topic, partition, offset)
        self._sessions: SessionReader | None = None

    @property
    def position(self) -> Position:
        """Where this reader stands; a reader made from it goes on as if it were this one."""
        return Position(
            self._reader.position,
            dict(self._ledger.heads),
            self._ledger.stopped,
            self._partial,
        )

    def records(self, *, learn: bool = False) -> Iterator[LogRecord]:
        """Give what is there up to the high watermark as of now.

        With `learn`, the past of each unproven session is read at its first record, and none stays
        unproven. Raises LogStartCut, BrokerError.
        """
        end = high_watermark(self._admin, self._topic, self._partition)
        while self._reader.position < end:
            yield from self.poll(_POLL_S, learn=learn)

    def poll(self, timeout_s: float, *, learn: bool = False) -> list[LogRecord]:
        """Give the records that are there, or the first to come within the time; maybe none."""
        found = []
        for record in self._reader.poll(timeout_s):
            verdict = self._ledger.fold(record.key, record.value)
            if learn and verdict.kind is VerdictKind.UNPROVEN and verdict.session_id is not None:
                self._learn(verdict.session_id, record.offset)
                verdict = self._ledger.fold(record.key, record.value)
            offset, key, value, time_ms = record
            found.append(LogRecord(self._partition, offset, time_ms, key, value, verdict))
        return found

    def learn(self, session_id: str) -> None:
        """Read a session's past, from its `open` to here: its next commits are then judged.

        Raises LogStartCut where its beginning is cut off, BrokerError.
        """
        self._learn(session_id, self._reader.position)

    def close(self) -> None:
        """Close the clients."""
        self._reader.close()
        if self._sessions is not None:
            self._sessions.close()

    def __enter__(self) -> PartitionLog:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _offset(self, start: FromOffset | FromTime | Position) -> int:
        if not isinstance(start, FromTime):
            return start.offset
        spec = OffsetSpec.for_timestamp(start.time_ms)
        offset = partition_offsets(self._admin, self._topic, [self._partition], spec)
        at = offset[self._partition]
        # Kafka answers -1 where every record is older.
        return at if at >= 0 else high_watermark(self._admin, self._topic, self._partition)

    def _learn(self, session_id: str, end: int) -> None:
        if self._sessions is None:
            self._sessions = SessionReader.connect(self._settings)
        try:
            head = self._sessions.past(session_id, end).head
        except UnknownSession:
            head = None
        self._ledger.learn(session_id, head)
