"""The first two steps of the append gate: a draft becomes an event, or a typed error."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from .chunk import CHUNK_TYPE, chunk_of
from .error_text import shown
from .errors import BadShape, TooLarge, UnregisteredType
from .event import Draft, Event, Replace, parse_surface
from .gate import MAX_EVENT_BYTES, lossless_copy
from .hot_chunks import hot_chunk, hot_chunks
from .jsontext import dumps, is_list, is_object
from .shapes import check_core_shape, check_integers
from .vocabulary import CORE_TYPES, LEGACY_TYPES, PACKED_TYPES, Registry

__all__ = ["admit", "admit_all"]


def admit(draft: Draft, seq: int, now_ms: int, registry: Registry) -> Event:
    """Check a draft as far as it can be without the log, and give the event that it would be.

    Lossless JSON first, then the envelope and the core shape (semantics.md section 2, steps 1 and
    2). The event is a private copy: later changes of the caller's value don't reach it. `now_ms`
    stands in where the draft names no time.

    Raises NotLossless, BadShape, UnregisteredType, TooLarge.
    """
    type_, data, surface, sources, ignorable, time_ms = draft
    if (
        type(type_) is str
        and type_ == CHUNK_TYPE
        and surface is None
        and sources is None
        and ignorable is False
        and time_ms is None
    ):
        event = hot_chunk(data, seq, now_ms)
        if event is not None:
            return event
    return _admit_any(draft, seq, now_ms, registry)


def admit_all(drafts: Sequence[Draft], seq: int, now_ms: int, registry: Registry) -> list[Event]:
    """Check drafts of consecutive events as `admit` does, all of them or none."""
    if not all(map(isinstance, drafts, repeat(Draft))):
        raise BadShape("draft", "a Draft", "another type")
    if len(drafts) > 1:
        events = hot_chunks(drafts, seq, now_ms)
        if events is not None:
            return events
    return [admit(draft, at, now_ms, registry) for at, draft in enumerate(drafts, seq)]


def _admit_any(draft: Draft, seq: int, now_ms: int, registry: Registry) -> Event:
    type_, data, surface, sources, ignorable, time_ms = draft
    if type(surface) is Replace:
        surface = {"op": "replace", "start": surface.start, "end": surface.end}
    cited: Any = [*sources] if isinstance(sources, tuple) else sources
    value: Any = {
        "type": type_,
        "seq": seq,
        "time": now_ms if time_ms is None else time_ms,
        "data": data,
    }
    if surface is not None:
        value["surfaceOp"] = surface
    if cited is not None:
        value["sourceEventSeqs"] = cited
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
    operation = value.get("surfaceOp")
    if operation is not None:
        parse_surface(operation)
        if is_object(operation) and not (
            type(operation["start"]) is int and type(operation["end"]) is int
        ):
            raise BadShape("surfaceOp", "integers as start and end", "fractions")
    sources = value.get("sourceEventSeqs")
    if sources is not None and not (
        is_list(sources) and all(type(item) is int and item >= 0 for item in sources)
    ):
        raise BadShape("sourceEventSeqs", "a list of seqs", shown(sources))
    if type_ not in CORE_TYPES and not registry.knows(type_) and "ignorable" not in value:
        raise UnregisteredType(type_)
