"""Whole records inside a damaged line.

A line that is no JSON may still hold whole records: behind a cut one, joined to another, between
zero bytes. They are found by one tokenizer that reads strict JSON in UTF-8 and builds no values, in
time that grows with the line's length and on no call stack, whatever the line holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import orjson

__all__ = ["is_json", "salvage"]

T = TypeVar("T")

_TOKEN = re.compile(
    rb"""[ \t\r]*+(?:
    ([{\[]) | ([}\]]) | (,) | (:)
    | ("(?:[^"\\\x00-\x1f\x80-\xff]++
        | \\(?:["\\/bfnrt] | u[0-9A-Fa-f]{4})
        | [\xc2-\xdf][\x80-\xbf]
        | \xe0[\xa0-\xbf][\x80-\xbf]
        | [\xe1-\xec\xee\xef][\x80-\xbf]{2}
        | \xed[\x80-\x9f][\x80-\xbf]
        | \xf0[\x90-\xbf][\x80-\xbf]{2}
        | [\xf1-\xf3][\x80-\xbf]{3}
        | \xf4[\x80-\x8f][\x80-\xbf]{2}
      )*+")
    | (true | false | null | -?(?:0 | [1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+)
    )""",
    re.VERBOSE,
)
_OPEN, _CLOSE, _COMMA, _COLON, _STRING = 1, 2, 3, 4, 5

# What the next token of an object may be.
_KEY_OR_END, _KEY, _BEFORE_VALUE, _VALUE, _VALUE_OR_END, _AFTER_VALUE = range(6)

_RECORD_START = re.compile(rb'\{[ \t\r]*+"')
_BLANK = re.compile(rb"[\0 \t\r]*+")
_SPACE = re.compile(rb"[ \t\r]*+")
_GOES_ON = re.compile(rb"[ \t\r]*+[,:}\]]")


class _Reading(NamedTuple):
    """How far the object that starts at some byte could be read; positions in the line.

    `end` (exclusive) is None where it is not whole; then `last_child` is the object directly before
    the fault, `resume` where to look on, and `ran_out` tells that the fault is the line's end.
    """

    end: int | None
    resume: int
    last_child: int | None = None
    ran_out: bool = False


def salvage(
    line: bytes, read: Callable[[bytes], T | None], *, ended: bool
) -> Iterator[tuple[int, int, T]]:
    """Yield `(start, end, record)` for each object of a line for which `read` gives a record.

    Ranges are half open, disjoint and in line order. `ended` tells whether the line had its 0x0A;
    where it had not, and is the beginning of one record, nothing in it is taken for another.

    An object inside the remains of a larger one is that one's content, and no record, unless the
    remains stop directly behind it: they were cut before a value, where the next record joined.
    """
    position = 0
    blank_until = _past(_BLANK, line, 0)
    while (candidate := _RECORD_START.search(line, position)) is not None:
        start = candidate.start()
        reading = _read_object(line, start)
        position = reading.resume
        if reading.end is not None:
            end = reading.end
            if start > blank_until and _GOES_ON.match(line, end) is not None:
                continue
        elif reading.ran_out and not ended and start <= blank_until:
            continue
        elif reading.last_child is not None:
            start, end = reading.last_child, reading.resume
        else:
            continue
        record = read(line[start:end])
        if record is not None:
            yield start, end, record
            position = end
            blank_until = _past(_BLANK, line, end)


def is_json(text: bytes) -> bool:
    """Tell whether a text is one whole JSON object, without space around it, or other JSON."""
    if text.startswith(b"{"):
        return _read_object(text, 0).end == len(text)
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _read_object(line: bytes, start: int) -> _Reading:
    """Read the object that opens at `start`, without building it."""
    opened = [start]  # where each open object starts; of an open array the complement
    wanted = _KEY_OR_END
    last_string = child = -1
    position = start + 1
    while (match := _TOKEN.match(line, position)) is not None:
        token = match.lastindex
        if token == _STRING:
            if wanted <= _KEY:
                wanted = _BEFORE_VALUE
            elif wanted in (_VALUE, _VALUE_OR_END):
                wanted = _AFTER_VALUE
            else:
                break
            last_string = match.start(_STRING)
            child = -1
        elif token == _COLON:
            if wanted != _BEFORE_VALUE:
                break
            wanted = _VALUE
        elif token == _COMMA:
            if wanted != _AFTER_VALUE:
                break
            wanted = _KEY if opened[-1] >= 0 else _VALUE
            child = -1
        elif token == _CLOSE:
            is_object = line[match.end() - 1] == 0x7D
            if wanted != _AFTER_VALUE and wanted != (_KEY_OR_END if is_object else _VALUE_OR_END):
                break
            if is_object != (opened[-1] >= 0):
                break
            child = opened.pop()
            if not opened:
                return _Reading(match.end(), match.end())
            wanted = _AFTER_VALUE
        elif wanted not in (_VALUE, _VALUE_OR_END):
            break
        elif token == _OPEN:
            is_object = line[match.end() - 1] == 0x7B
            opened.append(match.end() - 1 if is_object else -match.end())
            wanted = _KEY_OR_END if is_object else _VALUE_OR_END
            child = -1
        else:
            wanted = _AFTER_VALUE
            child = -1
        position = match.end()
    if child >= 0:
        return _Reading(None, position, child, _runs_out(line, position))
    # A record that was cut inside a string swallowed the start of the next one with its last
    # string, so the search goes on inside that. Each search starts behind the quote that the one
    # before started behind, and reads no more than a few quotes on: linear time.
    resume = last_string + 1 if last_string >= 0 else position
    return _Reading(None, resume, None, _runs_out(line, position))


def _runs_out(line: bytes, position: int) -> bool:
    return _past(_SPACE, line, position) == len(line)


def _past(pattern: re.Pattern[bytes], line: bytes, position: int) -> int:
    match = pattern.match(line, position)
    return position if match is None else match.end()
