"""One event, as a read-only view, and the draft that a caller appends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from .chunk import CHUNK_TYPE, Chunk, chunk_of
from .error_text import shown
from .errors import BadRow, BadShape, MissingField
from .gate import is_integer, is_seq
from .jsontext import dumps, is_list, is_object, loads, type_of

__all__ = [
    "ENVELOPE_KEYS",
    "Draft",
    "Event",
    "Replace",
    "event_of_value",
    "read_draft",
    "row_bytes",
    "rows_bytes",
]

ENVELOPE_KEYS = frozenset(
    {"type", "seq", "time", "data", "surfaceOp", "sourceEventSeqs", "ignorable"}
)
"""The legal keys of an event; no other is."""


_DRAFT_KEYS = ENVELOPE_KEYS - {"seq"}


class Replace(NamedTuple):
    """The Surface operation that puts an event in the place of `start` to `end`, both included."""

    start: int
    end: int


class Draft(NamedTuple):
    """What a caller appends: an event without seq. `time_ms` None stands for the writer's clock."""

    type: str
    data: Any
    surface: str | Replace | dict[str, Any] | None = None
    sources: Sequence[int] | None = None
    ignorable: bool = False
    time_ms: int | None = None


class Event(msgspec.Struct, frozen=True, eq=False, gc=False, repr_omit_defaults=True):
    """One event of a log, read-only; `time_ms` is epoch milliseconds and is for display.

    An event read from a log may be malformed beyond type, seq and time: the property that reads
    what is not there says so, naming the seq. `chunk` is the delta of an event that a packed row
    can hold exactly, else None.
    """

    type: str
    seq: int
    time_ms: int
    ignorable: bool = False
    _surface: Any = None
    _sources: Any = None
    chunk: Chunk | None = None
    _fresh: list[Any] | None = None
    _text: bytes = b""

    @property
    def data(self) -> Any:
        """The data, a new copy each time.

        Raises MissingField where the stored event has none.
        """
        if self.chunk is not None:
            return self.chunk.data()
        if self._fresh:
            # The value decoded with the row is handed out once: a scan decodes each row once.
            try:
                return self._fresh.pop()
            except IndexError:  # another thread was given it meanwhile
                pass
        value = loads(self._text)
        if "data" not in value:
            raise MissingField(self.seq, "data")
        return value["data"]

    @property
    def appends(self) -> bool:
        """Whether the event goes to the end of the Surface."""
        return type(self._surface) is str and self._surface == "append"

    @property
    def surface(self) -> str | Replace | None:
        """The Surface operation.

        Raises BadShape where the stored one is malformed.
        """
        return parse_surface(self._surface)

    @property
    def sources(self) -> tuple[int, ...] | None:
        """The cited seqs; None where the event cites nothing.

        Raises BadShape where the stored list is malformed.
        """
        return parse_sources(self._sources)

    @property
    def surface_value(self) -> Any:
        """The Surface operation as stored, sound or not, a new copy each time; None for none."""
        return _copied(self._surface)

    @property
    def sources_value(self) -> Any:
        """The cited seqs as stored, sound or not, a new copy each time; None for none."""
        return _copied(self._sources)

    @property
    def text(self) -> bytes:
        """The event as one storage row: compact UTF-8 JSON without a line break."""
        return dumps(self.to_json()) if self.chunk is not None else self._text

    def to_json(self) -> Any:
        """The event as its JSON object, a new copy each time."""
        if self.chunk is None:
            return loads(self._text)
        return {
            "type": self.type,
            "seq": self.seq,
            "time": self.time_ms,
            "data": self.chunk.data(),
        }

    def __repr__(self) -> str:
        return f"Event(seq={self.seq}, type={self.type!r}, time_ms={self.time_ms})"


def row_bytes(event: Event) -> int:
    """Give the bytes of an event as a row, at most: of a delta without text yet a generous bound.

    Such a delta is of text or reasoning: it has no id and no name, which may be long.
    """
    text, chunk = event._text, event.chunk  # pyright: ignore[reportPrivateUsage]
    # An escaped character takes six bytes at most, the row around the text less than 300.
    return len(text) if text or chunk is None else 300 + 6 * len(chunk.text)


