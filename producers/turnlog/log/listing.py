"""The list of sessions: from the hints, and from the log where a hint does not say enough."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.events.errors import CallerError, DataError
from turnlog.events.header import Header
from turnlog.events.hint import Hint
from turnlog.events.jsontext import loads
from turnlog.session.ports import SessionInfo

from .heads import Heads
from .session_reader import SessionReader

__all__ = ["born_sessions"]


def born_sessions(heads: Heads, reader: SessionReader) -> Iterator[SessionInfo]:
    """Give the born sessions; all but the header is as of the last hint.

    Raises DataError, BrokerError.
    """
    for id, hint in heads.all():
        header = _header(id, hint)
        if hint.complete and header is not None:
            yield SessionInfo(id, header, hint.next_seq, hint.released, hint.title)
            continue
        log = reader.past(id)
        if log.is_born:
            head = log.head
            yield SessionInfo(id, log.header, head.next_seq, head.released, hint.title)


def _header(id: str, hint: Hint) -> Header | None:
    """The header in a hint, where there is a sound one."""
    if hint.header is None:
        return None
    try:
        return Header.of(loads(hint.header), id=id)
    except (CallerError, DataError):
        return None
