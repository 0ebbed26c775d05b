"""The relations between events as data: what each type asks of turn and step, and what it does.

The table is that of semantics.md section 6.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, NamedTuple

from turnlog.events.error_text import shown
from turnlog.events.gate import is_integer

__all__ = [
    "IN_SOME_TURN",
    "IN_STEP",
    "RELATIONS",
    "Counter",
    "Move",
    "Need",
    "Relation",
    "is_number",
]


class Need(Enum):
    """What an event asks of the turn, or of the step."""

    STARTS = auto()  # none is open, and the event has the next number
    NAMED = auto()  # one is open, and the event names it
    OPEN = auto()  # some is open
    CLOSED = auto()  # none is open
    FREE = auto()


class Move(Enum):
    """What an event does to the state."""

    OPEN_TURN = auto()
    CLOSE_TURN = auto()
    OPEN_STEP = auto()
    CLOSE_STEP = auto()
    CALL = auto()
    SETTLE = auto()
    NONE = auto()


class Relation(NamedTuple):
    """One type's needs and its move."""

    turn: Need
    step: Need
    move: Move = Move.NONE


IN_STEP = Relation(Need.NAMED, Need.NAMED)
IN_SOME_TURN = Relation(Need.OPEN, Need.FREE)

RELATIONS = {
    "turn/start": Relation(Need.STARTS, Need.FREE, Move.OPEN_TURN),
    "turn/end": Relation(Need.NAMED, Need.CLOSED, Move.CLOSE_TURN),
    "step/start": Relation(Need.NAMED, Need.STARTS, Move.OPEN_STEP),
    "step/end": Relation(Need.NAMED, Need.NAMED, Move.CLOSE_STEP),
    "assistant/chunk": IN_STEP,
    "assistant/message": IN_STEP,
    "tool/call": Relation(Need.NAMED, Need.NAMED, Move.CALL),
    "tool/result": Relation(Need.NAMED, Need.NAMED, Move.SETTLE),
    "todo/write": IN_SOME_TURN,
    "request/header": IN_SOME_TURN,
    "request/context": IN_SOME_TURN,
}
"""The relations by type; other types are free. A result that replaces has IN_SOME_TURN instead."""


class Counter:
    """The turns of a log, or the steps of a turn: which is open, and the number of the next.

    `next` is the open one's number until its end.
    """

    __slots__ = ("_name", "next", "open")

    def __init__(self, name: str) -> None:
        self._name = name
        self.open: int | None = None
        self.next = 1

    def fault(self, need: Need, number: Any) -> tuple[str, str] | None:
        """Tell which rule an event breaks that has this need and names this number, and why."""
        name = self._name
        if need is Need.FREE:
            return None
        if need is Need.STARTS or need is Need.CLOSED:
            if self.open is not None:
                return f"{name}-closed", f"expected no open {name}, found {name} {self.open}"
            if need is Need.STARTS and not is_number(number, self.next):
                return f"{name}-next", f"expected {name} {self.next}, found {shown(number)}"
            return None
        if self.open is None:
            return f"{name}-open", f"expected an open {name}, found none"
        if need is Need.NAMED and not is_number(number, self.open):
            return f"{name}-named", f"expected the open {name} {self.open}, found {shown(number)}"
        return None

    def start(self, number: Any) -> None:
        """Open what a start names; where that is no integer, the number that is due."""
        if is_integer(number):
            self.next = int(number)
        self.open = self.next

    def end(self) -> None:
        """Close what is open, if anything is."""
        if self.open is not None:
            self.open = None
            self.next += 1

    def copy(self) -> Counter:
        """A counter of its own in the same state."""
        other = Counter(self._name)
        other.open, other.next = self.open, self.next
        return other


def is_number(value: Any, expected: int) -> bool:
    """Tell whether a stored JSON value is this integer; 1.0 is 1, `true` is not."""
    return is_integer(value) and bool(value == expected)
