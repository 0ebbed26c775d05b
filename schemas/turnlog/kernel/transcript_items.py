"""The transcript items that one event makes: messages, replace markers, turn ends, lineage.

All are immutable; JSON is held as the stored row and decoded at each access, a new copy each time.
Texts are as stored: a display escapes them at its own edge. `time_ms` is epoch milliseconds.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import msgspec

from .anchors import ItemKey, Span
from .lenient import at, required

__all__ = ["LineageMarker", "MessageItem", "Price", "ReplaceMarker", "TurnEnd"]


class _OfMessage(msgspec.Struct, frozen=True, gc=False):
    """An item of an event with a message; what the message lacks, only who reads that hears of."""

    final: ClassVar[bool] = True

    key: ItemKey
    spans: tuple[Span, ...]
    event_type: str
    time_ms: int
    _row: bytes

    @property
    def message(self) -> Any:
        """The message as JSON. Raises MissingField where the event has none."""
        return self._read()

    @property
    def role(self) -> Any:
        """`user` or `assistant`. Raises MissingField where it is missing, as the next two do."""
        return self._read("role")

    @property
    def source(self) -> Any:
        """Where the message comes from."""
        return self._read("source")

    @property
    def content(self) -> Any:
        """The content blocks."""
        return self._read("content")

    def _read(self, *path: str) -> Any:
        nested = () if self.event_type == "user/message" else ("message",)
        return required(self._row, self.key.seq, "data", *nested, *path)


class MessageItem(_OfMessage, frozen=True, gc=False):
    """A message that was appended, also one with empty content, which the model never sees."""

    interrupted: bool
    """Whether an assistant message was cut off."""

    @property
    def usage(self) -> Any:
        """The usage that the provider told with an assistant message; None where it told none."""
        data = required(self._row, self.key.seq, "data")
        return at(data, "usage")


class Price(NamedTuple):
    """The event directly before a replace that prices it; `token_count` None: it does not say."""

    seq: int
    event_type: str
    token_count: int | float | None


class ReplaceMarker(_OfMessage, frozen=True, gc=False):
    """A place where the model's view was cut: what was shadowed stays in the transcript above.

    `start` and `end` are the range's first and last seq, both included in Surface order, and
    `shadowed` all of it; `refusal` says why the Surface took no such replace, else None. `message`
    is what stands in the place of the range.
    """

    start: int | None
    end: int | None
    shadowed: tuple[int, ...]
    refusal: str | None
    price: Price | None


class TurnEnd(msgspec.Struct, frozen=True, gc=False):
    """The end of a turn; `turn` and `reason_kind` are None where the event does not say."""

    final: ClassVar[bool] = True

    key: ItemKey
    spans: tuple[Span, ...]
    time_ms: int
    turn: int | float | None
    reason_kind: str | None
    _row: bytes

    @property
    def reason(self) -> Any:
        """The reason as JSON. Raises MissingField where the event has none."""
        return required(self._row, self.key.seq, "data", "reason")


class LineageMarker(msgspec.Struct, frozen=True, gc=False):
    """The boundary between what a session inherited, the events below its key's seq, and its own.

    Has no events of its own; a field is None where the header lacks it.
    """

    final: ClassVar[bool] = True

    key: ItemKey
    spans: tuple[Span, ...]
    parent_session: str | None
    seed_length: int | None
    origin: str | None
