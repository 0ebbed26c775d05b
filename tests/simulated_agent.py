"""A small random agent: writes well-formed logs as drafts, from a seeded random source.

What it writes keeps every rule of semantics.md: restore takes it, no relation breaks, each call has
one result, and the inbox folds. Texts are nasty, times step back, lifetimes end in crashes.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from tests.log_writer import LogWriter, Value
from turnlog.events.event import Draft

__all__ = ["Agent"]

_OUTCOME_UNKNOWN = {"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"}
_NOT_STARTED = {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}
_ARGUMENTS = ("{}", '{"path":"a.txt"}', '{"cut":"in a val', "", "7", "[" * 50)
_REASONS: tuple[Value, ...] = (
    {"kind": "completed"},
    {"kind": "blocked"},
    {"kind": "max-tokens"},
    {"kind": "interrupted"},
    {"kind": "aborted", "reason": {"kind": "user"}},
    {"kind": "aborted", "reason": {"kind": "hook", "reason": "no"}},
    {"kind": "error", "error": {"message": "boom", "code": "E", "more": [1]}},
    {"kind": "another", "free": True},
)


class Agent(LogWriter):
    """Writes turns and what happens between them."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.seed_length: int | None = None
        self._inbox: dict[str, list[Value]] = {"next-turn": [], "next-step": []}
        self._turn = 0
        self._step = 0
        self._lifetime_has_header = False
        self._config: Value | None = None

    def run(self, events: int) -> None:
        """Write turns and what happens between them, until there are this many events or more."""
        actions = (
            *[self.turn] * 6,
            self.between,
            self.compact,
            self.queue,
            self.cancel,
            self.new_lifetime,
            self.noise,
        )
        while len(self.drafts) < events:
            self.random.choice(actions)()

    def fork(self) -> None:
        """Make all so far the inherited seed of a child, whose first event is the end-seed."""
        self.seed_length = len(self.drafts)
        self._inbox = {"next-turn": [], "next-step": []}
        self._end_seed()

    # --- turns and steps -------------------------------------------------------------------------

    def turn(self) -> None:
        """Write one turn, from start to end or to a crash with its repair."""
        if self.chance(0.5):
            self.queue()
        self._turn += 1
        self._step = 0
        self.add("turn/start", {"turn": self._turn})
        self._claim("next-step", len(self._inbox["next-step"]))
        self._claim("next-turn", 1)
        self.request_header()
        for _ in range(self.random.randint(0, 3)):
            if self.step():
                return
        self.add("turn/end", {"turn": self._turn, "reason": self.random.choice(_REASONS)})

    def step(self) -> bool:
        """Write one step; tell whether the process crashed in it."""
        self._step += 1
        self.add("step/start", self._place())
        self._claim("next-step", len(self._inbox["next-step"]))
        if self.chance(0.15):
            self._failed_attempt()
        chunks = self.stream()
        calls = [self.id("call") for _ in range(self.random.choice((0, 0, 1, 1, 2, 3)))]
        if self.chance(0.05) and not calls:
            return self._crash([], {})
        self.answer(calls, chunks)
        started = {each: self._tool_call(each) for each in calls if self.chance(0.85)}
        if self.chance(0.08):
            return self._crash(calls, started)
        self.random.shuffle(calls)
        for call_id in calls:
            self._result(call_id, started.get(call_id))
            if self.chance(0.15):
                self.queue()
        if self.chance(0.2):
            self.todo()
        if self.chance(0.2):
            self.prune_result()
        self.noise()
        self.add("step/end", self._place())
        return False

    def stream(self) -> list[int]:
        """Write the chunks of one attempt, in runs; give their seqs."""
        seqs = []
        for index in range(self.random.choice((0, 1, 1, 2))):
            kind = self.random.choice(("text", "reasoning", "tool-call"))
            seqs.append(self._chunk({"type": "block-start", "index": index, "blockType": kind}))
            head: Value = {"type": f"{kind}-delta", "index": index}
            if kind == "tool-call":
                head["id"] = self.id("call")
                if self.chance(0.5):
                    head["name"] = self.random.choice(("bash", ""))
            for _ in range(self.random.choice((1, 2, 3, 4, 7))):
                text = self.text()
                more = {"free": 1} if self.chance(0.03) else {}
                key = "argumentsDelta" if kind == "tool-call" else "text"
                seqs.append(self._chunk({**head, key: text, **more}))
            block = {"type": kind, "text": self.text()}
            seqs.append(self._chunk({"type": "block-end", "index": index, "block": block}))
        if seqs and self.chance(0.5):
            seqs.append(self._chunk({"type": "usage", "usage": {"outputTokens": 7}}))
            seqs.append(self._chunk({"type": "finish", "reason": "stop"}))
        return seqs

    def answer(self, calls: Iterable[str], chunks: list[int]) -> int:
        """Write the step's assistant message, which names the calls."""
        content: list[Value] = [{"type": "text", "text": self.text()}] if self.chance(0.7) else []
        if self.chance(0.2):
            content.insert(0, {"type": "reasoning", "text": self.text(), "signature": "s"})
        for call_id in calls:
            arguments = self.random.choice(_ARGUMENTS)
            block = {"type": "tool-call", "id": call_id, "name": "bash", "arguments": arguments}
            content.append(block)
        source = {"kind": "model", "provider": "p", "model": "m"}
        data = self._place() | {"message": self.message("assistant", source, content)}
        if self.chance(0.6):
            data["usage"] = {"inputTokens": 3, "outputTokens": self.random.choice((0, 2, 1.5))}
        if self.chance(0.1):
            data["interrupted"] = True
        sources = chunks if self.chance(0.8) else None
        return self.add("assistant/message", data, surface="append", sources=sources)

    def todo(self) -> None:
        """Write a list of todos."""
        statuses = ("pending", "in_progress", "completed")
        todos = [
            {"content": self.text(), "status": self.random.choice(statuses)}
            for _ in range(self.random.randint(0, 3))
        ]
        self.add("todo/write", {"todos": todos})

    def request_header(self) -> None:
        """Log the request's header and context where the rules ask for it."""
        fresh: Value = {"provider": "p", "model": self.random.choice(("m", "n"))}
        if self.chance(0.3):
            fresh |= {"reasoningEffort": "high", "maxTokens": 100, "temperature": 0.5}
        if self._config is not None and self._lifetime_has_header and fresh == self._config:
            return
        reason = "change" if self._lifetime_has_header else "resume"
        self._lifetime_has_header = True
        header: Value = {"config": fresh, "system": self.text(), "tools": [{"name": "bash"}]}
        if "maxTokens" in fresh:
            header["adapterDefaults"] = {"maxTokens": True}
        reason = "initial" if self._config is None else reason
        self._config = fresh
        self.add("request/header", {"header": header, "reason": reason})
        context: Value = {"provider": "p", "model": fresh["model"]}
        if self.chance(0.5):
            context["contextWindow"] = self.random.choice((0, 128_000))
        self.add("request/context", context)

    # --- between turns ---------------------------------------------------------------------------

    def between(self) -> None:
        """Write an injected message, or a person's outside a turn."""
        kind = self.random.choice(("user", "plugin"))
        self.user({"kind": kind, "form": "snapshot"})

    def compact(self) -> None:
        """Replace a range of the Surface by a summary; ranges split no call from its result."""
        if not self.surface:
            return
        start, end = self._whole_range()
        shadowed = self.surface[start : end + 1]
        bracket = {"compactionId": self.id("compaction"), "turn": self._turn}
        self.add("compaction/start", bracket)
        summary = bracket | {
            "summary": [{"type": "text", "text": "s"}],
            "shadowedRange": {"start": shadowed[0], "end": shadowed[-1]},
            "shadowedSeqs": shadowed,
            "shadowedTokenCount": 10,
            "provider": "p",
            "model": "m",
        }
        seq = self.add("compaction/summary", summary)
        replace = {"op": "replace", "start": shadowed[0], "end": shadowed[-1]}
        sources = [*shadowed, seq]
        self.random.shuffle(sources)
        self.user({"kind": "compaction"}, surface=replace, sources=sources)
        self.add("compaction/end", bracket)

    def prune_result(self) -> None:
        """Replace a result on the Surface by one with another content; needs an open turn."""
        results = [seq for seq in self.surface if self.drafts[seq].type == "tool/result"]
        if not results:
            return
        seq = self.random.choice(results)
        data = self.drafts[seq].data
        block = data["message"]["content"][0] | {"content": [{"type": "text", "text": "pruned"}]}
        data = data | {"message": data["message"] | {"content": [block]}}
        replace = {"op": "replace", "start": seq, "end": seq}
        self.add("tool/result", data, surface=replace, sources=[seq])

    def queue(self) -> None:
        """Put a message into the inbox, anywhere in one of its lists."""
        target = self.random.choice(("next-turn", "next-step"))
        pending = self._inbox[target]
        start = self.random.randint(0, len(pending))
        message = self.message("user", {"kind": "user"}, [{"type": "text", "text": self.text()}])
        pending.insert(start, message)
        splice = {"target": target, "start": start, "inserted": [message]}
        self.add("agent/inbox/spliced", splice)

    def cancel(self) -> None:
        """Take a message out of the inbox without using it."""
        target = self.random.choice(("next-turn", "next-step"))
        pending = self._inbox[target]
        if pending:
            start = self.random.randrange(len(pending))
            del pending[start]
            splice = {"target": target, "start": start, "removedCount": 1, "inserted": []}
            self.add("agent/inbox/spliced", splice | {"outcome": "canceled"})

    def new_lifetime(self) -> None:
        """End this process's life between turns; the log is opened again."""
        self._end_seed()

    def noise(self) -> None:
        """Write an event that no rule looks at, or none."""
        roll = self.random.random()
        if roll < 0.1:
            data = {"title": self.text(), "sourceSeqs": [], "source": {"kind": "model"}}
            self.add("session/title", data)
        elif roll < 0.15:
            self.add("x/unknown", self.text(), ignorable=True)
        elif roll < 0.2:
            self.add("plan/mode", {"": [None, True, -1.5, {"deep": [[[]]]}]})
        elif roll < 0.25:
            self.add("hook/invoked", None)

    def user(self, source: Value, **more: Any) -> int:
        """Write a user message; `more` are fields of the draft."""
        blocks: list[Value] = [{"type": "text", "text": self.text()}]
        if self.chance(0.1):
            blocks.append({"type": "image", "data": "AA=="})
        more = {"surface": "append", **more}
        return self.add("user/message", self.message("user", source, blocks), **more)

    # --- parts -----------------------------------------------------------------------------------

    def _place(self) -> Value:
        return {"turn": self._turn, "step": self._step}

    def _chunk(self, chunk: Value) -> int:
        return self.add("assistant/chunk", self._place() | {"chunk": chunk})

    def _tool_call(self, call_id: str) -> int:
        arguments = self.random.choice(_ARGUMENTS)
        call = {"callId": call_id, "name": "bash", "arguments": arguments}
        return self.add("tool/call", self._place() | call)

    def _result(
        self, call_id: str, started: int | None, error: Value | None = None, id: str | None = None
    ) -> None:
        if error is None and (started is None or self.chance(0.2)):
            error = _NOT_STARTED if started is None else {"name": "Failed", "code": "FAILED"}
        block: Value = {"type": "tool-result", "toolCallId": call_id, "content": []}
        block["content"] = [{"type": "text", "text": self.text()}]
        if error is not None:
            block["isError"] = True
        message = self.message("user", {"kind": "tool", "callId": call_id}, [block])
        if id is not None:
            message["id"] = id
        data = self._place() | {"message": message}
        if error is not None:
            data["error"] = error
        if self.chance(0.2):
            data["meta"] = {"exit": 0}
        sources = None if started is None else [started]
        self.add("tool/result", data, surface="append", sources=sources)

    def _failed_attempt(self) -> None:
        self.stream()
        retry = self._place() | {"retryId": self.id("retry")}
        more = {"provider": "p", "retry": 1, "maxRetries": 3, "error": {"message": "busy"}}
        self.add("llm/retry", retry | more)
        self.add("llm/retry-started", retry)

    def _crash(self, calls: list[str], started: dict[str, int]) -> bool:
        """End the process inside a step: the closing events of a repair, then a new lifetime."""
        for call_id in calls:
            error = _OUTCOME_UNKNOWN if call_id in started else _NOT_STARTED
            message_id = f"interrupted-tool-result-{call_id}-{len(self.drafts)}"
            self._result(call_id, started.get(call_id), error, message_id)
        self.add("step/end", self._place())
        self.add("turn/end", {"turn": self._turn, "reason": {"kind": "interrupted"}})
        self._end_seed()
        return True

    def _end_seed(self) -> None:
        self.add("session/end-seed", {})
        self._lifetime_has_header = False

    def _claim(self, target: str, most: int) -> None:
        pending = self._inbox[target]
        taken, pending[:most] = pending[:most], []
        if taken:
            splice = {"target": target, "start": 0, "removedCount": len(taken), "inserted": []}
            self.add("agent/inbox/spliced", splice)
        for message in taken:
            self.add("user/message", message, surface="append")

    def _whole_range(self) -> tuple[int, int]:
        """Give a random range of the Surface that holds a call if and only if its result."""
        nodes = [_calls_of(self.drafts[seq]) for seq in self.surface]
        start = self.random.randrange(len(nodes))
        end = min(start + self.random.randint(0, 5), len(nodes) - 1)
        while True:
            inside = set().union(*nodes[start : end + 1])
            touching = [i for i, calls in enumerate(nodes) if calls & inside]
            wider = min([start, *touching]), max([end, *touching])
            if wider == (start, end):
                return wider
            start, end = wider


def _calls_of(draft: Draft) -> set[str]:
    if draft.type == "tool/result":
        return {draft.data["message"]["source"]["callId"]}
    if draft.type == "assistant/message":
        blocks = draft.data["message"]["content"]
        return {block["id"] for block in blocks if block["type"] == "tool-call"}
    return set()
