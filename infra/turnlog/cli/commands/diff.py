"""`turnlog diff`."""

from __future__ import annotations

from typing import Annotated

import typer

from turnlog.cli.app import app
from turnlog.cli.arguments import SessionId, Step
from turnlog.cli.command import Run, command
from turnlog.cli.errors import NoSuchRequest
from turnlog.cli.item_text import message_text
from turnlog.cli.output import Column, Output
from turnlog.kernel import Log, Request, prefix_reusable, request_at
from turnlog.kernel.request_header import header_differences

__all__: list[str] = []

_COLUMNS = (
    Column("of", 2),
    Column("message", 7, right=True),
    Column("role", 9),
    Column("text", None),
)
_StepText = Annotated[str, typer.Argument(metavar="TURN:STEP[.ATTEMPT]", help="A model call.")]


@command(app, reads=True)
def diff(run: Run, session: SessionId, before: _StepText, after: _StepText) -> None:
    """Show what two requests of a session share, and where they part.

    Messages of the first alone are marked -, of the second alone +. With --json one object: shared
    (the number of first messages that are equal), before and after (the messages behind those),
    header (the fields that differ), prefixReusable (whether a provider's cache of the first may
    serve the second).

    Example: turnlog diff SESSION 1:1 2:1
    """
    first, second = Step(before), Step(after)
    with run.reader() as reader:
        log = reader.read(session)
    _show(run.out, _request(log, first), _request(log, second))


def _request(log: Log, step: Step) -> Request:
    request = request_at(log, step.turn, step.step, step.attempt)
    if request is None:
        raise NoSuchRequest(log.header.id, step.text)
    return request


def _show(out: Output, first: Request, second: Request) -> None:
    found = first.first_difference(second)
    shared = len(first) if found is None else found
    fields = _fields(first, second)
    before, after = first.messages[shared:], second.messages[shared:]
    if out.as_json:
        out.json(
            {
                "shared": shared,
                "before": before,
                "after": after,
                "header": fields,
                "prefixReusable": prefix_reusable(first, second),
            }
        )
        return
    out.line(f"the first {shared} messages are equal; {len(first)} before, {len(second)} after")
    out.line(f"header: {', '.join(fields) if fields else 'equal'}")
    rows = [
        (mark, number, message.get("role"), message_text(message))
        for mark, messages in (("-", before), ("+", after))
        for number, message in enumerate(messages, shared + 1)
    ]
    if rows:
        out.table(_COLUMNS, rows)


def _fields(first: Request, second: Request) -> list[str]:
    """The fields of the headers that differ; all of one where the other has none."""
    one, other = first.header, second.header
    if one is None or other is None:
        return [] if one is other else sorted(one or other or ())
    return list(header_differences(one, other))
