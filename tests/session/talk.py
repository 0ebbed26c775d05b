"""What a harness says, for tests: messages and whole turns."""

from __future__ import annotations

from typing import Any

from turnlog.events import Draft, Event
from turnlog.session import Session

__all__ = ["HEADER", "assistant", "chunk", "result", "run_turn", "say", "user"]

HEADER = {"config": {"provider": "p", "model": "m"}, "system": "be brief"}


def user(id: str, text: str = "hello") -> dict[str, Any]:
    """A person's message."""
    content = [{"type": "text", "text": text}]
    return {"id": id, "role": "user", "source": {"kind": "user"}, "content": content}


def assistant(id: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    """A model's message of blocks; of one text block where none is given."""
    return {
        "id": id,
        "role": "assistant",
        "source": {"kind": "model", "provider": "p", "model": "m"},
        "content": list(blocks) or [{"type": "text", "text": "done"}],
    }


def result(id: str, call_id: str, text: str = "ok") -> dict[str, Any]:
    """A tool's result."""
    content = [{"type": "text", "text": text}]
    block = {"type": "tool-result", "toolCallId": call_id, "content": content}
    return {
        "id": id,
        "role": "user",
        "source": {"kind": "tool", "callId": call_id},
        "content": [block],
    }


def chunk(text: str, turn: int = 1, step: int = 1) -> Draft:
    """A delta of streamed text."""
    delta = {"type": "text-delta", "index": 0, "text": text}
    return Draft("assistant/chunk", {"turn": turn, "step": step, "chunk": delta})


def say(session: Session, id: str, text: str = "hello") -> Event:
    """Append a person's message."""
    return session.append("user/message", user(id, text), surface="append")


def run_turn(session: Session, turn: int = 1) -> None:
    """Append one whole turn: a question, a streamed answer."""
    session.append("turn/start", {"turn": turn})
    say(session, f"u{turn}")
    session.append(
        "request/header", {"header": HEADER, "reason": "initial" if turn == 1 else "resume"}
    )
    session.append("step/start", {"turn": turn, "step": 1})
    deltas = session.append_all([chunk(f"word {i} ", turn) for i in range(5)])
    session.append(
        "assistant/message",
        {"turn": turn, "step": 1, "message": assistant(f"a{turn}")},
        surface="append",
        sources=[delta.seq for delta in deltas],
    )
    session.append("step/end", {"turn": turn, "step": 1})
    session.append("turn/end", {"turn": turn, "reason": {"kind": "completed"}})
