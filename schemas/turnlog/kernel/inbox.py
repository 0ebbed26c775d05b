"""The inbox: two lists of pending user messages, folded from splices (semantics.md section 10)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from turnlog.events.error_text import shown
from turnlog.events.errors import BadSplice
from turnlog.events.event import Event
from turnlog.events.gate import is_seq
from turnlog.events.jsontext import dumps, loads

from .lenient import at, data_of, items_of, text_at
from .log import Log

__all__ = ["SPLICED", "Inbox", "InboxFold", "PendingMessage", "Target", "inbox", "repeated_id"]

SPLICED = "agent/inbox/spliced"

Target = Literal["next-turn", "next-step"]


class PendingMessage(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One user message that waits, put there by the splice at `seq`; immutable."""

    id: str
    seq: int
    _text: bytes

    @property
    def value(self) -> Any:
        """The message as JSON, a new copy each time."""
        return loads(self._text)

    def __repr__(self) -> str:
        return f"PendingMessage(id={self.id!r}, seq={self.seq})"


class Inbox(msgspec.Struct, frozen=True, eq=False, gc=False):
    """What waits for the next turn and for the next step, in order; immutable."""

    next_turn: tuple[PendingMessage, ...] = ()
    next_step: tuple[PendingMessage, ...] = ()

    def waiting(self, target: Target) -> tuple[PendingMessage, ...]:
        """The list of a target."""
        return self.next_turn if target == "next-turn" else self.next_step


class InboxFold:
    """The inbox of a growing log. Splices below the inherited seed are the parent's, not ours."""

    def __init__(self, seed_length: int | None) -> None:
        self._seed_length = seed_length or 0
        self._inbox = Inbox()

    def fold(self, event: Event) -> None:
        """Take the next event; all but splices change nothing.

        Raises BadSplice where a splice does not fit its list; the inbox is then as before.
        """
        if event.type == SPLICED and event.seq >= self._seed_length:
            self._inbox = _spliced(self._inbox, event.seq, data_of(event))

    @property
    def inbox(self) -> Inbox:
        """The inbox so far."""
        return self._inbox


def inbox(log: Log) -> Inbox:
    """Fold the inbox of a log from its splices after the inherited seed.

    Raises BadSplice naming the first splice that does not fit its list.
    """
    fold = InboxFold(log.header.seed_length)
    for row in log.rows:
        if not row.packed:
            for event in row.events():
                fold.fold(event)
    return fold.inbox


def repeated_id(inserted: Iterable[str], pending: Iterable[PendingMessage]) -> str | None:
    """The first id to insert that waits already or comes twice; None where none does."""
    seen = {message.id for message in pending}
    for message_id in inserted:
        if message_id in seen:
            return message_id
        seen.add(message_id)
    return None


def _spliced(before: Inbox, seq: int, data: Any) -> Inbox:
    """The inbox after one stored splice."""
    target, inserted = at(data, "target"), at(data, "inserted")
    if target != "next-turn" and target != "next-step":
        raise BadSplice(seq, "expected next-turn or next-step as target")
    if not isinstance(inserted, list):
        raise BadSplice(seq, "expected a list as inserted")
    waiting, other = before.next_turn, before.next_step
    if target == "next-step":
        waiting, other = other, waiting
    start = _count(seq, data, "start")
    end = start + (_count(seq, data, "removedCount") if "removedCount" in data else 0)
    if end > len(waiting):
        raise BadSplice(seq, f"expected a range within {len(waiting)}, found {start} to {end}")
    messages = tuple(_pending(seq, message) for message in items_of(inserted))
    kept = waiting[:start] + waiting[end:]
    repeated = repeated_id((message.id for message in messages), kept + other)
    if repeated is not None:
        raise BadSplice(seq, f"message {shown(repeated)} is pending already")
    after = waiting[:start] + messages + waiting[end:]
    return Inbox(after, other) if target == "next-turn" else Inbox(other, after)


def _count(seq: int, data: Any, key: str) -> int:
    value = at(data, key)
    if not is_seq(value):
        raise BadSplice(seq, f"expected a whole number from 0 as {key}")
    return int(value)


def _pending(seq: int, message: Any) -> PendingMessage:
    message_id = text_at(message, "id")
    if message_id is None:
        raise BadSplice(seq, "expected messages with a string as id in inserted")
    return PendingMessage(message_id, seq, dumps(message))
