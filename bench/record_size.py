"""The bytes of a record beside one Zstandard level 3 frame of the same rows.

bytes-large: key and value of all commits of 100 events of an agent's session; bytes-small: of
commits of one event each, as many bytes more at most. The session is turns of two steps: a message,
streamed reasoning and text, a streamed tool call, its result. Words are made up, 3,000 of them, the
frequent ones far more often than the others, as in a language.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator, Sequence

import zstandard

from bench.report import at_most
from turnlog.events import Draft, Row, encode_commit
from turnlog.events.commit import NO_HASH
from turnlog.log.commits import CommitMaker
from turnlog.log.settings import default_writer_info
from turnlog.session import Session

__all__ = ["run"]

Block = dict[str, object]

_MODEL = {"provider": "bench", "model": "made-up"}
_COMMITS = 200
_EVENTS = 100


def run() -> bool:
    """Print the two figures; gives whether both are ok."""
    session_id, maker = _maker()
    drafts = list(_agent(random.Random(1), _COMMITS * _EVENTS))
    sizes, frames = _sizes(session_id, maker, drafts, _EVENTS)
    ratios = [size / frame for size, frame in zip(sizes, frames, strict=True)]
    ok = at_most("bytes-large", [sum(sizes) / sum(frames)], "times", 1.2)
    print(f"#   bytes-large: single commits from {min(ratios):.2f} to {max(ratios):.2f}")
    sizes, frames = _sizes(session_id, maker, drafts[: 10 * _EVENTS], 1)
    more = [size - frame for size, frame in zip(sizes, frames, strict=True)]
    return ok & at_most("bytes-small", [max(more)], "B", 400)


def _sizes(
    session_id: str, maker: CommitMaker, drafts: Sequence[Draft], events: int
) -> tuple[list[int], list[int]]:
    """The bytes of each commit of so many events, and of a frame of its rows."""
    sizes, frames = [], []
    session = Session.create("bench")
    for at in range(0, len(drafts), events):
        start = session.next_seq
        session.append_all(drafts[at : at + events])
        rows = [row for row in session.log.rows if row.first_seq >= start]
        sizes.append(len(session_id) + len(encode_commit(maker.events(NO_HASH, rows))))
        frames.append(_frame(rows))
    return sizes, frames


def _agent(chance: random.Random, count: int) -> Iterator[Draft]:
    """So many events of an agent's session."""
    made = 0
    turn = 0
    while True:
        turn += 1
        for draft in _turn(chance, turn):
            yield draft
            made += 1
            if made == count:
                return


def _turn(chance: random.Random, turn: int) -> Iterator[Draft]:
    yield Draft("turn/start", {"turn": turn})
    asked = {"id": _id(chance), "role": "user", "source": {"kind": "user"}}
    yield Draft("user/message", {**asked, "content": [_text(chance, 40)]}, "append")
    call_id, arguments = _id(chance), " ".join(_words(chance, 30))
    for step in (1, 2):
        yield Draft("step/start", {"turn": turn, "step": step})
        blocks: list[Block] = []
        for index, kind in enumerate(("reasoning", "text")):
            words = _words(chance, chance.randrange(20, 120))
            for word in words:
                chunk = {"type": f"{kind}-delta", "index": index, "text": f"{word} "}
                yield _chunk(turn, step, chunk)
            blocks.append({"type": kind, "text": " ".join(words)})
        if step == 1:
            for word in arguments.split():
                chunk = {"type": "tool-call-delta", "index": 2, "id": call_id, "name": "read"}
                yield _chunk(turn, step, {**chunk, "argumentsDelta": word})
            call: Block = {"type": "tool-call", "id": call_id, "name": "read"}
            blocks.append({**call, "arguments": arguments})
        yield _message(chance, turn, step, "assistant", {"kind": "model"} | _MODEL, blocks)
        if step == 1:
            place = {"turn": turn, "step": step}
            called = {"callId": call_id, "name": "read", "arguments": arguments}
            yield Draft("tool/call", {**place, **called})
            content = [_text(chance, 80)]
            result: Block = {"type": "tool-result", "toolCallId": call_id, "content": content}
            source = {"kind": "tool", "callId": call_id}
            yield _message(chance, turn, step, "user", source, [result])
        yield Draft("step/end", {"turn": turn, "step": step})
    yield Draft("turn/end", {"turn": turn, "reason": {"kind": "completed"}})


def _message(
    chance: random.Random,
    turn: int,
    step: int,
    role: str,
    source: dict[str, str],
    content: list[Block],
) -> Draft:
    message = {"id": _id(chance), "role": role, "source": source, "content": content}
    name = "assistant/message" if role == "assistant" else "tool/result"
    return Draft(name, {"turn": turn, "step": step, "message": message}, "append")


def _chunk(turn: int, step: int, chunk: dict[str, object]) -> Draft:
    return Draft("assistant/chunk", {"turn": turn, "step": step, "chunk": chunk})


def _text(chance: random.Random, words: int) -> dict[str, object]:
    return {"type": "text", "text": " ".join(_words(chance, words))}


_VOCABULARY = [
    "".join(random.Random(n).choices(("ta", "re", "on", "mi", "se", "lo", "n", "s", "al"), k=k))
    for n in range(3_000)
    for k in (1 + n % 4,)
]
_WEIGHTS = [1 / (rank + 2) for rank in range(len(_VOCABULARY))]


def _words(chance: random.Random, count: int) -> list[str]:
    return chance.choices(_VOCABULARY, _WEIGHTS, k=count)


def _id(chance: random.Random) -> str:
    return f"{chance.getrandbits(96):024x}"


def _maker() -> tuple[str, CommitMaker]:
    session_id = uuid.uuid4().hex
    maker = CommitMaker("turnlog", session_id, uuid.uuid4().hex, default_writer_info())
    return session_id, maker


def _frame(rows: Sequence[Row]) -> int:
    text = b"[" + b",\n".join([row.text for row in rows]) + b"]"
    return len(zstandard.ZstdCompressor(level=3).compress(text))
