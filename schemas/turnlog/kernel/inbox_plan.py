"""Changes of an inbox: each gives the splices to log and the messages that it takes out.

All are pure: they change nothing, the caller appends the drafts together, and the fold of those
events is the new inbox. An empty change has no drafts. A removal that is no claim is logged with
`outcome: "canceled"`. Rules: semantics.md section 10.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from typing import Any, NamedTuple

from turnlog.events.error_text import shown
from turnlog.events.errors import BadShape
from turnlog.events.event import Draft
from turnlog.events.shapes import check_message

from .inbox import SPLICED, Inbox, PendingMessage, Target, repeated_id

__all__ = [
    "InboxPlan",
    "plan_append",
    "plan_claim",
    "plan_clear",
    "plan_prepend",
    "plan_remove",
    "plan_replace",
    "plan_splice",
]

_TARGETS: tuple[Target, Target] = ("next-turn", "next-step")


class InboxPlan(NamedTuple):
    """The drafts to append, in order, and the messages that they remove or claim."""

    drafts: tuple[Draft, ...] = ()
    messages: tuple[PendingMessage, ...] = ()


def plan_splice(
    inbox: Inbox, target: Target, start: float, removed: float = 0, inserted: Iterable[Any] = ()
) -> InboxPlan:
    """Remove `removed` messages at `start` of a list and insert others there.

    A negative start counts from the end; start and count are clamped to the list, fractions cut.

    Raises BadShape for an unknown target, for a place or a count that is no number, for what is no
    user message, and for an id that would be pending twice.
    """
    if target not in _TARGETS:
        raise BadShape("target", "next-turn or next-step", shown(target))
    _check_number(start, "start")
    _check_number(removed, "removed")
    try:
        inserted = list(inserted)  # an iterator gives them once
    except TypeError:
        raise BadShape("inserted", "user messages", shown(inserted)) from None
    waiting = inbox.waiting(target)
    length = len(waiting)
    first = int(max(-length, min(length, start)))
    if first < 0:
        first += length
    count = int(max(0, min(length - first, removed)))
    for index, message in enumerate(inserted):
        check_message(message, "user", f"inserted[{index}]")
    kept = waiting[:first] + waiting[first + count :]
    other = inbox.waiting("next-step" if target == "next-turn" else "next-turn")
    repeated = repeated_id((message["id"] for message in inserted), kept + other)
    if repeated is not None:
        raise BadShape("inserted", "ids that are not pending", shown(repeated))
    if not count and not inserted:
        return InboxPlan()
    draft = _draft(target, first, count, inserted, canceled=True)
    return InboxPlan((draft,), waiting[first : first + count])


def plan_append(inbox: Inbox, target: Target, message: Any) -> InboxPlan:
    """Put a message at the end of a list. Raises BadShape as `plan_splice` does."""
    return plan_splice(inbox, target, len(inbox.waiting(target)), 0, [message])


def plan_prepend(inbox: Inbox, target: Target, message: Any) -> InboxPlan:
    """Put a message at the start of a list. Raises BadShape as `plan_splice` does."""
    return plan_splice(inbox, target, 0, 0, [message])


def plan_replace(inbox: Inbox, message_id: str, message: Any) -> InboxPlan:
    """Put a message in the place of the one with an id; an empty plan where none waits.

    Raises BadShape as `plan_splice` does.
    """
    found = _find(inbox, message_id)
    return InboxPlan() if found is None else plan_splice(inbox, *found, 1, [message])


def plan_remove(inbox: Inbox, message_id: str) -> InboxPlan:
    """Take out the message with an id; an empty plan where none waits."""
    found = _find(inbox, message_id)
    return InboxPlan() if found is None else plan_splice(inbox, *found, 1)


def plan_clear(inbox: Inbox) -> InboxPlan:
    """Take out all messages, those for the next step first."""
    step = plan_splice(inbox, "next-step", 0, len(inbox.next_step))
    turn = plan_splice(inbox, "next-turn", 0, len(inbox.next_turn))
    return InboxPlan(step.drafts + turn.drafts, step.messages + turn.messages)


def plan_claim(inbox: Inbox, target: Target) -> InboxPlan:
    """Take the messages that are due: all of next-step, and for a turn the first of next-turn too.

    Raises BadShape for an unknown target.
    """
    if target not in _TARGETS:
        raise BadShape("target", "next-turn or next-step", shown(target))
    drafts: list[Draft] = []
    messages = inbox.next_step
    if messages:
        drafts.append(_draft("next-step", 0, len(messages), [], canceled=False))
    if target == "next-turn" and inbox.next_turn:
        drafts.append(_draft("next-turn", 0, 1, [], canceled=False))
        messages += inbox.next_turn[:1]
    return InboxPlan(tuple(drafts), messages)


def _check_number(value: object, field: str) -> None:
    if not (type(value) is int or (type(value) is float and not isnan(value))):
        raise BadShape(field, "a number", shown(value))


def _draft(
    target: Target, start: int, removed: int, inserted: list[Any], *, canceled: bool
) -> Draft:
    data: dict[str, Any] = {"target": target, "start": start}
    if removed:
        data["removedCount"] = removed
    data["inserted"] = inserted
    if removed and canceled:
        data["outcome"] = "canceled"
    return Draft(SPLICED, data)


def _find(inbox: Inbox, message_id: str) -> tuple[Target, int] | None:
    for target in _TARGETS:
        for index, message in enumerate(inbox.waiting(target)):
            if message.id == message_id:
                return target, index
    return None
