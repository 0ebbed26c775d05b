"""`turnlog show`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from turnlog.cli.app import app
from turnlog.cli.arguments import End, SessionId, Start, time_text
from turnlog.cli.command import Run, command
from turnlog.cli.item_text import item_text, item_value, span_text
from turnlog.cli.output import Column, Output
from turnlog.kernel import Log, statistics, title, todo, transcript

__all__: list[str] = []

_ITEMS = (Column("seqs", 9), Column("of", 10), Column("text", None))
_EVENTS = (
    Column("seq", 7, right=True),
    Column("time", 24),
    Column("type", 20),
    Column("data", None),
)


class View(StrEnum):
    """What of a session is shown."""

    TRANSCRIPT = "transcript"
    EVENTS = "events"
    TODO = "todo"
    STATISTICS = "statistics"


@command(app, reads=True)
def show(
    run: Run,
    session: SessionId,
    view: Annotated[View, typer.Option("--as", help="What to show.")] = View.TRANSCRIPT,
    start: Start = 0,
    end: End = None,
) -> None:
    """Show a session: its transcript, events, todo list or statistics.

    With --json an event is as it is stored; an item of the transcript has item, seq, ordinal, spans
    (of seqs, half open), final, time, and what its kind has; the todo list has title and todos;
    statistics are one object.

    Example: turnlog show SESSION --as events --start 100
    """
    with run.reader() as reader:
        log = reader.read(session)
    if view is View.TRANSCRIPT:
        _show_transcript(run.out, log, start, end)
    elif view is View.EVENTS:
        _show_events(run.out, log, start, end)
    elif view is View.TODO:
        _show_todo(run.out, log)
    else:
        value = statistics(log, start).to_json()
        if run.out.as_json:
            run.out.json(value)
        else:
            run.out.table((Column("what", 20), Column("total", None)), value.items())


def _show_transcript(out: Output, log: Log, start: int, end: int | None) -> None:
    items = transcript(log, start, end)
    if out.as_json:
        for item in items:
            out.json(item_value(item))
    else:
        out.table(_ITEMS, ((span_text(item.spans), *item_text(item)) for item in items))


def _show_events(out: Output, log: Log, start: int, end: int | None) -> None:
    events = log.events(start, end)
    if out.as_json:
        for event in events:
            out.json(event.to_json())
        return
    rows = (
        (event.seq, time_text(event.time_ms), event.type, event.text.decode("utf-8"))
        for event in events
    )
    out.table(_EVENTS, rows)


def _show_todo(out: Output, log: Log) -> None:
    todos = todo(log)
    if out.as_json:
        out.json({"title": title(log), "todos": todos})
        return
    for entry in todos or ():
        known = entry if isinstance(entry, dict) else {}
        out.line(f"{known.get('status', '?')}\t{known.get('content', entry)}", cut=True)
