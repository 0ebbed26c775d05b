"""`turnlog fork` and `turnlog repair`."""

from __future__ import annotations

from typing import Annotated

import typer

from turnlog.cli.app import app
from turnlog.cli.arguments import SessionId
from turnlog.cli.command import Run, command
from turnlog.cli.output import Column, Output
from turnlog.events import Draft
from turnlog.kernel import repair as repair_of

__all__: list[str] = []

_COLUMNS = (Column("type", 20), Column("data", None))


@command(app)
def fork(
    run: Run,
    session: SessionId,
    at: Annotated[
        str | None,
        typer.Option(
            help="The last event to inherit: its seq, or last-closed-turn; by default the last."
        ),
    ] = None,
    id: Annotated[str | None, typer.Option(help="The child's id; by default a new one.")] = None,
) -> None:
    """Make a session that inherits another's events, and leave that one as it is.

    Prints the child's id. With --json one object: session, parent, inherited (events), nextSeq.

    Example: turnlog fork SESSION --at last-closed-turn
    """
    boundary = int(at) if at is not None and at.isdecimal() else at
    with run.store() as store, store.fork(session, boundary=boundary, child_id=id) as child:
        value = {
            "session": child.id,
            "parent": session,
            "inherited": child.header.seed_length,
            "nextSeq": child.next_seq,
        }
    if run.out.as_json:
        run.out.json(value)
    else:
        run.out.line(str(value["session"]))


@command(app)
def repair(
    run: Run,
    session: SessionId,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be appended.")
    ] = False,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Take the session from a writer that holds it.")
    ] = False,
) -> None:
    """Close what a crash left open, as resuming the session would: its turn, step and calls.

    A call that was not answered gets a result that says so. Repaired twice, nothing is added. With
    --json each event is an object: type, data.

    Example: turnlog repair SESSION --dry-run
    """
    if dry_run:
        with run.reader() as reader:
            _show(run.out, repair_of(reader.read(session)))
        return
    with run.store() as store:
        before = store.read(session).next_seq
        with store.open(session, take_over=take_over) as opened:
            events = list(opened.log.events(before))
    _show(run.out, [Draft(event.type, event.data) for event in events])


def _show(out: Output, drafts: list[Draft]) -> None:
    if out.as_json:
        for draft in drafts:
            out.json({"type": draft.type, "data": draft.data})
        return
    if not drafts:
        out.note("nothing is open: nothing to append")
        return
    out.table(_COLUMNS, ((draft.type, _text(draft.data)) for draft in drafts))


def _text(data: object) -> str:
    return str(data)
