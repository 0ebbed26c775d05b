"""The cost of the Messages at 10,000 nodes: after one more append, and after a replace."""

from __future__ import annotations

import statistics
import time

from bench.report import at_most
from turnlog.events import Replace
from turnlog.session import Session

_NODES = 10_000
_ROUNDS = 50


def run() -> bool:
    """Print the two figures, each the median of 50 rounds; gives whether both are ok."""
    session = Session.create("bench")
    for index in range(_NODES):
        _say(session, f"m{index}")
    session.messages()
    appends, replaces = [], []
    for index in range(_ROUNDS):
        _say(session, f"a{index}")
        appends.append(_messages_ms(session))
    for index in range(_ROUNDS):
        node = session.state.nodes[_NODES // 2 + index]
        _say(session, f"r{index}", Replace(node, node), [node])
        replaces.append(_messages_ms(session))
    ok = at_most("messages-append", [statistics.median(appends)], "ms", 1)
    return ok & at_most("messages-replace", [statistics.median(replaces)], "ms", 10)


def _say(
    session: Session, id: str, surface: str | Replace = "append", sources: list[int] | None = None
) -> None:
    message = {
        "id": id,
        "role": "user",
        "source": {"kind": "user"},
        "content": [{"type": "text", "text": f"message {id}"}],
    }
    session.append("user/message", message, surface=surface, sources=sources)


def _messages_ms(session: Session) -> float:
    start = time.perf_counter()
    session.messages()
    return (time.perf_counter() - start) * 1000