def rows_bytes(events: Sequence[Event]) -> int:
    """Give the bytes of events as `row_bytes` does: without a call for each, as it is hot."""
    return sum(
        [
            300 + 6 * len(chunk.text)
            if not (text := event._text)  # pyright: ignore[reportPrivateUsage]
            and (chunk := event.chunk) is not None
            else len(text)
            for event in events
        ]
    )


def event_of_value(value: Any, text: bytes) -> Event:
    """Make the view of one stored event; `text` is its row, `value` that row decoded and now ours.

    Only what every view needs is checked: an object with a string type and integer seq and time.
    Raises BadRow.
    """
    if not is_object(value):
        raise BadRow(f"expected an object, found {shown(value)}")
    kind: Any = value.get("type")
    seq: Any = value.get("seq")
    time: Any = value.get("time")
    if type(kind) is not str:
        raise BadRow(f"expected a string as type, found {shown(kind)}")
    if not is_integer(seq):
        raise BadRow(f"expected an integer as seq, found {shown(seq)}")
    if not is_integer(time):
        raise BadRow(f"expected an integer as time, found {shown(time)}")
    if kind == CHUNK_TYPE and len(value) == 4 and seq >= 0:
        chunk = chunk_of(value.get("data"))
        if chunk is not None:
            return Event(kind, int(seq), int(time), chunk=chunk, _text=text)
    return Event(
        kind,
        int(seq),
        int(time),
        value.get("ignorable") is True,
        value.get("surfaceOp"),
        value.get("sourceEventSeqs"),
        None,
        [value["data"]] if "data" in value else None,
        text,
    )


def _copied(value: Any) -> Any:
    """A copy of a stored value, which nobody else can change."""
    return loads(dumps(value)) if is_object(value) or is_list(value) else value


def read_draft(value: Any) -> Draft:
    """Read a draft's JSON: `{type, data, surfaceOp?, sourceEventSeqs?, ignorable?, time?}`.

    Raises BadShape for other keys, for a missing one, and for null where a key may be left out.
    """
    if not is_object(value):
        raise BadShape("draft", "an object", shown(value))
    for key in value:
        if key not in _DRAFT_KEYS:
            raise BadShape("draft", "the keys of a draft", shown(key))
    for key in ("type", "data"):
        if key not in value:
            raise BadShape(f"draft.{key}", "a value", "nothing")
    for key in ("surfaceOp", "sourceEventSeqs", "ignorable", "time"):
        if key in value and value[key] is None:
            raise BadShape(f"draft.{key}", "a value or no such key", "null")
    return Draft(
        value["type"],
        value["data"],
        value.get("surfaceOp"),
        value.get("sourceEventSeqs"),
        value.get("ignorable", False),
        value.get("time"),
    )


def parse_surface(value: Any) -> str | Replace | None:
    """Read a Surface operation: "append", a Replace or its JSON form, or None for none."""
    if value is None or (type(value) is str and value == "append"):
        return value
    if type(value) is Replace:
        value = {"op": "replace", "start": value.start, "end": value.end}
    if not is_object(value) or value.keys() != {"op", "start", "end"} or value["op"] != "replace":
        raise BadShape("surfaceOp", '"append" or {op: "replace", start, end}', shown(value))
    for key in ("start", "end"):
        if not is_seq(value[key]):
            raise BadShape(f"surfaceOp.{key}", "a seq", shown(value[key]))
    return Replace(int(value["start"]), int(value["end"]))


def parse_sources(value: Any) -> tuple[int, ...] | None:
    """Read a list of cited seqs; None for none."""
    if value is None:
        return None
    if type_of(value) is not list and type_of(value) is not tuple:
        raise BadShape("sourceEventSeqs", "a list of seqs", shown(value))
    for item in value:
        if not is_seq(item):
            raise BadShape("sourceEventSeqs", "a list of seqs", f"an item {shown(item)}")
    return tuple(map(int, value))
