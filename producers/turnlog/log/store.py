"""The Kafka LogStore: sessions as commits on a topic, arbitrated by the ledger."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

from confluent_kafka.admin import AdminClient

from turnlog.events.body import Fork
from turnlog.events.error_text import shown
from turnlog.events.errors import (
    BadShape,
    Conflict,
    LayoutMismatch,
    OwnedElsewhere,
    SessionExists,
    UnknownSession,
)
from turnlog.events.header import Header
from turnlog.events.hint import Hint, encode_hint
from turnlog.session.ports import ForkOrigin, LogWriter, SessionInfo, StoredLog
from turnlog.session.store import SessionStore

from .clients import CONNECT_S, admin_client
from .commits import CommitMaker
from .features import eligible_leader_replicas, needs_reports
from .heads import Heads
from .hints import HintKeeper, Place
from .listing import born_sessions
from .meta import read_meta
from .outlet import Outlet
from .partitioner import partition_of
from .reader import (
    cluster_id,
    partition_count,
)
from .session_log import SessionLog
from .session_reader import SessionReader, check_start, is_true
from .settings import KafkaSettings, default_writer_info
from .translate import translated
from .writer import KafkaWriter

__all__ = ["KafkaLogStore", "KafkaStore"]

_CLOSE_S = 30.0
_READ_S = 60.0


class _Joined(NamedTuple):
    """A writer that hears what the tail reads of its session from offset `position` on."""

    writer: KafkaWriter
    partition: int
    position: int


class KafkaLogStore:
    """Keeps sessions as commits on the events topic of a layout; thread-safe.

    One producer, one tail and one thread serve all sessions; a process reads all traffic of the
    partitions that it writes to. Raises BrokerError where the topics can't be reached.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._topic = settings.events_topic
        self._writer = uuid.uuid4().hex
        self._writer_info = {**default_writer_info(), **settings.writer_info}
        self._admin = admin_client(settings, CONNECT_S)
        self._partitions = _check_layout(settings, self._admin)
        self._home = _home(settings, self._partitions)
        self._cluster_id = cluster_id(self._admin)
        self._outlet = Outlet(
            settings,
            self._admin,
            self._partitions,
            self._home,
            waits_for_reports=_waits_for_reports(settings, self._admin),
        )
        self._outlet.sender.warm_up(CONNECT_S)
        self._heads = Heads(settings, self._cluster_id, self._admin, self._outlet.tail)
        self._sessions = SessionReader(settings, self._admin, self._heads)
        self._minted: set[str] = set()

    @property
    def writer(self) -> str:
        """The id of this store object."""
        return self._writer

    @property
    def durable(self) -> bool:
        """Always: the log outlives its session object."""
        return True

    def new_id(self) -> str:
        """A random id whose partition is one of the home partitions."""
        while True:
            id = uuid.uuid4().hex
            if partition_of(id, self._partitions) in self._home:
                self._minted.add(id)
                return id

    def create(self, header: Header, origin: ForkOrigin | None) -> LogWriter:
        """Produce `open` and read it back, or go on with an unborn child.

        A hint stands in the `heads` topic before the `open`, so every session that exists has one.

        Raises SessionExists, OutcomeUnknown, BrokerError.
        """
        id = header.id
        partition = partition_of(id, self._partitions)
        joined = self._join(id, partition)
        try:
            end = self._sessions.ends.high_watermark(partition)
            # An id that was minted here can't stand in the log yet.
            hint = None if id in self._minted else self._heads.lookup(id)
            if hint is None:
                hint = self._place(partition).unborn(end)
                self._outlet.sender.deliver(
                    self._settings.heads_topic,
                    partition_of(id, self._heads.partitions),
                    id.encode("utf-8"),
                    encode_hint(hint),
                )
                self._minted.discard(id)
        except BaseException:
            joined.writer.abandon()
            raise
        writer = self._follow(joined, hint, end)
        try:
            log = writer.log

            def check_unborn() -> None:
                if origin is None or log.is_born or not log.is_fork_of(origin):
                    raise SessionExists(id)

            if log.exists:
                try:
                    writer.claim(check_unborn)
                except Conflict:  # another fork goes on with the child
                    raise SessionExists(id) from None
            else:
                writer.open(header, None if origin is None else Fork(*origin))
            writer.show(complete=origin is None)
        except BaseException:
            writer.abandon()
            raise
        return writer

    def claim(self, id: str, *, take_over: bool) -> tuple[StoredLog, LogWriter]:
        """Produce a `claim` on the head and read it back.

        Raises UnknownSession, OwnedElsewhere, Conflict, OutcomeUnknown, BrokenLog, BrokerError.
        """
        joined = self._join(id, partition_of(id, self._partitions))
        try:
            hint = self._heads.lookup(id)
            end = self._sessions.ends.high_watermark(joined.partition)
        except BaseException:
            joined.writer.abandon()
            raise
        writer = self._follow(joined, hint, end)
        try:
            log = writer.log
            if not log.is_born:
                raise UnknownSession(id)

            def check_free() -> None:
                head = log.head
                if not (head.released or head.writer == self._writer or take_over):
                    raise OwnedElsewhere(head.writer, log.owner_host, log.last_time_ms)

            writer.claim(check_free)
            stored = log.stored()
            writer.show(complete=True, rows=stored.rows)
        except BaseException:
            writer.abandon()
            raise
        return stored, writer

    def read(self, id: str) -> StoredLog:
        """Read up to the high watermark. Raises UnknownSession, DataError, BrokerError."""
        log = self._sessions.past(id)
        if not log.is_born:
            raise UnknownSession(id)
        return log.stored()

    def sessions(self) -> Iterator[SessionInfo]:
        """The born sessions by their hints; `next_seq` and `released` are as of the last hint."""
        return born_sessions(self._heads, self._sessions)

    def close(self) -> None:
        """Wait for what was handed over, and let go of the clients."""
        self._outlet.close(_CLOSE_S)
        self._sessions.close()

    def _place(self, partition: int) -> Place:
        return Place(self._cluster_id, self._settings.layout, partition)

    def _join(self, id: str, partition: int) -> _Joined:
        """Let a new writer hear what the tail reads of a session from now on.

        Before the end is asked for: what the tail reads in between would be read a second time.
        """
        writer = self._new_writer(id, partition)
        try:
            return _Joined(writer, partition, self._outlet.follow(writer, partition))
        except BaseException:
            writer.abandon()
            raise

    def _follow(self, joined: _Joined, hint: Hint | None, end: int) -> KafkaWriter:
        """Read a session to this end of its partition at least, and follow it from there on."""
        writer, partition, _ = joined
        if hint is not None and hint.first_offset <= end:
            self._catch_up(joined, hint.first_offset, end)
            if is_true(hint, writer.log, end):
                return writer
            writer.abandon()
            joined = self._join(writer.log.session_id, partition)
        try:
            low = self._sessions.log_start(partition)
            self._catch_up(joined, low, end)
            check_start(joined.writer.log, low)
        except BaseException:
            joined.writer.abandon()
            raise
        return joined.writer

    def _catch_up(self, joined: _Joined, start: int, end: int) -> None:
        """Read a session from `start` to `end` at least, and go over to the tail."""
        writer, partition, position = joined
        try:
            self._sessions.read_into(writer.log, partition, start, position)
            self._outlet.tail.wait_until(self._topic, partition, end, _READ_S)
            writer.catch_up()
        except BaseException:
            writer.abandon()
            raise

    def _new_writer(self, id: str, partition: int) -> KafkaWriter:
        maker = CommitMaker(self._settings.namespace, id, self._writer, self._writer_info)
        log = SessionLog(self._settings.namespace, id)
        hints = HintKeeper(self._place(partition), self._publish)
        return KafkaWriter(self._outlet, partition, maker, log, hints)

    def _publish(self, key: bytes, hint: Hint) -> None:
        """Write a hint; one that finds no room is left out: the next one says more."""
        partition = partition_of(key.decode("utf-8"), self._heads.partitions)
        self._outlet.sender.produce(self._settings.heads_topic, partition, key, encode_hint(hint))


