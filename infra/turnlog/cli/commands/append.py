"""`turnlog append`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, BinaryIO

import typer

from turnlog.cli.app import app
from turnlog.cli.arguments import SessionId
from turnlog.cli.command import Run, Terminated, command
from turnlog.cli.errors import BadLine
from turnlog.cli.output import Output
from turnlog.events import (
    BadShape,
    BrokenLog,
    BrokerError,
    CallerError,
    Draft,
    NotAcknowledged,
    OwnershipError,
)
from turnlog.events.event import read_draft
from turnlog.events.jsontext import loads
from turnlog.session import Session

__all__: list[str] = []

_LONGEST_LINE = 16 * 1024 * 1024


@command(app)
def append(
    run: Run,
    session: SessionId,
    create: Annotated[bool, typer.Option("--create", help="Make the session.")] = False,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Take the session from a writer that holds it.")
    ] = False,
    expected_seq: Annotated[
        int | None,
        typer.Option(
            min=0, help="The seq that the first event must get; repeated, it is no second one."
        ),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Events that are made durable together.")] = 1,
) -> None:
    """Append events to a session: from standard input, a JSON object a line.

    A line has type and data, and maybe surfaceOp, sourceEventSeqs, ignorable and time, as a stored
    event has. An event's seq is printed once it is durable. A bad line ends the command: what
    stands before it is durable, it and what follows is not appended. At Ctrl-C or SIGTERM the
    events that were taken are made durable; where that fails, the first seq that is not is named.
    With --json each is an object: seq, type, hash (of the commit that holds it).

    Example: turnlog append SESSION --create < events.jsonl
    """
    with run.store() as store:
        opened = store.create(session) if create else store.open(session, take_over=take_over)
        try:
            with opened:
                _append_all(run.out, opened, _lines(sys.stdin.buffer), expected_seq, batch)
        except (KeyboardInterrupt, Terminated):
            run.out.note(f"session {session!r}: durable below seq {opened.acknowledged_seq}")
            raise
        except NotAcknowledged as error:
            first = error.events[0].seq
            run.out.note(f"session {session!r}: not durable from seq {first} on")
            raise


def _append_all(
    out: Output,
    session: Session,
    lines: Iterable[tuple[int, bytes]],
    expected_seq: int | None,
    batch: int,
) -> None:
    waiting: list[tuple[int, str]] = []
    try:
        for number, line in lines:
            draft = _draft(line, number)
            event = _append(session, draft, number, expected_seq)
            expected_seq = None
            waiting.append((event, draft.type))
            if len(waiting) >= batch:
                _flush(out, session, waiting)
    except (BrokerError, OwnershipError):
        raise
    except BaseException:
        _flush(out, session, waiting)
        raise
    _flush(out, session, waiting)


def _draft(line: bytes, number: int) -> Draft:
    try:
        return read_draft(loads(line))
    except (BadShape, BrokenLog) as error:
        raise BadLine(number, str(error)) from None


def _append(session: Session, draft: Draft, number: int, expected_seq: int | None) -> int:
    try:
        event = session.append(
            draft.type,
            draft.data,
            surface=draft.surface,
            sources=draft.sources,
            ignorable=draft.ignorable,
            time_ms=draft.time_ms,
            expected_seq=expected_seq,
        )
    except CallerError as error:
        raise BadLine(number, str(error)) from error
    return event.seq


def _flush(out: Output, session: Session, waiting: list[tuple[int, str]]) -> None:
    if not waiting:
        return
    head = session.flush()
    for seq, of in waiting:
        if out.as_json:
            out.json({"seq": seq, "type": of, "hash": head.hash.hex()})
        else:
            out.line(f"{seq}\t{of}")
    waiting.clear()


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1; they end at byte 0x0A."""
    number = 0
    while line := file.readline(_LONGEST_LINE + 1):
        number += 1
        if len(line) > _LONGEST_LINE:
            raise BadLine(number, f"longer than {_LONGEST_LINE} bytes")
        if line.strip():
            yield number, line.rstrip(b"\n")
