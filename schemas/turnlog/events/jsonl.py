"""The JSONL form of a session: a header line, then one storage row a line; lines end at byte 0x0A.

One scanner reads it, whole or damaged; the strict reader is the scanner that stops at the first
damage. Both stream: a read block and one line are all that is held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

import msgspec
import orjson

from .error_text import shown, type_name
from .errors import BadRow, BadShape, BrokenLog, DamagedFile
from .header import Header
from .jsontext import dumps, is_object, loads
from .packed import quick_packed
from .rows import Row, parse_row, row_of_value
from .salvage import is_json, salvage

__all__ = [
    "MAX_LINE_BYTES",
    "ByteSource",
    "Damage",
    "FileHeader",
    "FileRow",
    "Item",
    "Readable",
    "Writable",
    "header_line",
    "read_jsonl",
    "scan_jsonl",
    "write_jsonl",
]

MAX_LINE_BYTES = 32 * 1024 * 1024
"""A longer line is damage, so that no file can ask for unbounded memory.

Four times the largest event that `append` takes: rows of other writers have been seen at 15 MB, and
a decoded line takes up to some twenty times its bytes.
"""

_BLOCK_BYTES = 256 * 1024
_SPACE = b" \t\r"  # JSON's white space without the line's end
_SESSION = "session"
_SOURCE = "a file opened in binary mode, or an iterable of blocks of bytes"
_CONTENT: tuple[type, ...] = (str, bytes, bytearray, memoryview)


@runtime_checkable
class Readable(Protocol):
    """A binary file to read; `read` gives no bytes at its end only."""

    def read(self, size: int, /) -> bytes:
        """Read up to that many bytes."""
        ...


class Writable(Protocol):
    """A binary file to write; `write` takes all it is given."""

    def write(self, data: bytes, /) -> object:
        """Write all of the bytes."""
        ...


ByteSource = Readable | Iterable[bytes]
"""A binary file that blocks, or blocks of bytes cut anywhere."""


class FileHeader(msgspec.Struct, frozen=True, gc=False):
    """The header line: its bytes `[start, end)`, its line number from 1, and the header in it."""

    start: int
    end: int
    line: int
    header: Header


class FileRow(msgspec.Struct, frozen=True, gc=False):
    """One storage row: its bytes `[start, end)`, its line number from 1, and the row."""

    start: int
    end: int
    line: int
    row: Row


class Damage(msgspec.Struct, frozen=True, gc=False):
    """Bytes `[start, end)` that are no whole record, on the line of that number from 1.

    The range is empty where something is missing: a line end between two records, or the header
    line. `torn_tail` tells that the file ends in the beginning of a line without 0x0A that holds no
    whole record: a write that was never acknowledged.
    """

    start: int
    end: int
    line: int
    reason: str
    torn_tail: bool = False


Item = FileHeader | FileRow | Damage
"""What a scan gives."""


def scan_jsonl(source: ByteSource, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Item]:
    """Read a session's file: the header, the rows and the damage, in file order.

    Blank lines are passed over; JSON white space around a record is not part of its range or text.
    A last line without 0x0A is a row if it is whole. Whole records inside a damaged line are found.
    The first record is the header, or its absence is damage. Whether the rows follow on each other
    is not looked at.

    Raises BadShape for a source that gives no blocks of bytes, such as a path, the file's content
    itself, or a file in text mode; what reading the source raises; and nothing else.
    """
    _check_source(source)
    return _scan(source, max_line_bytes)


def _scan(source: ByteSource, max_line_bytes: int) -> Iterator[Item]:
    examiner = _Examiner(max_line_bytes)
    number = end = 0
    for number, (start, end, line, ended) in enumerate(_lines(source, max_line_bytes), 1):
        if (
            examiner.has_begun
            and line[:1] == b"{"
            and line[-1:] == b"}"
            and len(line) <= max_line_bytes
        ):
            try:
                quick = quick_packed(line)
                row = (
                    Row(line, *quick, packed=True)
                    if quick
                    else row_of_value(orjson.loads(line), line)
                )
            except (BadRow, orjson.JSONDecodeError):
                pass  # the examiner says why, or reads it after all
            else:
                yield FileRow(start, end, number, row)
                continue
        yield from examiner.examine(start, end, line, number, ended)
    if not examiner.has_said_anything:
        yield Damage(end, end, max(number, 1), "no header line", torn_tail=not number)


def read_jsonl(
    source: ByteSource, *, max_line_bytes: int = MAX_LINE_BYTES
) -> tuple[Header, Iterator[Row]]:
    """Read a session's file that must be whole: its header now, its rows as they are asked for.

    Raises DamagedFile at the first damage, here or from the iterator, which gives all before it;
    BadShape as `scan_jsonl`.
    """
    items = scan_jsonl(source, max_line_bytes=max_line_bytes)
    first = next(items)
    if isinstance(first, FileHeader):
        return first.header, _whole_rows(items)
    raise _damaged(first)


def write_jsonl(f: Writable, header: Header, rows: Iterable[Row]) -> None:
    """Write the plain form: the header line, then each row's text as it is, a line each; streams.

    `f` is a buffered binary file. Raises BadShape for a header that has a `type` of its own, BadRow
    for a row whose text holds a line end.
    """
    f.write(header_line(header))
    for row in rows:
        if b"\n" in row.text:
            raise BadRow(f"expected one line, found a line end in the row of seq {row.first_seq}")
        f.write(row.text + b"\n")


def header_line(header: Header) -> bytes:
    """Give the header line with its 0x0A: `type` first, `delegationDepth` 0 where there is none.

    Raises BadShape for a header that has a `type` of its own.
    """
    value = header.value
    if "type" in value:
        raise BadShape("header.type", "no such key", shown(value["type"]))
    value.setdefault("delegationDepth", 0)
    return dumps({"type": _SESSION, **value}) + b"\n"


class _Examiner:
    """Reads the lines that are not simply a row: the header's, blank ones, damaged ones."""

    def __init__(self, max_line_bytes: int) -> None:
        self._max_line_bytes = max_line_bytes
        self._refusal = ""
        self.has_begun = False  # a header or a row was found
        self.has_said_anything = False

    def examine(
        self, start: int, end: int, line: bytes, number: int, ended: bool
    ) -> Iterator[Item]:
        """Yield what bytes `[start, end)` hold; a line above the limit comes cut."""
        if len(line) > self._max_line_bytes:
            self.has_said_anything = True
            yield Damage(start, end, number, f"a line of more than {self._max_line_bytes} bytes")
            return
        text = line.strip(_SPACE)
        start += len(line) - len(line.lstrip(_SPACE))
        done = 0
        records: Iterator[tuple[int, int, Header | Row]] = salvage(text, self._read, ended=ended)
        for begin, stop, record in records:
            if begin:
                yield self._damage(start, text, done, begin, number)
            if isinstance(record, Header):
                yield FileHeader(start + begin, start + stop, number, record)
            else:
                if not self.has_begun:
                    yield Damage(
                        start + begin, start + begin, number, "no header line before the first row"
                    )
                yield FileRow(start + begin, start + stop, number, record)
            self.has_begun = self.has_said_anything = True
            done = stop
        if text and not (ended or done or is_json(text)):
            # Up to the very end, white space included, so that it can be cut there.
            self.has_said_anything = True
            yield Damage(start, end, number, "a write that was not finished", torn_tail=True)
        elif done < len(text):
            yield self._damage(start, text, done, len(text), number)

    def _read(self, text: bytes) -> Header | Row | None:
        try:
            return parse_row(text) if self.has_begun else _read_first(text)
        except (BadRow, BadShape, BrokenLog) as error:
            self._refusal = str(error)
            return None

    def _damage(self, start: int, text: bytes, begin: int, stop: int, number: int) -> Damage:
        self.has_said_anything = True
        gap = text[begin:stop]
        if not gap.strip(_SPACE):
            reason = "no line end between two records"
        elif not gap.strip(_SPACE + b"\0"):
            reason = f"{len(gap)} zero bytes"
        else:
            reason = self._refusal or "no JSON: a record that was cut or changed"
        self._refusal = ""
        return Damage(start + begin, start + stop, number, reason)


