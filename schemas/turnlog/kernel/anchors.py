"""Where a transcript item stands in its log: its key, and the events that it is made of."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["OWN_ITEM", "ItemKey", "OpenItem", "Span", "SpanList"]

OWN_ITEM = 1
"""The ordinal of the item that an event makes by itself: 0 stands before it, 2 and up after."""


class ItemKey(NamedTuple):
    """The place of an item, fixed from its first event on: keys sort items into transcript order.

    `seq` is the anchor, by which pages are cut; `ordinal` tells apart what one event anchors: 0 the
    lineage marker before it, OWN_ITEM its own item, from 2 on the tool cards of its blocks.
    """

    seq: int
    ordinal: int


class Span(NamedTuple):
    """Consecutive events, by seq from `start` (inclusive) to `end` (exclusive)."""

    start: int
    end: int


class SpanList:
    """The events of one growing item, as spans; consecutive ones cost nothing."""

    __slots__ = ("_ends", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, seq: int) -> None:
        """Add the next event of the item."""
        if self._ends and self._ends[-1] == seq:
            self._ends[-1] = seq + 1
        else:
            self._starts.append(seq)
            self._ends.append(seq + 1)

    def spans(self) -> tuple[Span, ...]:
        """The spans so far, in log order."""
        return tuple(map(Span, self._starts, self._ends))


class OpenItem:
    """What all items have while they grow; `held` is for the transcript that holds it."""

    __slots__ = ("held", "key", "spans", "time_ms")

    def __init__(self, key: ItemKey, time_ms: int) -> None:
        self.key = key
        self.time_ms = time_ms
        self.spans = SpanList()
        self.held = False
