"""A log while it is written: drafts, the Surface that they make, ids, times and nasty texts."""

from __future__ import annotations

from random import Random
from typing import Any

from turnlog.events.event import Draft

__all__ = ["TEXTS", "LogWriter", "Value"]

Value = dict[str, Any]

TEXTS = (
    "",
    " ",
    "plan",
    "Here is the plan",
    "two\nlines\r\nand\ttab",
    "nul \x00 inside",
    "six visible \\u0000",
    "line\u2028sep\u2029and\u0085nel",
    "\ufeffbom",
    "cut emoji \ud83d",
    "low \ude00 half",
    "whole emoji \U0001f600",
    "明天下午三点开项目评审会议",
    '{"type":"user/message","seq":0,"time":0,"data":{}}',
    '"}{"',
    "\x7f\x1b[2J",
    "x" * 300,
)


class LogWriter:
    """Writes one log; `drafts` is what it wrote, and a draft's index is its seq."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.drafts: list[Draft] = []
        self.surface: list[int] = []  # seqs now on the Surface
        self._time_ms = 1_700_000_000_000
        self._ids = 0

    def add(self, type: str, data: Any, **more: Any) -> int:
        """Write one event; `more` are fields of the draft. Gives its seq."""
        self._time_ms += self.random.choice((0, 0, 1, 5, 30, 1_000, -7))
        draft = Draft(type, data, time_ms=self._time_ms, **more)
        seq = len(self.drafts)
        self.drafts.append(draft)
        surface = draft.surface
        if surface == "append":
            self.surface.append(seq)
        elif isinstance(surface, dict):
            start, end = (self.surface.index(surface[key]) for key in ("start", "end"))
            self.surface[start : end + 1] = [seq]
        return seq

    def message(self, role: str, source: Value, content: list[Value]) -> Value:
        """Give a message with an id of its own."""
        return {"id": self.id("m"), "role": role, "source": source, "content": content}

    def text(self) -> str:
        """Give a text, nasty ones included."""
        return self.random.choice(TEXTS)

    def id(self, kind: str) -> str:
        """Give an id that this log has not used."""
        self._ids += 1
        return f"{kind}-{self._ids}"

    def chance(self, share: float) -> bool:
        """Tell whether something happens that happens in this share of the cases."""
        return self.random.random() < share
