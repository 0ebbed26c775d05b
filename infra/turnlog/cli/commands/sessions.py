"""`turnlog sessions`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

import typer

from turnlog.cli.app import app
from turnlog.cli.command import Run, command
from turnlog.cli.output import Column
from turnlog.session import SessionInfo, SessionReader

__all__: list[str] = []

_COLUMNS = (
    Column("session", 32),
    Column("events", 9, right=True),
    Column("state", 8),
    Column("parent", 12),
    Column("title", None),
)


@command(app, reads=True)
def sessions(
    run: Run,
    title: Annotated[
        str | None, typer.Option(help="Only those whose title has this text, whatever the case.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="So many at most.")] = None,
) -> None:
    """List the sessions, with their title and number of events as of their last hint.

    A session that is held has a writer, or had one that died. With --json each is an object:
    session, title, nextSeq, released, header.

    Example: turnlog sessions --title "release notes"
    """
    with run.reader() as reader:
        found = islice(_wanted(reader, title), limit)
        if run.out.as_json:
            for info in found:
                run.out.json(_value(info))
        else:
            run.out.table(_COLUMNS, map(_cells, found))


def _wanted(reader: SessionReader, title: str | None) -> Iterator[SessionInfo]:
    for info in reader.sessions():
        if title is None or title.casefold() in (info.title or "").casefold():
            yield info


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
