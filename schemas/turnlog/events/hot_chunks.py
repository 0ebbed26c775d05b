"""Text and reasoning deltas on the append path: recognised by shape, one or many at once.

Most events are these, so they pass a check of exactly their shape instead of the general gate. What
is not plainly such a delta is left to the general gate, which decides and names the fault; both
give the same event.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from .chunk import CHUNK_TYPE, Chunk, ChunkHead
from .event import Draft, Event
from .gate import MAX_EVENT_BYTES, MAX_SAFE_INTEGER
from .jsontext import type_of

__all__ = ["hot_chunk", "hot_chunks"]

# A text of at most this many characters can't reach the size limit, however it is escaped.
_SMALL_TEXT = MAX_EVENT_BYTES // 16

_NONE = type(None)
_data_items = itemgetter("turn", "step", "chunk")
_chunk_items = itemgetter("type", "index", "text")


def hot_chunk(data: Any, seq: int, time_ms: int) -> Event | None:
    """Admit the data of one text or reasoning delta; None leaves it to the general gate.

    Keeps the strings and numbers, which are immutable, and no container of the caller's. Types are
    looked at before values: a hostile object answers a comparison as it likes.
    """
    if type_of(data) is not dict:
        return None
    try:
        one, two, three = data
        if not type(one) is type(two) is type(three) is str:
            return None
        turn, step, chunk = _data_items(data)
        if type_of(chunk) is not dict:
            return None
        one, two, three = chunk
        if not type(one) is type(two) is type(three) is str:
            return None
        kind, index, text = _chunk_items(chunk)
    except (KeyError, ValueError, RuntimeError):  # RuntimeError: another thread changed a dict
        return None
    if (
        type(text) is type(kind) is str
        and type(turn) is type(step) is type(index) is int
        and (kind == "text-delta" or kind == "reasoning-delta")
        and 0 <= turn <= MAX_SAFE_INTEGER
        and 0 <= step <= MAX_SAFE_INTEGER
        and -MAX_SAFE_INTEGER <= index <= MAX_SAFE_INTEGER
        and len(text) <= _SMALL_TEXT
    ):
        head = ChunkHead(turn, step, index, kind)
        return Event(CHUNK_TYPE, seq, time_ms, False, None, None, Chunk(head, text))
    return None


def hot_chunks(drafts: Sequence[Draft], seq: int, now_ms: int) -> list[Event] | None:
    """Admit drafts that are all text or reasoning deltas; None leaves them to the general gate.

    The checks of `hot_chunk`, each made over all drafts at once.
    """
    types, datas, surfaces, sources, ignorables, times = zip(*drafts, strict=True)
    if not (
        _all(types, str)
        and _all(datas, dict)
        and _all(surfaces, _NONE)
        and _all(sources, _NONE)
        and _all(ignorables, bool)
        and set(types) == {CHUNK_TYPE}
        and not any(ignorables)
    ):
        return None
    try:
        turns, steps, chunks = _columns(datas, _data_items)
        if not _all(chunks, dict):
            return None
        kinds, indexes, texts = _columns(chunks, _chunk_items)
    except (KeyError, ValueError, RuntimeError):
        return None
    if not (
        _all(kinds, str)
        and _all(texts, str)
        and set(kinds) <= {"text-delta", "reasoning-delta"}
        and max(map(len, texts)) <= _SMALL_TEXT
        and _all_within(turns, 0)
        and _all_within(steps, 0)
        and _all_within(indexes, -MAX_SAFE_INTEGER)
    ):
        return None
    if _all(times, _NONE):
        times = (now_ms,) * len(times)
    elif not _all_within(times, -MAX_SAFE_INTEGER):
        return None
    events: list[Event] = []
    run = head = None
    for key, text, time_ms in zip(
        zip(turns, steps, indexes, kinds, strict=True), texts, times, strict=True
    ):
        if head is None or key != run:
            run, head = key, ChunkHead(*key)
        events.append(Event(CHUNK_TYPE, seq, time_ms, False, None, None, Chunk(head, text)))
        seq += 1
    return events


def _columns(values: tuple[Any, ...], items: itemgetter[Any]) -> Any:
    """The three items of each value as three columns; ValueError where a value has other keys."""
    if set(map(len, values)) != {3} or set(map(type, chain.from_iterable(values))) != {str}:
        raise ValueError
    return zip(*map(items, values), strict=True)


def _all(values: Iterable[Any], kind: type) -> bool:
    return set(map(type, values)) == {kind}


def _all_within(values: tuple[Any, ...], least: int) -> bool:
    if not _all(values, int):
        return False
    distinct = set(values)  # few, and hashing beats comparing
    return bool(least <= min(distinct) and max(distinct) <= MAX_SAFE_INTEGER)
