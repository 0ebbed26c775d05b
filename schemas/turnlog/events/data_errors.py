"""Errors of stored data: nothing was dropped or changed."""

from __future__ import annotations

from .error_roots import DataError
from .error_text import shown

__all__ = [
    "BadCheckpoint",
    "BadRow",
    "BadSplice",
    "BrokenLog",
    "DamagedFile",
    "ImportConflict",
    "LineageCycle",
    "LogEndPassed",
    "LogStartCut",
    "MissingField",
    "NewerThanReader",
    "RestoreRefused",
    "UnknownRequiredType",
]


class BadRow(DataError):
    """A storage row that can't be read as an event or as packed chunks."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"storage row: {reason}")


class MissingField(DataError):
    """A stored event lacks the field that a view reads."""

    def __init__(self, seq: int, field: str) -> None:
        self.seq = seq
        self.field = field
        super().__init__(f"event {seq} lacks {field}")


class RestoreRefused(DataError):
    """A stored log breaks a rule of restore; `index` is None where the header does."""

    def __init__(self, index: int | None, reason: str) -> None:
        self.index = index
        self.reason = reason
        where = "header" if index is None else f"event at index {index}"
        super().__init__(f"{where}: {reason}")


class UnknownRequiredType(DataError):
    """A stored event of a type that this reader does not know and may not ignore."""

    def __init__(self, type: str, seq: int) -> None:
        self.type = type
        self.seq = seq
        super().__init__(
            f"event {seq} has the unknown type {shown(type)}: register it to resume; "
            "viewing and export work without"
        )


class BadSplice(DataError):
    """A stored inbox splice that does not fit its list."""

    def __init__(self, seq: int, reason: str) -> None:
        self.seq = seq
        self.reason = reason
        super().__init__(f"inbox splice {seq}: {reason}")


class BrokenLog(DataError):
    """Bytes of a log are not what they claim to be."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class DamagedFile(BrokenLog):
    """Bytes `[start, end)` of a JSONL file hold no whole record; `line` counts from 1.

    `torn_tail` tells that they are the file's last line, without an end: a write that was never
    acknowledged.
    """

    def __init__(self, reason: str, *, start: int, end: int, line: int, torn_tail: bool) -> None:
        super().__init__(f"line {line}, bytes {start} to {end} (exclusive): {reason}")
        self.reason = reason
        self.start = start
        self.end = end
        self.line = line
        self.torn_tail = torn_tail


class NewerThanReader(DataError):
    """A record of a format that this version does not know; upgrade to read on."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"{what} is newer than this reader: upgrade turnlog to read it")


class LogStartCut(DataError):
    """Events below `log_start_offset` are gone; offsets half open `[asked, log_start)`."""

    def __init__(self, asked_offset: int, log_start_offset: int) -> None:
        self.asked_offset = asked_offset
        self.log_start_offset = log_start_offset
        super().__init__(f"offsets {asked_offset} to {log_start_offset} (exclusive) are gone")


class LogEndPassed(DataError):
    """A position lies behind the log's end: it is of another log, or this one lost its end."""

    def __init__(self, asked_offset: int, log_end_offset: int) -> None:
        self.asked_offset = asked_offset
        self.log_end_offset = log_end_offset
        super().__init__(f"offset {asked_offset} is behind the log's end at {log_end_offset}")


class LineageCycle(DataError):
    """Sessions name each other as parents in a circle."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"the ancestors of {session_id!r} form a circle")


class ImportConflict(DataError):
    """An imported log differs from the stored one; nothing was changed. `seq` None: the header."""

    def __init__(self, session_id: str, seq: int | None) -> None:
        self.session_id = session_id
        self.seq = seq
        where = "in its header" if seq is None else f"at seq {seq}"
        super().__init__(f"session {session_id!r} is stored already and differs {where}")


class BadCheckpoint(DataError):
    """A checkpoint that can't be used here; rebuild from the log."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"checkpoint: {reason}")
