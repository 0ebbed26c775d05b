"""What the writers of one store share: the producer, the live tail, and a turn for what is due."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

from confluent_kafka.admin import AdminClient, OffsetSpec

from turnlog.events.errors import BrokerError, TurnlogError

from .messages import Record
from .reader import partition_offsets
from .sender import Sender, Told
from .settings import KafkaSettings
from .tail import Sink, Tail

__all__ = ["Outlet", "Writer"]

_log = logging.getLogger(__name__)

_TURN_S = 0.1


class Writer(Protocol):
    """What follows one session in the tail."""

    @property
    def key(self) -> bytes:
        """The key of the session's records."""
        ...

    def fold(self, record: Record) -> None:
        """Take the session's next record."""
        ...

    def taken(self) -> None:
        """Hear that all records that were there were given."""
        ...

    def fail(self, error: TurnlogError) -> None:
        """Hear that no more records come."""
        ...

    def turn(self, now_s: float) -> bool:
        """Do what is due; False where nothing can become due without a call."""
        ...

    def doubt(self, error: BrokerError) -> None:
        """Hear that the outcome of what was produced is unknown."""
        ...


class _Partition(Sink):
    """The writers that follow sessions of one partition, each from an offset on.

    A session may have several: whoever asks for one that is open here reads it beside its writer.
    """

    def __init__(self) -> None:
        self._writers: dict[bytes, tuple[tuple[int, Writer], ...]] = {}

    def add(self, writer: Writer, first_offset: int) -> None:
        """Give a writer its session's records from an offset on."""
        others = self._writers.get(writer.key, ())
        self._writers[writer.key] = (*others, (first_offset, writer))

    def remove(self, writer: Writer) -> None:
        """Give a writer no more records."""
        others = tuple(each for each in self._writers.get(writer.key, ()) if each[1] is not writer)
        if others:
            self._writers[writer.key] = others
        else:
            self._writers.pop(writer.key, None)

    def take(self, records: Sequence[Record]) -> None:
        given: dict[Writer, None] = {}
        for record in records:
            if record.key is None:
                continue
            for first_offset, writer in self._writers.get(record.key, ()):
                if record.offset >= first_offset:
                    writer.fold(record)
                    given[writer] = None
        for writer in given:
            writer.taken()

    def fail(self, error: TurnlogError) -> None:
        for writers in list(self._writers.values()):
            for _, writer in writers:
                writer.fail(error)


class Outlet:
    """One producer and one tail for all sessions of a store; thread-safe.

    The home partitions are followed together with the first one that is written to. Where it
    `waits_for_reports`, a record that was read back counts only once it is reported delivered.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        admin: AdminClient,
        partitions: int,
        home: Iterable[int],
        *,
        waits_for_reports: bool,
    ) -> None:
        self.settings = settings
        self.waits_for_reports = waits_for_reports
        self._admin = admin
        self._topic = settings.events_topic
        self._home = frozenset(home)
        self._partitions = [_Partition() for _ in range(partitions)]
        self._active: set[Writer] = set()
        self._lock = threading.Lock()
        self._turned_s = 0.0
        self._teller: ThreadPoolExecutor | None = None
        self.sender = Sender(settings, self._renewed, tells_all=waits_for_reports)
        self.tail = Tail(settings, self._turn)

    @property
    def error(self) -> BrokerError | None:
        """Why nothing comes, where that is known."""
        return self.sender.error or self.tail.error

    def produce(self, writer: Writer, partition: int, value: bytes, told: Told) -> bool:
        """Hand a commit over; False where there is no room now, and the writer's turn comes."""
        with self._lock:
            self._active.add(writer)
        return self.sender.produce(self._topic, partition, writer.key, value, told)

    def follow(self, writer: Writer, partition: int) -> int:
        """Give a writer its session's records from the offset on that is returned."""
        sink = self._partitions[partition]
        if not self.tail.follows(self._topic, partition):
            wanted = {partition, *self._home}
            ends = partition_offsets(self._admin, self._topic, wanted, OffsetSpec.latest())
            self.tail.follow(self._topic, ends, self._partitions)

        with self._lock:
            return self.tail.join(self._topic, partition, partial(sink.add, writer))

    def forget(self, writer: Writer, partition: int) -> None:
        """Give a writer no more records."""
        with self._lock:
            self._partitions[partition].remove(writer)
            self._active.discard(writer)

    def tell(self, callback: Callable[..., object], *arguments: Any) -> None:
        """Call back from a thread that holds no lock and may wait."""
        with self._lock:
            if self._teller is None:
                self._teller = ThreadPoolExecutor(1, "turnlog-told")
            self._teller.submit(_contained, callback, *arguments)

    def close(self, timeout_s: float) -> None:
        """Wait for what was handed over, then stop."""
        self.sender.close(timeout_s)
        self.tail.close()
        if self._teller is not None:
            self._teller.shutdown()

    def _turn(self) -> None:
        """Serve the producer, and give each active writer its turn; in the tail's thread."""
        now_s = time.monotonic()
        is_due = now_s >= self._turned_s + _TURN_S
        if is_due or self.waits_for_reports:
            self.sender.serve()
        if not is_due:
            return
        self._turned_s = now_s
        with self._lock:
            active = list(self._active)
        for writer in active:
            if not writer.turn(now_s):
                with self._lock:
                    self._active.discard(writer)

    def _renewed(self, error: BrokerError) -> None:
        with self._lock:
            active = list(self._active)
        for writer in active:
            writer.doubt(error)


def _contained(callback: Callable[..., object], *arguments: Any) -> None:
    try:
        callback(*arguments)
    except Exception:  # noqa: BLE001 - whatever it raises is contained
        _log.exception("a callback failed")
