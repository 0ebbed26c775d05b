"""`turnlog messages`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from turnlog.cli.app import app
from turnlog.cli.arguments import SessionId
from turnlog.cli.command import Run, command
from turnlog.cli.errors import NoSuchRequest
from turnlog.cli.item_text import message_text
from turnlog.cli.output import Column
from turnlog.kernel import request_at
from turnlog.kernel.request import derived_request

__all__: list[str] = []

_COLUMNS = (Column("message", 7, right=True), Column("role", 9), Column("text", None))


class Form(StrEnum):
    """What of a request is shown."""

    MESSAGES = "messages"
    REQUEST = "request"


@command(app, reads=True)
def messages(
    run: Run,
    session: SessionId,
    seq: Annotated[
        int | None, typer.Option(min=0, help="As of before this seq; by default, now.")
    ] = None,
    turn: Annotated[int | None, typer.Option(min=0, help="The turn of a model call.")] = None,
    step: Annotated[int | None, typer.Option(min=0, help="The step of a model call.")] = None,
    attempt: Annotated[
        int | None, typer.Option(min=1, help="The attempt of that call; by default the last.")
    ] = None,
    form: Annotated[
        Form, typer.Option("--as", help="The messages alone, or with the request header.")
    ] = Form.MESSAGES,
) -> None:
    """Show what the model saw: now, as of a seq, or in the request of a step.

    With --json each message is an object as the model sees it; a request is one object: seq (the
    length of the log it is of), header, context, messages.

    Example: turnlog messages SESSION --turn 2 --step 1 --as request
    """
    if (turn is None) != (step is None) or (seq is not None and turn is not None):
        raise typer.BadParameter("give --seq, or --turn and --step, or neither")
    if attempt is not None and turn is None:
        raise typer.BadParameter("--attempt is of a --turn and a --step")
    with run.reader() as reader:
        log = reader.read(session)
    if turn is not None and step is not None:
        request = request_at(log, turn, step, -1 if attempt is None else attempt - 1)
        if request is None:
            raise NoSuchRequest(session, f"{turn}:{step}")
    else:
        request = derived_request(log, seq)
    if not run.out.as_json:
        if form is Form.REQUEST:
            run.out.line(f"header  {request.header}", cut=True)
        rows = ((n, m.get("role"), message_text(m)) for n, m in enumerate(request.messages, 1))
        run.out.table(_COLUMNS, rows)
    elif form is Form.MESSAGES:
        for message in request.messages:
            run.out.json(message)
    else:
        run.out.json(
            {
                "seq": request.seq,
                "header": request.header,
                "context": request.context,
                "messages": request.messages,
            }
        )
