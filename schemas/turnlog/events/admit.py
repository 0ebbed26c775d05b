"""The first two steps of the append gate: a draft becomes an event, or a typed error."""

from __future__ import annotations

from typing import Any

from .chunk import CHUNK_TYPE, Chunk, ChunkHead, chunk_of
from .errors import BadShape, TooLarge, UnregisteredType, shown
from .event import Draft, Event, Replace, parse_surface
from .gate import MAX_EVENT_BYTES, MAX_SAFE_INTEGER, lossless_copy
from .jsontext import dumps
from .shapes import check_core_shape, check_integers
from .vocabulary import CORE_TYPES, LEGACY_TYPES, PACKED_TYPES, Registry

__all__ = ["admit"]

# A delta text of at most this many characters can't reach the size limit, however it is escaped.
_SMALL_TEXT = MAX_EVENT_BYTES // 16


def admit(draft: Draft, seq: int, now_ms: int, registry: Registry) -> Event:
    """Check a draft as far as it can be without the log, and give the event that it would be.

    Lossless JSON first, then the envelope and the core shape (semantics.md section 2, steps 1 and
    2). The event is a private copy: later changes of the caller's value don't reach it. `now_ms`
    stands in where the draft names no time.

    Raises NotLossless, BadShape, UnregisteredType, TooLarge.
    """
    type_, data, surface, sources, ignorable, time_ms = draft
    # Types are looked at before values: a hostile object answers a comparison as it likes.
    if (
        type(type_) is str
        and type_ == CHUNK_TYPE
        and surface is None
        and sources is None
        and ignorable is False
    ):
        chunk = _hot_chunk(data)
        if chunk is not None and (time_ms is None or type(time_ms) is int):
            at_ms = now_ms if time_ms is None else time_ms
            if -MAX_SAFE_INTEGER <= at_ms <= MAX_SAFE_INTEGER:
                return Event(CHUNK_TYPE, seq, at_ms, False, None, None, chunk)
    return _admit_any(draft, seq, now_ms, registry)


def _hot_chunk(data: Any) -> Chunk | None:
    """Recognise a text or reasoning delta by its exact shape; None leaves it to the general gate.

    Copies the strings and numbers, which are immutable, and keeps no container of the caller's.
    """
    try:
        if type(data) is not dict or len(data) != 3:
            return None
        one, two, three = data
        if not (type(one) is str and type(two) is str and type(three) is str):
            return None
        turn, step, chunk = data["turn"], data["step"], data["chunk"]
        if type(chunk) is not dict or len(chunk) != 3:
            return None
        one, two, three = chunk
        if not (type(one) is str and type(two) is str and type(three) is str):
            return None
        kind, index, text = chunk["type"], chunk["index"], chunk["text"]
    except (KeyError, ValueError, RuntimeError):  # the last two: another thread changed a dict
        return None
    if (
        type(text) is str
        and len(text) <= _SMALL_TEXT
        and type(turn) is int
        and 0 <= turn <= MAX_SAFE_INTEGER
        and type(step) is int
        and 0 <= step <= MAX_SAFE_INTEGER
        and type(index) is int
        and -MAX_SAFE_INTEGER <= index <= MAX_SAFE_INTEGER
        and type(kind) is str
        and (kind == "text-delta" or kind == "reasoning-delta")
    ):
        return Chunk(ChunkHead(turn, step, index, kind), text)
    return None


def _admit_any(draft: Draft, seq: int, now_ms: int, registry: Registry) -> Event:
    type_, data, surface, sources, ignorable, time_ms = draft
    if type(surface) is Replace:
        surface = {"op": "replace", "start": surface.start, "end": surface.end}
    if type(sources) is tuple:
        sources = list(sources)
    value: Any = {
        "type": type_,
        "seq": seq,
        "time": now_ms if time_ms is None else time_ms,
        "data": data,
    }
    if surface is not None:
        value["surfaceOp"] = surface
    if sources is not None:
        value["sourceEventSeqs"] = sources
    if ignorable is not False:
        value["ignorable"] = ignorable
    value = lossless_copy(value)
    _check_envelope(value, registry)
    data = value["data"]
    check_core_shape(type_, data)
    check_integers(type_, data)
    own = registry.own.get(type_)
    if own is not None and own.shape is not None:
        own.shape(lossless_copy(data))
    text = dumps(value)
    if len(text) > MAX_EVENT_BYTES:
        raise TooLarge(len(text), MAX_EVENT_BYTES)
    return Event(
        type_,
        seq,
        value["time"],
        ignorable,
        value.get("surfaceOp"),
        value.get("sourceEventSeqs"),
        chunk_of(data) if type_ == CHUNK_TYPE and len(value) == 4 else None,
        [data],
        text,
    )


def _check_envelope(value: dict[str, Any], registry: Registry) -> None:
    type_ = value["type"]
    if type(type_) is not str or not type_:
        raise BadShape("type", "a non-empty string", shown(type_))
    if type_ in PACKED_TYPES:
        raise BadShape("type", "a type of an event", f"{type_!r}, which names a packed row")
    if type_ in LEGACY_TYPES:
        raise BadShape("type", "a supported type", f"the older form {type_!r}")
    if type(value["time"]) is not int:
        raise BadShape("time", "an integer of milliseconds", shown(value["time"]))
    if "ignorable" in value and value["ignorable"] is not True:
        raise BadShape("ignorable", "true or absent", shown(value["ignorable"]))
    for key in ("surfaceOp", "sourceEventSeqs"):
        if key in value and value[key] is None:
            raise BadShape(key, "an operation or nothing", "null")
    operation = value.get("surfaceOp")
    if operation is not None:
        parse_surface(operation)
        if type(operation) is dict and not (
            type(operation["start"]) is int and type(operation["end"]) is int
        ):
            raise BadShape("surfaceOp", "integers as start and end", "fractions")
    sources = value.get("sourceEventSeqs")
    if sources is not None and not (
        type(sources) is list and all(type(item) is int and item >= 0 for item in sources)
    ):
        raise BadShape("sourceEventSeqs", "a list of seqs", shown(sources))
    if type_ not in CORE_TYPES and not registry.knows(type_) and "ignorable" not in value:
        raise UnregisteredType(type_)
