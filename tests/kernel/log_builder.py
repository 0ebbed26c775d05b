"""Logs written event by event, and random ones, for tests of folds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from tests.strategies import agent_logs
from turnlog.events.event import Event
from turnlog.events.header import Header
from turnlog.events.rows import event_row, expand, pack
from turnlog.kernel.log import Log

__all__ = ["LogBuilder", "any_logs", "header_of", "message_of", "random_logs"]


def message_of(text: str, *, id: str = "m", role: str = "user", **source: Any) -> dict[str, Any]:
    """A message of one text block; its source is a person's unless told."""
    content = [{"type": "text", "text": text}] if text else []
    return {"id": id, "role": role, "source": source or {"kind": "user"}, "content": content}


def header_of(**config: Any) -> dict[str, Any]:
    """A request header; `system`, `tools` and `adapterDefaults` beside its config."""
    names = {"system", "tools", "adapterDefaults"} & config.keys()
    top: dict[str, Any] = {name: config.pop(name) for name in names}
    return {"config": {"provider": "p", "model": "m", **config}, **top}


class LogBuilder:
    """Writes a log; each method adds events and gives the seq of the last."""

    def __init__(self, **header: Any) -> None:
        self._header = Header.of({"version": 0, "id": "s", "createdAt": 0, **header})
        self._values: list[Any] = []
        self.time_ms = 1_000

    def add(self, type: str, data: Any, after_ms: int = 10, **envelope: Any) -> int:
        """Add any event, `after_ms` after the one before."""
        self.time_ms += after_ms
        seq = len(self._values)
        value = {"type": type, "seq": seq, "time": self.time_ms, "data": data}
        self._values.append(value | envelope)
        return seq

    def user(self, text: str, after_ms: int = 10, *, surface: Any = "append", **more: Any) -> int:
        """Add a user message; `more` may hold sourceEventSeqs and keys of its source."""
        sources = {k: more.pop(k) for k in ("sourceEventSeqs",) if k in more}
        data = message_of(text, id=f"u{len(self._values)}", **more)
        return self.add("user/message", data, after_ms, surfaceOp=surface, **sources)

    def begin(self, turn: int = 1, step: int = 1) -> int:
        """Start a turn, where the step is its first, and a step."""
        if step == 1:
            self.add("turn/start", {"turn": turn})
        return self.add("step/start", {"turn": turn, "step": step})

    def chunks(self, texts: Iterable[str], turn: int = 1, step: int = 1, after_ms: int = 10) -> int:
        """Add text deltas."""
        for text in texts:
            chunk = {"type": "text-delta", "index": 0, "text": text}
            self.add("assistant/chunk", {"turn": turn, "step": step, "chunk": chunk}, after_ms)
        return len(self._values) - 1

    def answer(
        self,
        text: str = "ok",
        turn: int = 1,
        step: int = 1,
        after_ms: int = 10,
        *,
        surface: Any = "append",
        **data: Any,
    ) -> int:
        """Add an assistant message; `data` may hold its usage."""
        source = {"kind": "model", "provider": "p", "model": "m"}
        message = message_of(text, id=f"a{len(self._values)}", role="assistant", **source)
        value = {"turn": turn, "step": step, "message": message, **data}
        return self.add("assistant/message", value, after_ms, surfaceOp=surface)

    def call(self, call_id: str, after_ms: int = 10, turn: int = 1, step: int = 1) -> int:
        """Add a tool call."""
        value = {"turn": turn, "step": step, "callId": call_id, "name": "read", "arguments": ""}
        return self.add("tool/call", value, after_ms)

    def result(self, call_id: str, after_ms: int = 10, turn: int = 1, step: int = 1) -> int:
        """Add a tool result."""
        message = {
            "id": f"r{len(self._values)}",
            "role": "user",
            "source": {"kind": "tool", "callId": call_id},
            "content": [{"type": "tool-result", "toolCallId": call_id, "content": []}],
        }
        value = {"turn": turn, "step": step, "message": message}
        return self.add("tool/result", value, after_ms, surfaceOp="append")

    def header(self, reason: str = "initial", **header: Any) -> int:
        """Add a request header; its config is a plain one unless told."""
        value = {"config": {"provider": "p", "model": "m"}, **header}
        return self.add("request/header", {"header": value, "reason": reason})

    def close(self, turn: int = 1, step: int = 1) -> int:
        """End the step and the turn."""
        self.add("step/end", {"turn": turn, "step": step})
        return self.add("turn/end", {"turn": turn, "reason": {"kind": "completed"}})

    def retry(self, turn: int = 1, step: int = 1, *, started: bool = True) -> int:
        """Add the failure of an attempt and, unless told, the start of the next."""
        seq = self.add("llm/retry", {"retryId": "r", "turn": turn, "step": step})
        if started:
            seq = self.add("llm/retry-started", {"retryId": "r", "turn": turn, "step": step})
        return seq

    def splice(
        self, target: str, start: int, removed: int = 0, inserted: Iterable[Any] = ()
    ) -> int:
        """Add an inbox splice."""
        data: dict[str, Any] = {"target": target, "start": start, "inserted": list(inserted)}
        if removed:
            data["removedCount"] = removed
        return self.add("agent/inbox/spliced", data)

    def log(self, *, packed: bool = True, end: int | None = None) -> Log:
        """The log of the events below `end` (exclusive), with or without packed rows."""
        rows = tuple(map(event_row, self._values[:end]))
        return Log(self._header, tuple(pack(expand(rows))) if packed else rows)

    def events(self) -> list[Event]:
        """Views of the events, new ones."""
        return [event_row(value).events()[0] for value in self._values]

    def __len__(self) -> int:
        return len(self._values)


