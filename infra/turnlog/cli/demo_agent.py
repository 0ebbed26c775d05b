"""The demo's agent: plays a script through a real session, behind its barriers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnlog.events import Draft, Replace
from turnlog.kernel import header_to_log
from turnlog.session import Session

from .demo_script import HEADER, Call, Step, Turn

__all__ = ["Agent", "Tell"]

Tell = Callable[[str, str], None]
"""Hears what happens: who or what, and a text."""

_PROVIDER, _MODEL = HEADER["config"]["provider"], HEADER["config"]["model"]


class Agent:
    """Logs turns as a harness would; what a model and a tool would say, the script says.

    `body` is what each tool runs once its call is durable. Raises as Session's calls do.
    """

    def __init__(
        self, session: Session, tell: Tell, body: Callable[[Call], object] = lambda call: None
    ) -> None:
        self._session = session
        self._tell = tell
        self._body = body

    def turn(self, turn: Turn) -> None:
        """Log one turn; on return all of it is durable."""
        session = self._session
        session.append("turn/start", {"turn": turn.number})
        self._tell("user", turn.asks)
        session.append(
            "user/message",
            _message(f"u{turn.number}", "user", {"kind": "user"}, _text(turn.asks)),
            surface="append",
        )
        reason = header_to_log(session.log, HEADER)
        if reason is not None:
            session.append("request/context", {"provider": _PROVIDER, "model": _MODEL})
            session.append("request/header", {"header": HEADER, "reason": reason})
        for number, step in enumerate(turn.steps, start=1):
            with session.step(turn.number, number):
                self._step(turn.number, number, step)
        session.append("turn/end", {"turn": turn.number, "reason": {"kind": "completed"}})
        session.flush()

    def compact(self, turn: int, summary: str) -> None:
        """Put a summary in the place of all that the model sees; `turn` is the last one."""
        session = self._session
        shadowed = [message.seq for message in session.messages()]
        first, last = shadowed[0], shadowed[-1]
        bracket = {"compactionId": f"compaction-{turn}", "turn": turn}
        session.append("compaction/start", bracket)
        priced = session.append(
            "compaction/summary",
            {
                **bracket,
                "summary": _text(summary),
                "shadowedRange": {"start": first, "end": last},
                "shadowedSeqs": shadowed,
                "provider": _PROVIDER,
                "model": _MODEL,
            },
        )
        session.append(
            "user/message",
            _message(f"s{turn}", "user", {"kind": "compaction"}, _text(summary)),
            surface=Replace(first, last),
            sources=[*shadowed, priced.seq],
        )
        session.append("compaction/end", bracket)
        self._tell("compaction", f"{_messages(len(shadowed))} become: {summary}")

    def _step(self, turn: int, number: int, step: Step) -> None:
        session, call = self._session, step.call
        with session.model_call(session.request()) as request:
            durable = session.acknowledged_seq
            self._tell(
                "request", f"{_messages(len(request))} may leave: all {durable} events are durable"
            )
        self._answer(turn, number, step)
        self._tell("model", f"{step.says} ({len(step.says.split())} chunks)")
        if call is None:
            return
        with session.tool_call(turn, number, call.id, call.name, call.arguments) as began:
            self._tell(
                "tool", f"{call.name} {call.arguments}; event {began.seq} is durable: it may run"
            )
            self._body(call)
            self._tell("result", call.result)
            result = {"type": "tool-result", "toolCallId": call.id, "content": _text(call.result)}
            source = {"kind": "tool", "callId": call.id}
            session.append(
                "tool/result",
                {
                    "turn": turn,
                    "step": number,
                    "message": _message(f"r-{call.id}", "user", source, [result]),
                },
                surface="append",
                sources=[began.seq],
            )

    def _answer(self, turn: int, number: int, step: Step) -> None:
        """Stream an answer word by word, then log the message that it became."""
        session, call = self._session, step.call
        place = {"turn": turn, "step": number}
        words = [f"{word} " for word in step.says.split()]
        words[-1] = words[-1].rstrip()
        deltas = session.append_all(
            Draft(
                "assistant/chunk",
                {**place, "chunk": {"type": "text-delta", "index": 0, "text": word}},
            )
            for word in words
        )
        content = _text("".join(words))
        if call is not None:
            content.append(
                {
                    "type": "tool-call",
                    "id": call.id,
                    "name": call.name,
                    "arguments": call.arguments,
                }
            )
        source = {"kind": "model", "provider": _PROVIDER, "model": _MODEL}
        session.append(
            "assistant/message",
            {
                **place,
                "message": _message(f"a{turn}.{number}", "assistant", source, content),
                "usage": {"outputTokens": len(words)},
            },
            surface="append",
            sources=[delta.seq for delta in deltas],
        )


def _message(
    id: str, role: str, source: dict[str, str], content: list[dict[str, Any]]
) -> dict[str, Any]:
    return {"id": id, "role": role, "source": source, "content": content}


def _messages(count: int) -> str:
    return f"{count} message" if count == 1 else f"{count} messages"


def _text(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]
