"""The human transcript: what a reader follows, item by item, the same live and after a reload.

It shows what was appended, in log order, with a marker where a replace happened; a replace takes
nothing away. Items have a key that is fixed from their first event on, so pages and the live tail
join without a gap or a double.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from turnlog.events.chunk import CHUNK_TYPE
from turnlog.events.event import Event
from turnlog.events.gate import MAX_SAFE_INTEGER, is_seq
from turnlog.events.header import Header
from turnlog.events.jsontext import is_object
from turnlog.events.vocabulary import SURFACE_TYPES

from .anchors import OWN_ITEM, ItemKey, OpenItem, Span, SpanList
from .late import LATE_RESULT
from .lenient import at, data_of, number_at, text_at
from .log import Log
from .stream import AttemptTracker
from .stream_attempt import OpenAttempt, StreamAttempt
from .surface_history import SurfaceHistory
from .tool_card import CardTracker, OpenCard, ToolCard
from .transcript_items import LineageMarker, MessageItem, Price, ReplaceMarker, TurnEnd

__all__ = ["Item", "TranscriptFold", "transcript"]

Item = MessageItem | ToolCard | StreamAttempt | ReplaceMarker | TurnEnd | LineageMarker
"""One transcript item: all have `key`, `spans` and `final`."""

_PRICES = frozenset({"compaction/summary", "compaction/prune"})
_READS_DATA = (
    SURFACE_TYPES | _PRICES | {CHUNK_TYPE, "llm/retry", "tool/call", LATE_RESULT, "turn/end"}
)


class TranscriptFold:
    """The transcript of a growing session.

    `fold` tells which items an event begins or changes; `item` gives one as it stands, `items` all
    that are held. `settle` hands out and forgets the leading items that can't change any more: call
    it now and then, or the fold holds the whole session. A malformed event never stops the fold:
    its item says what is missing when that is read.
    """

    def __init__(self, header: Header) -> None:
        self._lineage = _lineage_marker(header)
        self._history = SurfaceHistory()
        self._attempts = AttemptTracker()
        self._cards = CardTracker()
        self._price: Price | None = None
        self._held: deque[Item | OpenCard | OpenAttempt] = deque()
        self._by_key: dict[ItemKey, Item | OpenCard | OpenAttempt] = {}

    @property
    def held_from(self) -> int | None:
        """The anchor of the first item that is held; None where none is."""
        return self._held[0].key.seq if self._held else None

    def fold(self, event: Event) -> list[ItemKey]:
        """Take the next event; gives the keys of the items that it begins or changes."""
        touched: list[Item | OpenCard | OpenAttempt] = []
        if self._lineage is not None and event.seq >= self._lineage.key.seq:
            touched.append(self._lineage)
            self._lineage = None
        if event.chunk is not None:
            touched += self._attempts.take(event, None)
        else:
            data = data_of(event) if event.type in _READS_DATA else None
            touched += self._attempts.take(event, data)
            touched += self._items_of(event, data)
        for entry in touched:
            if isinstance(entry, OpenItem):
                if entry.held:
                    continue
                entry.held = True
            self._by_key[entry.key] = entry
            self._held.append(entry)
        return [entry.key for entry in touched]

    def item(self, key: ItemKey) -> Item | None:
        """The item of a key as it stands now; None where it is not held."""
        entry = self._by_key.get(key)
        return None if entry is None else _item_of(entry)

    def items(self) -> list[Item]:
        """The items that are held as they stand now, in transcript order, a new list."""
        return [_item_of(entry) for entry in self._held]

    def settle(self) -> list[Item]:
        """Give and forget the final items that no open one stands before."""
        settled: list[Item] = []
        while self._held and self._held[0].final:
            entry = self._held.popleft()
            self._by_key.pop(entry.key, None)
            settled.append(_item_of(entry))
        return settled

    def _items_of(self, event: Event, data: Any) -> list[Item | OpenCard]:
        self._history.fold(event)
        if event.type in _PRICES:
            self._price = Price(event.seq, event.type, number_at(data, "shadowedTokenCount"))
        if event.type in SURFACE_TYPES and is_object(replace := event.surface_value):
            return [self._replace_marker(event, replace)]
        items: list[Item | OpenCard] = []
        if event.type == "user/message" or event.type == "assistant/message":
            items.append(_message_item(event, data))
        elif event.type == "turn/end":
            items.append(_turn_end(event, data))
        return [*items, *self._cards.take(event, data)]

    def _replace_marker(self, event: Event, operation: dict[str, Any]) -> ReplaceMarker:
        spans = SpanList()
        price = self._price
        if price is not None and price.seq == event.seq - 1:
            spans.add(price.seq)
        else:
            price = None
        spans.add(event.seq)
        return ReplaceMarker(
            ItemKey(event.seq, OWN_ITEM),
            spans.spans(),
            event.type,
            event.time_ms,
            event.text,
            _seq_or_none(operation.get("start")),
            _seq_or_none(operation.get("end")),
            self._history.shadowed(event.seq),
            self._history.refusal(event.seq),
            price,
        )


def transcript(log: Log, start: int = 0, end: int | None = None) -> Iterator[Item]:
    """Give the items anchored from `start` (inclusive) to `end` (exclusive; None: no bound).

    Each item is as the **whole** log has it, wherever the page ends: pages of any partition joined
    equal the whole. For the state as of a seq, take the transcript of `log.prefix(seq)`. Streams,
    and reads from the log's start to where no item of the page can change any more. With bounds the
    log must be dense.
    """
    fold = TranscriptFold(log.header)
    low = start if start > 0 else -MAX_SAFE_INTEGER  # a damaged log may hold negative seqs
    for event in log.events():
        fold.fold(event)
        for item in fold.settle():
            if end is not None and item.key.seq >= end:
                return
            if item.key.seq >= low:
                yield item
        held_from = fold.held_from
        if end is not None and event.seq >= end - 1 and (held_from is None or held_from >= end):
            return
    for item in fold.items():
        if low <= item.key.seq and (end is None or item.key.seq < end):
            yield item


def _seq_or_none(value: Any) -> int | None:
    return int(value) if is_seq(value) else None


def _item_of(entry: Item | OpenCard | OpenAttempt) -> Item:
    return entry.item() if isinstance(entry, OpenItem) else entry


def _lineage_marker(header: Header) -> LineageMarker | None:
    if header.parent_session is None and header.seed_length is None:
        return None
    key = ItemKey(header.seed_length or 0, 0)
    return LineageMarker(key, (), header.parent_session, header.seed_length, header.origin)


def _message_item(event: Event, data: Any) -> MessageItem:
    return MessageItem(
        ItemKey(event.seq, OWN_ITEM),
        (Span(event.seq, event.seq + 1),),
        event.type,
        event.time_ms,
        event.text,
        event.type == "assistant/message" and at(data, "interrupted") is True,
    )


def _turn_end(event: Event, data: Any) -> TurnEnd:
    return TurnEnd(
        ItemKey(event.seq, OWN_ITEM),
        (Span(event.seq, event.seq + 1),),
        event.time_ms,
        number_at(data, "turn"),
        text_at(data, "reason", "kind"),
        event.text,
    )
