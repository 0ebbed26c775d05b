"""Text and reasoning deltas on the append path: recognised by shape, one or many at once.

Most events are these, so they pass a check of exactly their shape instead of the general gate. What
is not plainly such a delta is left to the general gate, which decides and names the fault; both
give the same event.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any

import orjson

from .chunk import CHUNK_TYPE, Chunk, RunKey
from .event import Draft, Event
from .gate import MAX_EVENT_BYTES, MAX_SAFE_INTEGER
from .jsontext import type_of

__all__ = ["hot_chunk", "hot_chunks"]

# A text of at most this many characters can't reach the size limit, however it is escaped.
_SMALL_TEXT = MAX_EVENT_BYTES // 16

_NONE = type(None)
_KINDS = {"text-delta", "reasoning-delta"}
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
        run_key = RunKey(turn, step, index, kind)
        return Event(CHUNK_TYPE, seq, time_ms, False, None, None, Chunk(run_key, text))
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
        and types.count(CHUNK_TYPE) == len(types)
        and True not in ignorables
    ):
        return None
    columns = _columns(datas)
    if columns is None:
        return None
    run_keys, texts = columns
    if _all(times, _NONE):
        times = (now_ms,) * len(times)
    elif not _distinct(times, -MAX_SAFE_INTEGER):
        return None
    return list(
        map(
            Event,
            repeat(CHUNK_TYPE),
            range(seq, seq + len(times)),
            times,
            repeat(False),
            repeat(None),
            repeat(None),
            map(Chunk, run_keys, texts),
        )
    )


def _columns(datas: Sequence[dict[Any, Any]]) -> tuple[Iterable[RunKey], list[str]] | None:
    """The run keys and the texts of data that are all plain deltas, else None."""
    try:
        # orjson takes no key but an exact str, and finds out faster than a look at each of them.
        orjson.dumps(datas, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
        turns = [data["turn"] for data in datas]
        steps = [data["step"] for data in datas]
        chunks = [data["chunk"] for data in datas]
        if not _all(chunks, dict):
            return None
        kinds = [chunk["type"] for chunk in chunks]
        indexes = [chunk["index"] for chunk in chunks]
        texts = [chunk["text"] for chunk in chunks]
        # Each has the three keys, so that three on average is three in each.
        if not sum(map(len, datas)) == sum(map(len, chunks)) == 3 * len(datas):
            return None
    except (KeyError, TypeError):
        return None
    if not (_all(kinds, str) and _all(texts, str) and max(map(len, texts)) <= _SMALL_TEXT):
        return None
    kind_set = set(kinds)
    turn_set, step_set = _distinct(turns, 0), _distinct(steps, 0)
    index_set = _distinct(indexes, -MAX_SAFE_INTEGER)
    if not (kind_set <= _KINDS and turn_set and step_set and index_set):
        return None
    if len(turn_set) == len(step_set) == len(kind_set) == 1:
        of_index = {index: RunKey(turns[0], steps[0], index, kinds[0]) for index in index_set}
        return map(of_index.__getitem__, indexes), texts
    keys = list(zip(turns, steps, indexes, kinds, strict=True))
    of_key = {key: RunKey(*key) for key in set(keys)}
    return map(of_key.__getitem__, keys), texts


def _all(values: Sequence[Any], kind: type) -> bool:
    return list(map(type, values)).count(kind) == len(values)


def _distinct(values: Sequence[Any], least: int) -> set[int]:
    """The distinct values; empty unless all are exact integers in the range."""
    if not _all(values, int):
        return set()
    distinct = set(values)  # few, and hashing beats comparing
    return distinct if least <= min(distinct) and max(distinct) <= MAX_SAFE_INTEGER else set()
