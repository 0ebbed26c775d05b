"""`turnlog sessions`."""

from __future__ import annotations

from turnlog.cli.app import app
from turnlog.cli.command import Run, command
from turnlog.cli.output import Column
from turnlog.session import SessionInfo

__all__: list[str] = []

_COLUMNS = (
    Column("session", 32),
    Column("events", 9, right=True),
    Column("state", 8),
    Column("parent", 12),
    Column("title", None),
)


@command(app, reads=True)
def sessions(run: Run) -> None:
    """List the sessions, with their title and number of events as of their last hint.

    Example: turnlog sessions
    """
    with run.reader() as reader:
        if run.out.as_json:
            for info in reader.sessions():
                run.out.json(_value(info))
        else:
            run.out.table(_COLUMNS, map(_cells, reader.sessions()))


def _cells(info: SessionInfo) -> tuple[object, ...]:
    state = "released" if info.released else "held"
    return info.id, info.next_seq, state, info.header.parent_session, info.title


def _value(info: SessionInfo) -> dict[str, object]:
    return {
        "session": info.id,
        "title": info.title,
        "nextSeq": info.next_seq,
        "released": info.released,
        "header": info.header.value,
    }