def _read_first(text: bytes) -> Header | Row:
    """Read the first record: the header, or a row where there is none.

    Raises BadShape, BadRow or BrokenLog.
    """
    value = loads(text)
    if not is_object(value) or value.get("type") != _SESSION:
        return row_of_value(value, text)
    try:
        return _header_of(value)
    except BadShape as error:
        try:
            return row_of_value(value, text)
        except BadRow:
            raise error from None


def _header_of(value: dict[str, Any]) -> Header:
    header = Header.of({key: item for key, item in value.items() if key != "type"})
    if header.delegation_depth is None:
        raise BadShape("header.delegationDepth", "a non-negative integer", "nothing")
    return header


def _whole_rows(items: Iterator[Item]) -> Iterator[Row]:
    for item in items:
        if not isinstance(item, FileRow):
            raise _damaged(item)
        yield item.row


def _damaged(item: Item) -> DamagedFile:
    reason = item.reason if isinstance(item, Damage) else "a second header"
    torn = isinstance(item, Damage) and item.torn_tail
    return DamagedFile(reason, start=item.start, end=item.end, line=item.line, torn_tail=torn)


def _lines(source: ByteSource, limit: int) -> Iterator[tuple[int, int, bytes, bool]]:
    """Yield `(start, end, line, ended)` for each line; of one above the limit only a beginning.

    The line comes without its 0x0A, which `end` does not count; `ended` tells whether it had one.
    """
    held: list[bytes] = []  # the pieces of a line that the blocks so far did not end
    start = length = 0
    for block in _blocks(source):
        pieces = block.split(b"\n")
        rest = pieces.pop()
        if length and pieces:
            end = start + length + len(pieces[0])
            if length <= limit:
                held.append(pieces[0])
            yield start, end, b"".join(held), True
            held.clear()
            length = 0
            start = end + 1
            del pieces[0]
        for piece in pieces:
            end = start + len(piece)
            yield start, end, piece, True
            start = end + 1
        if rest:
            if length <= limit:
                held.append(rest)
            length += len(rest)
    if length:
        yield start, start + length, b"".join(held), False


def _blocks(source: ByteSource) -> Iterator[bytes]:
    if not isinstance(source, Readable):
        for block in source:
            yield _checked_block(block)
        return
    while block := _checked_block(source.read(_BLOCK_BYTES)):
        yield block


def _check_source(source: object) -> None:
    """Refuse what is iterable, too, but not by blocks: text, and bytes, which give integers."""
    if isinstance(source, _CONTENT) or not isinstance(source, (Readable, Iterable)):
        raise BadShape("source", _SOURCE, shown(source))


def _checked_block(block: object) -> bytes:
    if not isinstance(block, bytes):
        raise BadShape("source", _SOURCE, f"a block of type {type_name(type(block))}")
    return block
