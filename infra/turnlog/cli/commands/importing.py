"""`turnlog import`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from turnlog.cli.app import app
from turnlog.cli.command import Run, command
from turnlog.cli.exit_codes import FOUND_WRONG
from turnlog.cli.output import Output
from turnlog.importers import (
    Candidate,
    DamagedRange,
    DryRun,
    Importer,
    Outcome,
    OutcomeKind,
    Recovered,
    Summary,
    frame_text,
    import_files,
    place_text,
    session_files,
)
from turnlog.importers import recover as read_damaged
from turnlog.log import KafkaReader, KafkaStore

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
    recover: Annotated[
        bool,
        typer.Option(
            "--recover",
            help="Of a damaged file show all that is wrong: damage by bytes, both rows of a seq "
            "that is there twice, seqs that are missing.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Import nothing; say what would be done.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Import nothing, ask no Kafka; show all that is wrong with the files."
        ),
    ] = False,
) -> None:
    """Bring session files into the log: JSONL, plain or Zstandard, packed or not.

    A file that is there already adds nothing, one that is longer adds what is missing, one that
    differs is named and changes nothing. A damaged file is refused, with row and bytes; the others
    go on. Exits with 1 where not all of every file is in the log. With --json each file is an
    object: file, outcome (imported, prefix, present, conflict, refused), session, events, added,
    reason, and with --recover also recovered where it is damaged; and the last object is the
    summary: files, notBegun, sessions, eventsAdded, eventsPresent, and files by outcome. With
    --check each file is an object, as recovered is: file, session, rows, events, stop, soundRows,
    soundEvents, damage, frames, doubles, gaps.

    Example: turnlog import sessions/ --prefix
    """
    files = list(dict.fromkeys(file for path in paths for file in session_files(path)))
    if check:
        _check(run.out, files)
        return
    summary = Summary()
    with ExitStack() as stack:
        store, prefix_store = _stores(run, stack, prefix=prefix, dry_run=dry_run)
        # Said at the end, also where it comes early: what was under way is done by then.
        stack.callback(_sum, run.out, summary, len(files), dry_run=dry_run)
        advance = stack.enter_context(run.out.progress("files", len(files)))

        def take(outcome: Outcome) -> None:
            summary.add(outcome)
            _show(run.out, outcome, recover=recover)
            advance(said=outcome.path.name)

        outcomes = import_files(store, files, prefix_store=prefix_store, told=take)
        with closing(outcomes):
            for _ in outcomes:
                pass
    if not summary.ok:
        raise typer.Exit(FOUND_WRONG)


def _stores(
    run: Run, stack: ExitStack, *, prefix: bool, dry_run: bool
) -> tuple[Importer, Importer | None]:
    """What takes whole files, and what takes the sound beginnings of damaged ones, if any."""
    settings = run.settings(make_topics=True)
    if dry_run:
        reader = DryRun(stack.enter_context(KafkaReader(settings)))
        return reader, reader if prefix else None
    store = stack.enter_context(KafkaStore(settings))
    if not prefix:
        return store, None
    info = {**settings.writer_info, **PREFIX_MARK}
    return store, stack.enter_context(KafkaStore(replace(settings, writer_info=info)))


def _show(out: Output, outcome: Outcome, *, recover: bool) -> None:
    found = outcome.recovered if recover else None
    if out.as_json:
        value: dict[str, object] = {
            "file": str(outcome.path),
            "outcome": outcome.kind.value,
            "session": outcome.session_id,
            "events": outcome.events,
            "added": outcome.added,
            "reason": outcome.reason,
        }
        out.json(value if found is None else {**value, "recovered": _value(found)})
    elif not outcome.ok:
        out.line(f"{outcome.kind.value}: {outcome.path}: {outcome.reason}", style="yellow")
        for line in () if found is None else _lines(found):
            out.line(f"  {line}", style="yellow")


def _sum(out: Output, summary: Summary, wanted: int, *, dry_run: bool) -> None:
    by_outcome = {kind.value: summary.files[kind] for kind in OutcomeKind}
    if out.as_json:
        out.json(
            {
                "files": summary.file_count,
                "notBegun": wanted - summary.file_count,
                "sessions": summary.session_count,
                "eventsAdded": summary.events_added,
                "eventsPresent": summary.events_present,
                **by_outcome,
            }
        )
        return
    parts = ", ".join(f"{count} {kind}" for kind, count in by_outcome.items() if count)
    out.line(f"{summary.file_count} files: {parts or 'none'}")
    if summary.file_count < wanted:
        out.line(f"{wanted - summary.file_count} files were not imported", style="yellow")
    added = "to add" if dry_run else "added"
    out.line(
        f"{summary.session_count} sessions: {summary.events_added} events {added}, "
        f"{summary.events_present} there before"
    )


def _check(out: Output, files: list[Path]) -> None:
    wrong = 0
    for file in files:
        found = read_damaged(file)
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
        where = place_text(damage.start, damage.end, damage.line, damage.frame)
        yield f"damage: {where}: {damage.reason}"
    for frame in found.frames:
        yield f"damage: {frame_text(frame)}"
    for double in found.doubles:
        yield (
            f"seqs {double.first_seq} to {double.end_seq} (exclusive) twice: "
            f"{_candidate(double.earlier)}; and {_candidate(double.later)}"
        )
    for gap in found.gaps:
        yield (
            f"seqs {gap.first_seq} to {gap.end_seq} (exclusive) are not there, "
            f"before line {gap.line}"
        )
    for what, listed, count in (
        ("damage", found.damage, found.damage_count),
        ("damaged frames", found.frames, found.frame_count),
        ("doubles", found.doubles, found.double_count),
        ("gaps", found.gaps, found.gap_count),
    ):
        if count > len(listed):
            yield f"and {count - len(listed)} more: {what}"


def _candidate(one: Candidate) -> str:
    frame = f" of frame {one.frame}" if one.frame else ""
    return f"line {one.line}{frame}, bytes {one.start} to {one.end} (exclusive)"


def _value(found: Recovered) -> dict[str, object]:
    return {
        "file": str(found.path),
        "session": None if found.header is None else found.header.id,
        "rows": found.row_count,
        "events": found.event_count,
        "stop": found.stop,
        "soundRows": found.sound_rows,
        "soundEvents": found.sound_events,
        "damage": [_damage(each) for each in found.damage],
        "frames": [
            {"number": each.number, "start": each.start, "end": each.end, "reason": each.reason}
            for each in found.frames
        ],
        "doubles": [
            {
                "first": each.first_seq,
                "end": each.end_seq,
                "earlier": _row(each.earlier),
                "later": _row(each.later),
            }
            for each in found.doubles
        ],
        "gaps": [
            {"first": each.first_seq, "end": each.end_seq, "line": each.line} for each in found.gaps
        ],
    }


def _damage(one: DamagedRange) -> dict[str, object]:
    frame = None if one.frame is None else one.frame.number
    return {
        "line": one.line,
        "start": one.start,
        "end": one.end,
        "frame": frame,
        "reason": one.reason,
    }


def _row(one: Candidate) -> dict[str, object]:
    return {
        "firstSeq": one.first_seq,
        "endSeq": one.end_seq,
        "line": one.line,
        "start": one.start,
        "end": one.end,
        "frame": one.frame or None,
    }
