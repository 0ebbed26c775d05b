"""What happens in the demo: who asks, what the model says, which tools it calls. Data alone."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

__all__ = [
    "ASK_AGAIN",
    "HEADER",
    "LOOK_UP",
    "OTHER_WAY",
    "SEND",
    "SUMMARY",
    "Call",
    "Step",
    "Turn",
]


class Call(NamedTuple):
    """A tool call of the model, `arguments` as its text, and what the tool gives."""

    id: str
    name: str
    arguments: str
    result: str


class Step(NamedTuple):
    """One answer of the model, streamed word by word, and the call that it ends in, if any."""

    says: str
    call: Call | None = None


class Turn(NamedTuple):
    """What the user asks, and the steps in which the agent answers."""

    number: int
    asks: str
    steps: tuple[Step, ...]


HEADER: Final[dict[str, Any]] = {
    "config": {"provider": "demo", "model": "scripted-1"},
    "system": "You are a careful assistant.",
    "tools": [
        {"name": name, "description": text, "parameters": {"type": "object"}}
        for name, text in (
            ("list_notes", "lists notes"),
            ("send_mail", "sends a mail"),
            ("list_sent", "lists the mails that were sent"),
        )
    ],
}
"""The request header of every model call; no model is asked."""

LOOK_UP: Final = Turn(
    1,
    "Which of my notes are due today?",
    (
        Step(
            "I will look at the notes.",
            Call("c1", "list_notes", '{"due":"today"}', "milk.txt: buy milk; ada.txt: mail Ada"),
        ),
        Step("Two are due: buy milk, and send Ada the plan by mail."),
    ),
)

SUMMARY: Final = "So far: two notes are due today, to buy milk and to mail Ada the plan."
"""What the model sees in the place of the first turn once that is compacted."""

SEND: Final = Turn(
    2,
    "Then send Ada the plan.",
    (
        Step(
            "I am sending it now.",
            Call("c2", "send_mail", '{"to":"ada@example.org","file":"plan.txt"}', "never logged"),
        ),
    ),
)
"""The turn in whose tool the process dies: the mail may be out, and nobody wrote that down."""

ASK_AGAIN: Final = Turn(
    3,
    "Did it go out?",
    (
        Step(
            "The call was cut off, so I look before I send it twice.",
            Call("c3", "list_sent", '{"to":"ada@example.org"}', "plan.txt, sent a moment ago"),
        ),
        Step("It did go out before the crash. I won't send it again."),
    ),
)

OTHER_WAY: Final = Turn(
    2,
    "And which of them can wait?",
    (Step("The milk can wait; Ada expects her mail today."),),
)
"""What the fork is asked after the first turn, as if the rest had never happened."""
