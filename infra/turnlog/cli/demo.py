"""The demo's first process: a scripted agent whose session is logged on Kafka."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid

from turnlog.broker import ensure_topics
from turnlog.events import Draft
from turnlog.log import KafkaSettings, KafkaStore
from turnlog.session import Session

from .cluster import VARIABLE, named_cluster, reach
from .safe_text import safe

__all__ = ["run_demo"]

_HEADER = {
    "config": {"provider": "demo", "model": "scripted-1"},
    "system": "You are a careful assistant.",
    "tools": [{"name": "read", "description": "reads a file", "parameters": {"type": "object"}}],
}


def run_demo() -> None:
    """Log one session and have a second process restore it. Raises BrokerError."""
    cluster = named_cluster(os.environ)
    if cluster is None:
        print("Starting the embedded Kafka; the first start downloads it ...", flush=True)
    else:
        print(f"Connecting to {safe(cluster)}, as {VARIABLE} says ...", flush=True)
    server = reach(os.environ)
    settings = KafkaSettings(bootstrap=server)
    ensure_topics(settings.bootstrap, settings.namespace)
    print(f"Kafka answers at {server}, topic {settings.events_topic}.", flush=True)
    session_id = f"demo-{uuid.uuid4().hex[:8]}"
    with KafkaStore(settings) as store, store.create(session_id) as session:
        print(f"\nWriting session {session_id}:")
        _run_agent(session)
    print("\nA second process, which shares nothing with this one, restores it:\n", flush=True)
    subprocess.run(
        [sys.executable, "-m", "turnlog.cli", "demo-reader", server, session_id], check=True
    )


def _run_agent(session: Session) -> None:
    session.append("turn/start", {"turn": 1})
    session.append(
        "user/message",
        _message("u1", "user", {"kind": "user"}, _text("What does notes.txt say?")),
        surface="append",
    )
    session.append("request/header", {"header": _HEADER, "reason": "initial"})
    with session.step(1, 1):
        with session.model_call(session.request()) as request:
            _tell(session, f"the request of {len(request.messages)} message may leave")
        arguments = '{"path":"notes.txt"}'
        call: dict[str, object] = {
            "type": "tool-call",
            "id": "c1",
            "name": "read",
            "arguments": arguments,
        }
        _answer(session, 1, "a1", "Let me look at the file. ", call)
        with session.tool_call(1, 1, "c1", "read", arguments) as called:
            _tell(session, "the tool's body may run")
            found: dict[str, object] = {
                "type": "tool-result",
                "toolCallId": "c1",
                "content": _text("Buy milk."),
            }
            session.append(
                "tool/result",
                {
                    "turn": 1,
                    "step": 1,
                    "message": _message("r1", "user", {"kind": "tool", "callId": "c1"}, [found]),
                },
                surface="append",
                sources=[called.seq],
            )
    with session.step(1, 2):
        with session.model_call(session.request()) as request:
            _tell(session, f"the request of {len(request.messages)} messages may leave")
        _answer(session, 2, "a2", "It says that you should buy milk.")
    session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    session.flush()
    _tell(session, "the turn is over")


def _answer(session: Session, step: int, id: str, text: str, *calls: dict[str, object]) -> None:
    """Stream an answer word by word, then log the message that it became."""
    words = [f"{word} " for word in text.split()]
    deltas = session.append_all(
        Draft(
            "assistant/chunk",
            {
                "turn": 1,
                "step": step,
                "chunk": {"type": "text-delta", "index": 0, "text": word},
            },
        )
        for word in words
    )
    source = {"kind": "model", "provider": "demo", "model": "scripted-1"}
    session.append(
        "assistant/message",
        {
            "turn": 1,
            "step": step,
            "message": _message(id, "assistant", source, [*_text("".join(words)), *calls]),
            "usage": {"outputTokens": len(words)},
        },
        surface="append",
        sources=[delta.seq for delta in deltas],
    )


def _message(
    id: str, role: str, source: dict[str, str], content: list[dict[str, object]]
) -> dict[str, object]:
    return {"id": id, "role": role, "source": source, "content": content}


def _text(text: str) -> list[dict[str, object]]:
    return [{"type": "text", "text": text}]


def _tell(session: Session, what: str) -> None:
    print(f"  {session.acknowledged_seq:3} events are acknowledged: {safe(what)}")
