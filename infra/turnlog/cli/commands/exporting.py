"""`turnlog export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from turnlog.cli.app import app
from turnlog.cli.command import Run, command
from turnlog.events import UnknownSession
from turnlog.importers import ExportIncomplete, export_log, tree_of
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

    A file appears whole or not at all. A tree of which a session can't be read fails. With --json
    each is an object: session, file, events.

    Example: turnlog export SESSION --tree --to backup/
    """
    if bool(sessions) == every:
        raise typer.BadParameter("name sessions, or give --all")
    with run.reader() as reader:
        ids = _wanted(reader, sessions or [], every=every, tree=tree)
        with run.out.progress("sessions", len(ids)) as advance:
            for id in ids:
                try:
                    log = reader.read(id)
                except UnknownSession:
                    if tree:
                        raise ExportIncomplete((sessions or ids)[0], id) from None
                    raise
                path = export_log(
                    log, to, compressed=compressed, packed=not unpacked, replace=force
                )
                advance(said=id)
                if run.out.as_json:
                    run.out.json({"session": id, "file": str(path), "events": log.next_seq})
                else:
                    run.out.line(f"{id}\t{path}\t{log.next_seq} events")


def _wanted(reader: SessionReader, sessions: list[str], *, every: bool, tree: bool) -> list[str]:
    if every:
        sessions = [info.id for info in reader.sessions()]
    return tree_of(reader, sessions) if tree else list(dict.fromkeys(sessions))
