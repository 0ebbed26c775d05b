"""Reading sessions from Kafka with the rights of a reader: nothing is claimed, nothing written."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.events.errors import UnknownSession
from turnlog.events.header import check_session_id
from turnlog.kernel.log import Log
from turnlog.session.ports import SessionInfo

from .listing import born_sessions
from .session_reader import SessionReader
from .settings import KafkaSettings

__all__ = ["KafkaReader"]


class KafkaReader:
    """Reads the sessions of one layout, each up to the high watermark as of the call.

    A context manager; thread-safe. Raises BrokerError where the topics can't be reached.
    """

    def __init__(self, settings: KafkaSettings) -> None:
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

    def close(self) -> None:
        """Close the clients."""
        self._sessions.close()

    def __enter__(self) -> KafkaReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
