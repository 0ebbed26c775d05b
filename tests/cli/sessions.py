"""Sessions to show: a plain one, a hostile one, and one with a failed attempt."""

from __future__ import annotations

from tests.session.talk import HEADER, assistant, chunk, result, user
from turnlog.events import Replace
from turnlog.session import Session, SessionStore

__all__ = ["HOSTILE", "ODD_ID", "fill", "fill_hostile"]

HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\b\x9b31m\u202eevil\u2066\x00[red]<img src=x onerror=y>"
"""What would act on a terminal or in a page, if it were let."""

ODD_ID = "../odd id/\u202e[bold]\x7f"


def fill(session: Session) -> None:
    """Two turns: a call and its result, a failed attempt, a compaction."""
    session.append("turn/start", {"turn": 1})
    session.append("user/message", user("u1", "What is due?"), surface="append")
    session.append("request/header", {"header": HEADER, "reason": "initial"})
    session.append("step/start", {"turn": 1, "step": 1})
    session.append_all([chunk("Here is "), chunk("the "), chunk("plan")])
    retry = {"retryId": "r", "turn": 1, "step": 1, "provider": "p", "retry": 1, "maxRetries": 3}
    session.append("llm/retry", {**retry, "error": {"message": "overloaded"}})
    session.append("llm/retry-started", {"retryId": "r", "turn": 1, "step": 1})
    session.append_all([chunk("Here is "), chunk("the "), chunk("plan: look")])
    call = {"type": "tool-call", "id": "c1", "name": "look", "arguments": '{"at":"notes"}'}
    text = {"type": "text", "text": "Here is the plan: look"}
    message = assistant("a1", text, call)
    session.append(
        "assistant/message", {"turn": 1, "step": 1, "message": message}, surface="append"
    )
    began = session.append(
        "tool/call",
        {"turn": 1, "step": 1, "callId": "c1", "name": "look", "arguments": '{"at":"notes"}'},
    )
    session.append(
        "tool/result",
        {"turn": 1, "step": 1, "message": result("r1", "c1", "milk")},
        surface="append",
        sources=[began.seq],
    )
    session.append("step/end", {"turn": 1, "step": 1})
    session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    shown = [each.seq for each in session.messages()]
    summary = {**user("s1", "So far: milk."), "source": {"kind": "compaction"}}
    session.append("user/message", summary, surface=Replace(shown[0], shown[-1]), sources=shown)
    session.append("turn/start", {"turn": 2})
    session.append("todo/write", {"todos": [{"content": "buy milk", "status": "pending"}]})
    session.append("user/message", user("u2", "And then?"), surface="append")
    session.append("step/start", {"turn": 2, "step": 1})
    session.append_all([chunk("Then ", 2), chunk("buy ", 2), chunk("it", 2)])


def fill_hostile(store: SessionStore) -> str:
    """A session whose every text is hostile, under an odd id."""
    session = store.create(ODD_ID)
    title = {"title": HOSTILE, "sourceSeqs": [], "source": {"kind": "user"}}
    session.append("session/title", title)
    session.append("turn/start", {"turn": 1})
    session.append("user/message", user("u", HOSTILE + "\ud800"), surface="append")
    session.append("request/header", {"header": {**HEADER, "system": HOSTILE}, "reason": "initial"})
    session.append("step/start", {"turn": 1, "step": 1})
    session.append_all([chunk(HOSTILE)] * 3)
    call = {"type": "tool-call", "id": "c", "name": HOSTILE, "arguments": HOSTILE}
    message = assistant("a", {"type": "text", "text": HOSTILE}, call)
    session.append(
        "assistant/message", {"turn": 1, "step": 1, "message": message}, surface="append"
    )
    session.append("todo/write", {"todos": [{"content": HOSTILE, "status": "pending"}]})
    session.detach()
    return ODD_ID
