"""`turnlog trace`."""

from __future__ import annotations

from typing import Annotated

import typer

from turnlog.cli.app import app
from turnlog.cli.arguments import SessionId, time_text
from turnlog.cli.command import Run, command
from turnlog.cli.errors import NoSuchEvent
from turnlog.cli.output import Column
from turnlog.kernel import trace_event

__all__: list[str] = []

_COLUMNS = (Column("what", 20), Column("is", None))


@command(app, reads=True)
def trace(
    run: Run,
    session: SessionId,
    seq: Annotated[int, typer.Argument(metavar="SEQ", min=0, help="The event's seq.")],
) -> None:
    """Show where one event stands: on the Surface or replaced, by what, made of what.

    With --json one object: surface, replacedBy, replacementChain, replacedEventSeqs,
    sourceEventSeqs, derivedEventSeqs, all of them seqs but the first.

    Example: turnlog trace SESSION 12
    """
    with run.reader() as reader:
        log = reader.read(session)
    event = log.event(seq)
    if event is None:
        raise NoSuchEvent(session, seq, log.next_seq)
    value = trace_event(log, seq).to_json()
    if run.out.as_json:
        run.out.json(value)
        return
    run.out.line(f"{event.type}, {time_text(event.time_ms)}")
    run.out.table(_COLUMNS, ((name, _shown(each)) for name, each in value.items()))


def _shown(value: object) -> object:
    return ", ".join(map(str, value)) if isinstance(value, list) else value