class KafkaStore(SessionStore):
    """Sessions on Kafka; durable means accepted in the log and read back.

    `options` are those of SessionStore. Raises BrokerError where the topics can't be reached.
    """

    def __init__(self, settings: KafkaSettings, **options: Any) -> None:
        super().__init__(KafkaLogStore(settings), **options)


def _check_layout(settings: KafkaSettings, admin: AdminClient) -> int:
    """The layout's partitions, if the topic has as many as `meta` says. Raises LayoutMismatch."""
    found = partition_count(admin, settings.events_topic)
    expected = read_meta(settings, admin=admin).layouts.get(settings.layout)
    if found != expected:
        raise LayoutMismatch(settings.events_topic, expected, found)
    return found


def _home(settings: KafkaSettings, partitions: int) -> frozenset[int]:
    """The partitions that new ids are minted for. Raises BadShape."""
    home = settings.home_partitions
    if home is None:
        return frozenset(range(partitions))
    if not home or not all(0 <= partition < partitions for partition in home):
        raise BadShape("home_partitions", f"numbers from 0 to {partitions - 1}", shown(home))
    return frozenset(home)


def _waits_for_reports(settings: KafkaSettings, admin: AdminClient) -> bool:
    """Whether a record may be taken back that was read. Raises BrokerError."""
    with translated("cluster"):
        found = admin.list_topics(timeout=CONNECT_S).brokers.values()
    level = None
    if len(found) > 1:
        addresses = [(broker.host, broker.port) for broker in found]
        level = eligible_leader_replicas(addresses, settings.client, CONNECT_S)
    return needs_reports(len(found), level)
