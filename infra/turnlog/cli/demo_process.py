"""The demo's other processes: one agent to be killed, one intruder, one that goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

from turnlog.events import OwnedElsewhere
from turnlog.log import KafkaSettings, KafkaStore
from turnlog.session import Session

from .demo_agent import Agent
from .demo_script import ASK_AGAIN, LOOK_UP, OTHER_WAY, SEND, SUMMARY, Call
from .demo_text import say

__all__ = ["IN_TOOL", "ROLES", "fork_of"]

IN_TOOL = "@in-tool"
"""The line that says to the demo: the tool's body runs, and waits to be killed."""


def fork_of(session_id: str) -> str:
    """The id of the demo's child session."""
    return f"{session_id}-fork"


def _begin(settings: KafkaSettings, session_id: str) -> None:
    """Run the agent into the tool in which it is killed."""
    with KafkaStore(settings) as store, store.create(session_id) as session:
        Agent(session, say).turn(LOOK_UP)
        Agent(session, say).compact(LOOK_UP.number, SUMMARY)
        Agent(session, say, _wait_for_death).turn(SEND)


def _wait_for_death(_: Call) -> None:
    print(IN_TOOL, flush=True)
    sys.stdin.read()
    raise KeyboardInterrupt  # the demo is gone, and nobody else will end this process


def _intrude(settings: KafkaSettings, session_id: str) -> None:
    """Try to write to a session that another process holds. Raises OwnedElsewhere."""
    with KafkaStore(settings) as store:
        try:
            session = store.open(session_id)
        except OwnedElsewhere as held:
            age = "unknown"
            if held.last_time_ms is not None:
                age = f"{max(0.0, time.time() - held.last_time_ms / 1000):.1f} s old"
            say(
                "told no",
                f"OwnedElsewhere: writer {held.writer[:8]} on {held.host} holds it; its last "
                f"commit is {age}",
            )
            raise
        session.detach()


def _go_on(settings: KafkaSettings, session_id: str) -> None:
    """Take the dead agent's session over, go on with it, and fork it where its first turn ended."""
    with KafkaStore(settings) as store:
        with store.open(session_id, take_over=True) as session:
            added = session.next_seq - session.first_live_seq
            say(
                "take-over",
                f"{session.first_live_seq} events restored, {added} appended by the repair",
            )
            Agent(session, say).turn(ASK_AGAIN)
            boundary = _end_of_turn(session, LOOK_UP.number)
            child = store.fork(session, boundary=boundary, child_id=fork_of(session_id))
        with child:
            say("fork", f"{child.id} inherits events 0 to {boundary}, turn {LOOK_UP.number}")
            Agent(child, say).turn(OTHER_WAY)


def _end_of_turn(session: Session, turn: int) -> int:
    ends = (event for event in session.log.events() if event.type == "turn/end")
    return next(event.seq for event in ends if event.data["turn"] == turn)


ROLES: Mapping[str, Callable[[KafkaSettings, str], None]] = MappingProxyType(
    {"begin": _begin, "intrude": _intrude, "go-on": _go_on}
)
"""What each process does, by the name that the demo starts it under. They raise TurnlogError."""
