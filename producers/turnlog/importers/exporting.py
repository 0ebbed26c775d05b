"""Sessions to files: plain or Zstandard JSONL, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import zstandard

from turnlog.events.errors import UnknownSession
from turnlog.events.event import Event
from turnlog.events.jsonl import header_line
from turnlog.events.rows import Row, expand
from turnlog.kernel.lineage import trace_session
from turnlog.kernel.log import Log
from turnlog.session.folder_names import file_name
from turnlog.session.ports import SessionReader

from .errors import ExportIncomplete, FileUnreadable

__all__ = ["export_log", "export_name", "tree_of"]

_FRAME_BYTES = 64 * 1024


def export_name(session_id: str, *, compressed: bool) -> str:
    """Give the file name of a session: one to one, and safe on every file system."""
    return file_name(session_id) + (".zst" if compressed else "")


def export_log(
    log: Log, folder: Path, *, compressed: bool = False, packed: bool = True, replace: bool = False
) -> Path:
    """Write a session to a folder; gives the file.

    The file appears whole: it is written under another name and renamed. Compressed, the header
    stands alone in the first frame and every frame has its checksum. Not `packed`, each event has a
    line of its own.

    Raises FileUnreadable, also where the file exists and is not to be replaced.
    """
    path = folder / export_name(log.header.id, compressed=compressed)
    unfinished = path.with_name(f".{path.name[:200]}.{os.getpid()}.part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists() and not replace:
            raise FileUnreadable(path, "it exists")
        try:
            with unfinished.open("xb") as file:
                for part in _parts(log, compressed=compressed, packed=packed):
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise
    except OSError as error:
        raise FileUnreadable(path, error.strerror or str(error)) from error
    return path


def tree_of(reader: SessionReader, session_ids: Sequence[str]) -> list[str]:
    """Give the sessions of the whole trees that these belong to, parents first.

    Raises ExportIncomplete where a parent is not there, UnknownSession.
    """
    headers = [info.header for info in reader.sessions()]
    known = {header.id for header in headers}
    found: dict[str, None] = {}
    for id in session_ids:
        if id not in known:
            raise UnknownSession(id)
        family = trace_session(headers, id)
        if family.unresolved_parent_id is not None:
            raise ExportIncomplete(id, family.unresolved_parent_id)
        root = family.root or id
        found[root] = None
        found.update((each.id, None) for each in trace_session(headers, root).descendants)
        found[id] = None
    return list(found)


def _parts(log: Log, *, compressed: bool, packed: bool) -> Iterator[bytes]:
    lines = _lines(log.rows if packed else expand(log.rows))
    if not compressed:
        yield header_line(log.header)
        yield from lines
        return
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    yield compressor.compress(header_line(log.header))
    for group in _groups(lines):
        yield compressor.compress(group)


def _lines(rows: Iterable[Row | Event]) -> Iterator[bytes]:
    for row in rows:
        yield row.text + b"\n"


def _groups(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Join lines to what one frame holds; none is cut."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        if held and size + len(line) > _FRAME_BYTES:
            yield b"".join(held)
            held, size = [], 0
        held.append(line)
        size += len(line)
    if held:
        yield b"".join(held)
