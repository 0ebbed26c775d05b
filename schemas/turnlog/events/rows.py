"""Storage rows: events as they are, and runs of delta chunks packed into one row.

The packed form, its member rule and its refusals: semantics.md section 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from .chunk import CHUNK_TYPE, Chunk, RunKey
from .errors import BadRow, BrokenLog, NotLossless
from .event import Event, event_of_value
from .gate import MAX_SAFE_INTEGER, is_integer, is_seq, stored_copy
from .jsontext import dumps, is_list, is_object, loads
from .packed import quick_packed
from .vocabulary import PACKED_TYPES

__all__ = [
    "MIN_RUN",
    "ChunkRun",
    "Row",
    "event_row",
    "expand",
    "pack",
    "parse_row",
    "row_of_value",
    "unpack_value",
]

MIN_RUN = 3
"""A run of fewer members is stored as its events: the packed row would not be shorter."""

_ROW_KEYS = {"type", "seq0", "time0", "data"}
_TEXT_DATA_KEYS = {"turn", "step", "index", "dt", "texts"}
_CALL_DATA_KEYS = {"turn", "step", "index", "id", "dt", "args"}
_NAMED_CALL_DATA_KEYS = _CALL_DATA_KEYS | {"name"}
_ROW_TYPE = {
    "text-delta": "text-chunks",
    "reasoning-delta": "reasoning-chunks",
    "tool-call-delta": "tool-call-chunks",
}
_KIND = {row_type: kind for kind, row_type in _ROW_TYPE.items()}


class Row(msgspec.Struct, frozen=True, gc=False):
    """One storage row: its JSON text without a line break, its first seq, its number of events."""

    text: bytes
    first_seq: int
    count: int = 1
    packed: bool = False

    def events(self) -> list[Event]:
        """The events of this row, new views each time."""
        value = loads(self.text)
        if self.packed:
            return _members(value)
        return [event_of_value(value, self.text)]

    def times_ms(self) -> tuple[int, int]:
        """The times of its first and its last event, epoch milliseconds."""
        value = loads(self.text)
        if not self.packed:
            return int(value["time"]), int(value["time"])
        first = int(value["time0"])
        return first, first + sum(map(int, value["data"]["dt"]))


class ChunkRun:
    """A growing run of delta chunks of one key, from which its rows are made.

    Mutable and cheap to add to; `rows` may be asked for at any time and changes nothing.
    """

    __slots__ = ("gaps", "last_time_ms", "next_seq", "run_key", "seq0", "texts", "time0_ms")

    def __init__(self, run_key: RunKey, seq: int, time_ms: int, text: str) -> None:
        self.run_key = run_key
        self.seq0 = seq
        self.time0_ms = time_ms
        self.next_seq = seq + 1
        self.last_time_ms = time_ms
        self.texts = [text]
        self.gaps: list[int] = []

    def take(self, event: Event) -> bool:
        """Add an event where it goes on the run, and tell whether it did."""
        chunk, time_ms = event.chunk, event.time_ms
        if chunk is None or event.seq != self.next_seq or chunk.run_key != self.run_key:
            return False
        gap = time_ms - self.last_time_ms
        if not -MAX_SAFE_INTEGER <= gap <= MAX_SAFE_INTEGER:
            return False
        self.texts.append(chunk.text)
        self.gaps.append(gap)
        self.last_time_ms = time_ms
        self.next_seq += 1
        return True

    def take_from(self, events: Sequence[Event], start: int) -> int:
        """Add the events from index `start` on as far as they go; gives where that ends."""
        run_key, next_seq, last_time_ms = self.run_key, self.next_seq, self.last_time_ms
        texts, gaps = self.texts, self.gaps
        index = start
        for index in range(start, len(events)):
            event = events[index]
            chunk, time_ms = event.chunk, event.time_ms
            if chunk is None or event.seq != next_seq:
                break
            if chunk.run_key is not run_key and chunk.run_key != run_key:
                break
            gap = time_ms - last_time_ms
            if not -MAX_SAFE_INTEGER <= gap <= MAX_SAFE_INTEGER:
                break
            texts.append(chunk.text)
            gaps.append(gap)
            last_time_ms = time_ms
            next_seq += 1
        else:
            index = len(events)
        self.next_seq, self.last_time_ms = next_seq, last_time_ms
        return index

    def rows(self) -> list[Row]:
        """The run as storage rows: one packed row, or fewer than MIN_RUN events."""
        count = len(self.texts)
        if count < MIN_RUN:
            times = accumulate(self.gaps, initial=self.time0_ms)
            return [
                _row_of_event(
                    Event(CHUNK_TYPE, self.seq0 + k, time_ms, chunk=Chunk(self.run_key, text))
                )
                for k, (time_ms, text) in enumerate(zip(times, self.texts, strict=True))
            ]
        run_key = self.run_key
        data: dict[str, Any] = {"turn": run_key.turn, "step": run_key.step, "index": run_key.index}
        if run_key.id is not None:
            data["id"] = run_key.id
            if run_key.name is not None:
                data["name"] = run_key.name
        data["dt"] = self.gaps
        data["texts" if run_key.id is None else "args"] = self.texts
        value = {
            "type": _ROW_TYPE[run_key.kind],
            "seq0": self.seq0,
            "time0": self.time0_ms,
            "data": data,
        }
        return [Row(dumps(value), self.seq0, count, packed=True)]


def parse_row(text: bytes) -> Row:
    """Read one storage row: a packed row is checked in full, an event for type, seq and time.

    Raises BadRow where the text is no JSON, neither of both, or no single line; nothing is ever
    dropped from a row.
    """
    if b"\n" in text:
        raise BadRow("expected one line, found a line end")
    quick = quick_packed(text)
    if quick is not None:
        return Row(text, *quick, packed=True)
    try:
        value = loads(text)
    except BrokenLog as error:
        raise BadRow(error.reason) from None
    return row_of_value(value, text)


def event_row(value: Any) -> Row:
    """Make the row of one event given as a JSON value, whatever its type.

    Raises BadRow, also where the value can't be written without loss.
    """
    try:
        value = stored_copy(value)
    except NotLossless as error:
        raise BadRow(str(error)) from None
    text = dumps(value)
    return Row(text, event_of_value(value, text).seq)


def row_of_value(value: Any, text: bytes) -> Row:
    """Make the row of a decoded value whose text is at hand. Raises as `parse_row` does."""
    if is_object(value):
        row_type = value.get("type")
        if type(row_type) is str and row_type in PACKED_TYPES:
            count = _check_packed(value)
            return Row(text, int(value["seq0"]), count, packed=True)
    event = event_of_value(value, text)
    return Row(text, event.seq)


def pack(events: Iterable[Event]) -> Iterator[Row]:
    """Pack events into rows: runs of MIN_RUN and more delta chunks become one row each.

    Streams: holds one run at a time. `expand` of the rows gives the events again.
    """
    run: ChunkRun | None = None
    for event in events:
        if run is not None:
            if run.take(event):
                continue
            yield from run.rows()
            run = None
        if event.chunk is not None:
            run = ChunkRun(event.chunk.run_key, event.seq, event.time_ms, event.chunk.text)
        else:
            yield _row_of_event(event)
    if run is not None:
        yield from run.rows()


def expand(rows: Iterable[Row]) -> Iterator[Event]:
    """Give the events of packed, unpacked or mixed rows, in row order; streams."""
    for row in rows:
        yield from row.events()


def unpack_value(value: Any) -> list[Any]:
    """Expand one stored JSON value: a packed row into its members' events, all else as it is.

    Raises BadRow for a malformed packed row.
    """
    if is_object(value) and type(value.get("type")) is str and value["type"] in PACKED_TYPES:
        _check_packed(value)
        return [event.to_json() for event in _members(value)]
    return [value]


def _row_of_event(event: Event) -> Row:
    return Row(event.text, event.seq)


def _members(value: dict[str, Any]) -> list[Event]:
    data = value["data"]
    kind = _KIND[value["type"]]
    call_id = data.get("id")
    run_key = RunKey(data["turn"], data["step"], data["index"], kind, call_id, data.get("name"))
    times = accumulate(map(int, data["dt"]), initial=int(value["time0"]))
    texts = data["texts" if call_id is None else "args"]
    return [
        Event(CHUNK_TYPE, seq, time_ms, chunk=Chunk(run_key, text))
        for seq, (time_ms, text) in enumerate(zip(times, texts, strict=True), int(value["seq0"]))
    ]


def _check_packed(value: dict[str, Any]) -> int:
    """Check a packed row in full and give its number of members. Raises BadRow."""
    row_type = value["type"]

    def refuse(reason: str) -> BadRow:
        return BadRow(f"malformed {row_type} row: {reason}")

    data = value.get("data")
    if value.keys() != _ROW_KEYS:
        raise refuse("expected exactly the keys type, seq0, time0 and data")
    is_call = row_type == "tool-call-chunks"
    if not is_object(data):
        raise refuse("expected an object as data")
    if is_call and (data.keys() == _CALL_DATA_KEYS or data.keys() == _NAMED_CALL_DATA_KEYS):
        if type(data["id"]) is not str or type(data.get("name", "")) is not str:
            raise refuse("expected a string as id and as name")
    elif is_call or data.keys() != _TEXT_DATA_KEYS:
        raise refuse("expected exactly the keys of its kind in data")
    if any(type(data[key]) not in (int, float) for key in ("turn", "step", "index")):
        raise refuse("expected a number as turn, step and index")
    texts, gaps = data["args" if is_call else "texts"], data["dt"]
    if not is_list(texts) or not texts or set(map(type, texts)) != {str}:
        raise refuse("expected one string or more as members")
    if not is_list(gaps) or len(gaps) != len(texts) - 1:
        raise refuse("expected one time gap fewer than members")
    if not is_seq(value["seq0"]) or value["seq0"] + len(texts) - 1 > MAX_SAFE_INTEGER:
        raise refuse("expected a seq as the seq of each member")
    if not is_integer(value["time0"]) or not _times_are_safe(value["time0"], gaps):
        raise refuse("expected an integer as the time of each member")
    return len(texts)


def _times_are_safe(time0: int | float, gaps: list[Any]) -> bool:
    if set(map(type, gaps)) <= {int}:
        # Plain integers add exactly, so the sums can be checked at once.
        if not gaps:
            return True
        if max(gaps) > MAX_SAFE_INTEGER or min(gaps) < -MAX_SAFE_INTEGER:
            return False
        times: list[int] = list(accumulate(gaps, initial=int(time0)))
        return min(times) >= -MAX_SAFE_INTEGER and max(times) <= MAX_SAFE_INTEGER
    if not all(map(is_integer, gaps)):
        return False
    return _times_are_safe(time0, list(map(int, gaps)))
