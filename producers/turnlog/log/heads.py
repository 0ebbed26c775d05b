"""The hints of the `heads` topic: where each session can be found."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from confluent_kafka.admin import AdminClient, OffsetSpec

from turnlog.events.errors import BrokerError, DataError, TurnlogError
from turnlog.events.hint import Hint, decode_hint
from turnlog.kernel.ledger import session_of

from .messages import Record
from .partitioner import partition_of
from .reader import partition_count, partition_offsets, topic_ends
from .settings import KafkaSettings
from .tail import Sink, Tail

__all__ = ["Heads"]

_TIMEOUT_S = 60.0


class _Hints(Sink):
    """The latest hint of each session in one partition, as it was written."""

    def __init__(self) -> None:
        self.latest: dict[bytes, bytes] = {}
        self.error: TurnlogError | None = None
        self.lock = threading.Lock()

    def take(self, records: Sequence[Record]) -> None:
        with self.lock:
            for record in records:
                if record.key is not None and record.value is not None:
                    self.latest[record.key] = record.value
                elif record.key is not None:
                    self.latest.pop(record.key, None)

    def fail(self, error: TurnlogError) -> None:
        self.error = error


class Heads:
    """A view of the `heads` topic, read from its start on when it is first asked for.

    A hint of another cluster or layout, or one that this version can't read, is none.
    """

    def __init__(
        self, settings: KafkaSettings, cluster_id: str, admin: AdminClient, tail: Tail
    ) -> None:
        self._settings = settings
        self._cluster_id = cluster_id
        self._topic = settings.heads_topic
        self._admin = admin
        self._tail = tail
        self._partitions = partition_count(admin, self._topic)
        self._ends = topic_ends(admin, self._topic)
        self._hints = [_Hints() for _ in range(self._partitions)]

    @property
    def partitions(self) -> int:
        """The number of partitions of the topic."""
        return self._partitions

    def lookup(self, session_id: str) -> Hint | None:
        """The hint of a session: its latest, or one that says as well where it begins.

        Raises BrokerError.
        """
        partition = partition_of(session_id, self._partitions)
        key = session_id.encode("utf-8")
        hint = self._known(partition, key)
        if hint is None or hint.open_offset is None:
            self._catch_up(partition)
            hint = self._known(partition, key)
        return hint

    def all(self) -> Iterator[tuple[str, Hint]]:
        """The hint of each session that has one, as of now. Raises BrokerError."""
        for partition, hints in enumerate(self._hints):
            self._catch_up(partition)
            with hints.lock:
                latest = list(hints.latest.items())
            for key, value in latest:
                hint = self._hint(value)
                session_id = session_of(key)
                if hint is not None and session_id is not None:
                    yield session_id, hint

    def _catch_up(self, partition: int) -> None:
        """Read to the end as it is now."""
        if not self._tail.follows(self._topic, partition):
            every = range(self._partitions)
            starts = partition_offsets(self._admin, self._topic, every, OffsetSpec.earliest())
            self._tail.follow(self._topic, starts, self._hints)
        end = self._ends.high_watermark(partition)
        self._tail.wait_until(self._topic, partition, end, _TIMEOUT_S)
        error = self._hints[partition].error
        if error is not None:
            raise error if isinstance(error, BrokerError) else BrokerError(str(error))

    def _known(self, partition: int, key: bytes) -> Hint | None:
        value = self._hints[partition].latest.get(key)
        return None if value is None else self._hint(value)

    def _hint(self, value: bytes) -> Hint | None:
        try:
            hint = decode_hint(value)
        except DataError:
            return None
        here = hint.cluster_id == self._cluster_id and hint.layout == self._settings.layout
        return hint if here else None
