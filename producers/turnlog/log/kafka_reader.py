"""Reading sessions from Kafka with the rights of a reader: nothing is claimed, nothing written."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.events.body import check_body
from turnlog.events.commit import Kind
from turnlog.events.errors import UnknownSession
from turnlog.events.event import Event
from turnlog.events.header import check_session_id
from turnlog.kernel.log import Log
from turnlog.session.ports import SessionInfo

from .listing import born_sessions
from .partition_log import FromOffset, LogRecord, PartitionLog
from .partitioner import partition_of
from .session_reader import SessionReader
from .settings import KafkaSettings

__all__ = ["KafkaReader"]


class KafkaReader:
    """Reads the sessions of one layout, each up to the high watermark as of the call.

    A context manager; thread-safe. Raises BrokerError where the topics can't be reached.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._sessions = SessionReader.connect(settings)

    def read(self, id: str) -> Log:
        """Read a session. Raises BadSessionId, UnknownSession, DataError, BrokerError."""
        log = self._sessions.past(check_session_id(id))
        if not log.is_born:
            raise UnknownSession(id)
        stored = log.stored()
        return Log(stored.header, tuple(stored.rows))

    def sessions(self) -> Iterator[SessionInfo]:
        """The born sessions; all but the header is as of the last hint."""
        return born_sessions(self._sessions.heads, self._sessions)

    def partition_of(self, id: str) -> int:
        """The partition of a session."""
        return partition_of(check_session_id(id), self._sessions.partitions)

    @property
    def partitions(self) -> int:
        """The number of partitions of the layout."""
        return self._sessions.partitions

    def hash_at(self, id: str, boundary: int | None) -> bytes:
        """The hash of the commit that holds a session's event; of its `open` for None.

        Raises UnknownSession, DataError, BrokerError.
        """
        return self._sessions.past(check_session_id(id)).stored().hash_at(boundary)

    def follow(self, id: str, start: int = 0, *, poll_s: float = 0.2) -> Iterator[list[Event]]:
        """Give a session's events from a seq on: those that are there, then more as they come.

        Never ends by itself: where nothing comes for `poll_s`, it gives no events. Raises
        UnknownSession, DataError, BrokerError.
        """
        partition = self.partition_of(id)
        end = self._sessions.ends.high_watermark(partition)
        with PartitionLog(self._settings, partition, FromOffset(end)) as log:
            log.learn(id)
            past = self.read(id)
            yield list(past.events(start))
            next_seq = max(start, past.next_seq)
            while True:
                events = [
                    event
                    for record in log.poll(poll_s)
                    for event in _events_of(record, id)
                    if event.seq >= next_seq
                ]
                next_seq += len(events)
                yield events

    def close(self) -> None:
        """Close the clients."""
        self._sessions.close()

    def __enter__(self) -> KafkaReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _events_of(record: LogRecord, id: str) -> Iterator[Event]:
    """The events that a record adds to a session. Raises BrokenLog."""
    verdict = record.verdict
    commit = verdict.commit
    if commit is None or not verdict.accepted or verdict.session_id != id:
        return
    if commit.kind is Kind.EVENTS:
        for row in check_body(commit):
            yield from row.events()
