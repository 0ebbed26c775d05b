"""Sessions to files: plain or Zstandard JSONL, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import zstandard

from turnlog.events.errors import UnknownSession
from turnlog.events.event import Event
from turnlog.events.header import Header
from turnlog.events.jsonl import header_line
from turnlog.events.rows import Row, expand
from turnlog.kernel.lineage import trace_session
from turnlog.kernel.log import Log
from turnlog.session.folder_names import file_name
from turnlog.session.ports import SessionInfo, SessionReader

from .errors import ExportIncomplete, FileUnreadable
from .file_sessions import FileSessions

__all__ = [
    "Exported",
    "check_parents",
    "export_log",
    "export_name",
    "export_sessions",
    "tree_of",
]

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
    with _translated(path):
        _check_free(path, replace=replace)
        unfinished = _write(log, path, compressed=compressed, packed=packed)
        _finish(unfinished, path)
    return path


class Exported(NamedTuple):
    """A session that was written to a file, with so many events."""

    session_id: str
    path: Path
    events: int


def export_sessions(
    reader: SessionReader,
    session_ids: Sequence[str],
    folder: Path,
    *,
    compressed: bool = False,
    packed: bool = True,
    replace: bool = False,
    together: bool = False,
) -> Generator[Exported, None, None]:
    """Write sessions to a folder, each as `export_log` does; gives them as they are written.

    `together`, their files appear at the end, and none where one can't be read or written. Ended
    early, no file is left unfinished. Raises FileUnreadable, UnknownSession, DataError,
    BrokerError; ExportIncomplete where one of those that belong together is not there.
    """
    paths = {id: folder / export_name(id, compressed=compressed) for id in session_ids}
    for path in paths.values():
        with _translated(path):
            _check_free(path, replace=replace)
    unfinished: dict[Path, Path] = {}
    try:
        for id, path in paths.items():
            log = _read(reader, id, session_ids[0] if together else None)
            with _translated(path):
                unfinished[path] = _write(log, path, compressed=compressed, packed=packed)
                if not together:
                    _finish(unfinished.pop(path), path)
            yield Exported(id, path, log.next_seq)
        for path in list(unfinished):
            with _translated(path):
                _finish(unfinished.pop(path), path)
    finally:
        for part in unfinished.values():
            with suppress(OSError):
                part.unlink()


def tree_of(reader: SessionReader, session_ids: Sequence[str]) -> list[str]:
    """Give the sessions of the whole trees that these belong to, parents first.

    Raises ExportIncomplete where one of a tree is not there, or may not be: where a file can't be
    read at all, it may be one of them. UnknownSession.
    """
    headers = {info.id: info.header for info in reader.sessions()}
    lost = _lost(reader, headers)
    family_of = partial(trace_session, [*headers.values(), *lost.values()])
    found: dict[str, None] = {}
    for id in session_ids:
        if id in found:
            continue
        family = family_of(id)
        if family.unresolved_parent_id is not None:
            raise ExportIncomplete(id, family.unresolved_parent_id)
        root = family.root or id
        tree = [root, *(each.id for each in family_of(root).descendants)]
        for each in tree:
            if each in lost:
                raise ExportIncomplete(id, each)
        found.update(dict.fromkeys(tree))
    return list(found)


def check_parents(reader: SessionReader, infos: Sequence[SessionInfo]) -> None:
    """Check that of all sessions no parent is missing. Raises ExportIncomplete."""
    headers = {info.id: info.header for info in infos}
    _lost(reader, headers)
    for id, header in headers.items():
        if header.parent_session is not None and header.parent_session not in headers:
            raise ExportIncomplete(id, header.parent_session)


def _lost(reader: SessionReader, headers: Mapping[str, Header]) -> dict[str, Header]:
    """The headers of sessions that the listing left out. Raises ExportIncomplete."""
    lost: dict[str, Header] = {}
    for fault in reader.faults if isinstance(reader, FileSessions) else ():
        if fault.header is None:
            raise ExportIncomplete(None, str(fault.path)) from fault.error
        if fault.header.id not in headers:
            lost[fault.header.id] = fault.header
    return lost


def _read(reader: SessionReader, id: str, tree: str | None) -> Log:
    try:
        return reader.read(id)
    except UnknownSession:
        if tree is None:
            raise
        raise ExportIncomplete(tree, id) from None


def _check_free(path: Path, *, replace: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not replace:
        raise FileUnreadable(path, "it exists")


def _write(log: Log, path: Path, *, compressed: bool, packed: bool) -> Path:
    """Write a session beside its place; gives where."""
    unfinished = path.with_name(f".{sha256(path.name.encode()).hexdigest()}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as file:
            for part in _parts(log, compressed=compressed, packed=packed):
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
    return unfinished


def _finish(unfinished: Path, path: Path) -> None:
    """Put a file in its place."""
    try:
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileUnreadable(path, error.strerror or str(error)) from error


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
