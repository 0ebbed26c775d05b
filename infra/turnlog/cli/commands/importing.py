"""`turnlog import`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from turnlog.cli.app import app
from turnlog.cli.command import Run, command
from turnlog.cli.exit_codes import FOUND_WRONG
from turnlog.cli.output import Output
from turnlog.importers import (
    Outcome,
    OutcomeKind,
    Recovered,
    Summary,
    import_files,
    recover,
    session_files,
)
from turnlog.log import KafkaStore

__all__: list[str] = []

PREFIX_MARK = {"import": "prefix"}
"""What the records of a session say whose file was imported as far as it was sound."""


@command(app, "import")
def import_(
    run: Run,
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Session files, or folders of them.")
    ],
    prefix: Annotated[
        bool,
        typer.Option(
            "--prefix",
            help="Of a damaged file import what is sound before the damage; the session's records "
            "say so (import: prefix).",
        ),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Import nothing; show all that is wrong with the files.")
    ] = False,
) -> None:
    """Bring session files into the log: JSONL, plain or Zstandard, packed or not.

    A file that is there already adds nothing, one that is longer adds what is missing, one that
    differs is named and changes nothing. A damaged file is refused, with row and bytes; the others
    go on. Exits with 1 where not all of every file is in the log. With --json each file is an
    object: file, outcome (imported, prefix, present, conflict, refused), session, events, added,
    reason; and the last object is the summary: files, sessions, added, present, and files by
    outcome. With --check each file is an object: file, session, rows, events, stop, soundRows,
    soundEvents, damage, frames, doubles, gaps.

    Example: turnlog import sessions/ --prefix
    """
    files = [file for path in paths for file in session_files(path)]
    if check:
        _check(run.out, files)
        return
    summary = Summary()
    with ExitStack() as stack:
        settings = run.settings(make_topics=True)
        store = stack.enter_context(KafkaStore(settings))
        marked = None
        if prefix:
            info = {**settings.writer_info, **PREFIX_MARK}
            marked = stack.enter_context(KafkaStore(replace(settings, writer_info=info)))
        advance = stack.enter_context(run.out.progress("files", len(files)))
        outcomes = import_files(store, files, prefix_store=marked)
        stack.callback(outcomes.close)
        try:
            for outcome in outcomes:
                summary.add(outcome)
                advance(said=outcome.path.name)
                _show(run.out, outcome)
        finally:
            _sum(run.out, summary, len(files))
    if not summary.ok:
        raise typer.Exit(FOUND_WRONG)


def _show(out: Output, outcome: Outcome) -> None:
    if out.as_json:
        out.json(
            {
                "file": str(outcome.path),
                "outcome": outcome.kind.value,
                "session": outcome.session_id,
                "events": outcome.events,
                "added": outcome.added,
                "reason": outcome.reason,
            }
        )
    elif not outcome.ok:
        out.line(f"{outcome.kind.value}: {outcome.path}: {outcome.reason}", style="yellow")


def _sum(out: Output, summary: Summary, wanted: int) -> None:
    by_outcome = {kind.value: summary.files[kind] for kind in OutcomeKind}
    if out.as_json:
        out.json(
            {
                "files": summary.file_count,
                "notBegun": wanted - summary.file_count,
                "sessions": summary.session_count,
                "added": summary.events_added,
                "present": summary.events_present,
                **by_outcome,
            }
        )
        return
    parts = ", ".join(f"{count} {kind}" for kind, count in by_outcome.items() if count)
    out.line(f"{summary.file_count} files: {parts or 'none'}")
    if summary.file_count < wanted:
        out.line(f"{wanted - summary.file_count} files were not begun", style="yellow")
    out.line(
        f"{summary.session_count} sessions: {summary.events_added} events added, "
        f"{summary.events_present} there before"
    )


def _check(out: Output, files: list[Path]) -> None:
    wrong = 0
    for file in files:
        found = recover(file)
        wrong += found.stop is not None
        if out.as_json:
            out.json(_value(found))
            continue
        out.line(f"{file}: {found.row_count} rows, {found.event_count} events")
        for line in _lines(found):
            out.line(f"  {line}", style="yellow")
    if not out.as_json:
        out.line(f"{len(files)} files, {wrong} of them not sound")
    if wrong:
        raise typer.Exit(FOUND_WRONG)


def _lines(found: Recovered) -> Iterator[str]:
    if found.stop is not None:
        yield f"strict reading stops at {found.stop}"
        yield f"sound before it: {found.sound_rows} rows, {found.sound_events} events"
    for damage in found.damage:
        yield f"damage: line {damage.line}, bytes {damage.start} to {damage.end}: {damage.reason}"
    for frame in found.frames:
        yield f"frame {frame.number}: bytes {frame.start} to {frame.end}: {frame.reason}"
    for double in found.doubles:
        one, other = double.earlier, double.later
        yield (
            f"seqs {double.first_seq} to {double.end_seq} twice: line {one.line}, bytes "
            f"{one.start} to {one.end}; and line {other.line}, bytes {other.start} to {other.end}"
        )
    for gap in found.gaps:
        yield f"seqs {gap.first_seq} to {gap.end_seq} are not there, before line {gap.line}"


def _value(found: Recovered) -> dict[str, object]:
    return {
        "file": str(found.path),
        "session": None if found.header is None else found.header.id,
        "rows": found.row_count,
        "events": found.event_count,
        "stop": found.stop,
        "soundRows": found.sound_rows,
        "soundEvents": found.sound_events,
        "damage": [
            {"line": each.line, "start": each.start, "end": each.end, "reason": each.reason}
            for each in found.damage
        ],
        "frames": [each._asdict() for each in found.frames],
        "doubles": [
            {
                "first": each.first_seq,
                "end": each.end_seq,
                "earlier": each.earlier._asdict(),
                "later": each.later._asdict(),
            }
            for each in found.doubles
        ],
        "gaps": [each._asdict() for each in found.gaps],
    }