_MOVES = [
    *("turn", "step", "user", "chunks", "tool-chunks", "answer", "replace", "call", "result"),
    *("header", "context", "title", "todo", "noise", "splice", "retry", "end-seed", "close"),
]


@st.composite
def random_logs(draw: st.DrawFn) -> LogBuilder:
    """A log whose Surface and inbox replay; its turns and steps are as they come."""
    seed_length = draw(st.sampled_from([None, 0, 4]))
    builder = LogBuilder(**({} if seed_length is None else {"seedLength": seed_length}))
    nodes: list[int] = []
    waiting: dict[str, list[str]] = {"next-turn": [], "next-step": []}
    turn, step = 1, 1
    for move in draw(st.lists(st.sampled_from(_MOVES), max_size=40)):
        pick = draw(st.integers(0, 5))
        gap_ms = draw(st.integers(-3, 9))
        match move:
            case "turn":
                turn, step = pick, 1
                builder.add("turn/start", {"turn": turn}, gap_ms)
            case "step":
                step = pick
                builder.add("step/start", {"turn": turn, "step": step}, gap_ms)
            case "user":
                kind = draw(st.sampled_from(["user", "plugin"]))
                nodes.append(builder.user(f"text {pick}", gap_ms, kind=kind))
            case "chunks":
                builder.chunks(["", "a", "", "b", "c"][:pick], turn, step, gap_ms)
            case "tool-chunks":
                chunk = {"type": "tool-call-delta", "index": 1, "id": "k", "argumentsDelta": ""}
                if pick % 2:
                    chunk["name"] = ""
                data = {"turn": turn, "step": step, "chunk": chunk}
                for _ in range(pick):
                    builder.add("assistant/chunk", data, gap_ms)
            case "answer":
                usage = draw(st.sampled_from([{}, {"usage": {"outputTokens": pick}}]))
                nodes.append(builder.answer("" if pick == 0 else "ok", turn, step, gap_ms, **usage))
            case "replace" if nodes:
                first = pick % len(nodes)
                shadowed = nodes[first : first + 1 + pick % 3]
                operation = {"op": "replace", "start": shadowed[0], "end": shadowed[-1]}
                seq = builder.user("summary", surface=operation, sourceEventSeqs=shadowed)
                nodes[first : first + len(shadowed)] = [seq]
            case "call":
                builder.call(f"k{pick}", gap_ms, turn, step)
            case "result":
                nodes.append(builder.result(f"k{pick}", gap_ms, turn, step))
            case "header":
                builder.header(system="s" * pick)
            case "context":
                builder.add("request/context", {"provider": "p", "model": f"m{pick}"})
            case "title":
                builder.add("session/title", {"title": f"title {pick}"})
            case "todo":
                todos = [{"content": f"task {n}", "status": "pending"} for n in range(pick)]
                builder.add("todo/write", {"todos": todos})
            case "noise":
                builder.add("plugin/noise", {"n": pick}, ignorable=True)
            case "splice" if len(builder) >= (seed_length or 0):
                target = draw(st.sampled_from(["next-turn", "next-step"]))
                ids = waiting[target]
                first = min(pick, len(ids))
                new = [f"p{len(builder)}-{n}" for n in range(pick % 3)]
                removed = len(ids[first : first + pick % 2])
                messages = [message_of("queued", id=name) for name in new]
                builder.splice(target, first, removed, messages)
                ids[first : first + removed] = new
            case "retry":
                builder.retry(turn, step, started=bool(pick))
            case "end-seed":
                builder.add("session/end-seed", {})
            case "close":
                builder.close(turn, step)
            case _:
                pass
    return builder


def any_logs() -> st.SearchStrategy[Log]:
    """Logs with packed rows: wild ones, and those of the simulated agent."""
    of_agent = agent_logs(60).map(lambda log: Log(log.header, tuple(log.rows)))
    return st.one_of(random_logs().map(LogBuilder.log), of_agent)
