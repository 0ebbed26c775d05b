"""`turnlog export`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from turnlog.cli.app import app
from turnlog.cli.command import Run, command
from turnlog.cli.output import Advance, Output
from turnlog.importers import Exported, check_parents, export_sessions, tree_of
from turnlog.session import SessionReader

__all__: list[str] = []


@command(app, reads=True)
def export(
    run: Run,
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write the files.")],
    sessions: Annotated[
        list[str] | None, typer.Argument(metavar="SESSION...", help="The sessions.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every session.")] = False,
    tree: Annotated[
        bool, typer.Option("--tree", help="With all ancestors and forks of each session.")
    ] = False,
    compressed: Annotated[
        bool, typer.Option("--zstd", help="Write Zstandard frames, each with its checksum.")
    ] = False,
    unpacked: Annotated[
        bool, typer.Option("--unpacked", help="Write each stream chunk as a line of its own.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Write sessions to files, one each, that `turnlog import` takes back event for event.

    A file appears whole or not at all. A tree of which a session can't be read fails, and leaves no
    file. With --json each is an object: session, file, events.

    Example: turnlog export SESSION --tree --to backup/
    """
    if bool(sessions) == every:
        raise typer.BadParameter("name sessions, or give --all")
    with run.reader() as reader:
        ids = _wanted(reader, sessions or [], every=every, tree=tree)
        exported = export_sessions(
            reader,
            ids,
            to,
            compressed=compressed,
            packed=not unpacked,
            replace=force,
            together=tree,
        )
        with closing(exported), run.out.progress("sessions", len(ids)) as advance:
            # A tree's files are there at the end only, and not said before.
            written = list(_advanced(exported, advance)) if tree else _advanced(exported, advance)
            for each in written:
                _show(run.out, each)


def _advanced(exported: Iterable[Exported], advance: Advance) -> Iterator[Exported]:
    for each in exported:
        advance(said=each.session_id)
        yield each


def _show(out: Output, each: Exported) -> None:
    if out.as_json:
        out.json({"session": each.session_id, "file": str(each.path), "events": each.events})
    else:
        out.line(f"{each.session_id}\t{each.path}\t{each.events} events")


def _wanted(reader: SessionReader, sessions: list[str], *, every: bool, tree: bool) -> list[str]:
    if not every:
        return tree_of(reader, sessions) if tree else list(dict.fromkeys(sessions))
    infos = list(reader.sessions())
    if tree:
        check_parents(reader, infos)
    return [info.id for info in infos]
