"""A session as it came about: its items as they begin and change, its streams as they grow."""

from __future__ import annotations

import time

from turnlog.events import Event
from turnlog.events.header import Header
from turnlog.kernel import StreamAttempt, TranscriptFold

from .item_text import item_text, span_text
from .output import Output

__all__ = ["Pacer", "SessionPlayer"]

_LONGEST_S = 60.0


class Pacer:
    """Lets events pass at their recorded pace, `speed` times as fast; None: as fast as it goes.

    A pause longer than a minute becomes a minute; a clock that steps back none.
    """

    def __init__(self, speed: float | None) -> None:
        self._speed = speed
        self._last_ms: int | None = None

    def wait(self, time_ms: int) -> None:
        """Wait until an event of this time may pass."""
        last, self._last_ms = self._last_ms, time_ms
        if self._speed is not None and last is not None and time_ms > last:
            time.sleep(min((time_ms - last) / 1000 / self._speed, _LONGEST_S))


class SessionPlayer:
    """Prints one session event by event, over the kernel's transcript of the growing log."""

    def __init__(self, out: Output, header: Header) -> None:
        self._out = out
        self._fold = TranscriptFold(header)
        self._is_streaming = False

    def play(self, event: Event) -> None:
        """Take the next event."""
        if self._out.as_json:
            self._out.json(event.to_json())
            return
        keys = self._fold.fold(event)
        if event.chunk is not None:
            if not self._is_streaming:
                self._begin_stream(event)
            self._out.part(event.chunk.text)
            return
        for key in keys:
            item = self._fold.item(key)
            if item is None or (isinstance(item, StreamAttempt) and item.end is None):
                continue
            self._end_stream()
            of, text = item_text(item)
            self._out.line(f"{span_text(item.spans[-1:]):>7}  {of:<10}  {text}")
        self._fold.settle()

    def end(self) -> None:
        """End the line of an open stream."""
        self._end_stream()

    def _begin_stream(self, event: Event) -> None:
        chunk = event.chunk
        if chunk is not None:
            key = chunk.run_key
            kind = key.kind.removesuffix("-delta")
            self._out.part(f"{event.seq:>7}  {'stream':<10}  {key.turn:g}:{key.step:g} {kind}: ")
        self._is_streaming = True

    def _end_stream(self) -> None:
        if self._is_streaming:
            self._out.line()
            self._is_streaming = False
