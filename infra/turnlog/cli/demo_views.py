"""The demo's views of a log that was read back: transcript, requests, repair, lineage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turnlog.events import Event
from turnlog.kernel import Log, Request, request_at, trace_session, transcript

from .demo_text import one_line, say
from .item_text import content_text, item_text, span_text

__all__ = [
    "show_lineage",
    "show_repair",
    "show_requests",
    "show_transcript",
    "steps",
]

_SEQS = 7


def show_transcript(log: Log, start: int = 0) -> None:
    """Print the items anchored from `start` on, with their seqs."""
    for item in transcript(log, start):
        of, text = item_text(item)
        say(span_text(item.spans), text, of=of, label_width=_SEQS)


def show_requests(log: Log, *, since_step: tuple[int, int] | None = None) -> None:
    """Print of each step's request the messages that the step's before did not have.

    With `since_step` (turn, step) only the steps after that one are printed.
    """
    before: Request | None = None
    for turn, step in steps(log):
        request = request_at(log, turn, step)
        if request is None:
            continue
        if since_step is None or (turn, step) > since_step:
            _show_request(f"turn {turn}, step {step}", request, before)
        before = request


def steps(log: Log) -> list[tuple[int, int]]:
    """The turn and step numbers of a log, in log order."""
    found = (event.data for event in log.events() if event.type == "step/start")
    return [(data["turn"], data["step"]) for data in found]


def show_repair(events: Iterable[Event]) -> None:
    """Print the events that a resume appended, and what the model is told by them."""
    for event in events:
        data, of = event.data, event.type
        if of == "tool/result":
            _show_event(event, data["error"]["code"])
            said = content_text(data["message"]["content"][0]["content"])
            say("", f'the model reads: "{said}"', label_width=_SEQS)
        elif of == "step/end":
            _show_event(event, f"turn {data['turn']}, step {data['step']}")
        elif of == "turn/end":
            _show_event(event, f"turn {data['turn']}, {data['reason']['kind']}")
        elif of == "session/end-seed":
            _show_event(event, "what stands above is of an earlier lifetime")
        else:
            _show_event(event, "")


def show_lineage(logs: Sequence[Log]) -> None:
    """Print the family of the first of these logs, among them; each with what it inherits."""
    by_id = {log.header.id: log for log in logs}
    family = trace_session((log.header for log in logs), logs[0].header.id)
    one_line("root", f"{family.target}, {logs[0].next_seq} events")
    for descendant in family.descendants:
        child = by_id[descendant.id]
        inherited = child.header.seed_length or 0
        text = (
            f"{descendant.id}, {child.next_seq} events, the first {inherited} of them "
            f"{child.header.parent_session}'s"
        )
        say(f"{'  ' * (descendant.depth - 1)}+- child", text)


def _show_event(event: Event, text: str) -> None:
    one_line(str(event.seq), f"{event.type:<17} {text}", label_width=_SEQS)


def _show_request(place: str, request: Request, before: Request | None) -> None:
    count = len(request)
    kept = 0
    if before is not None:
        difference = request.first_difference(before)
        kept = count if difference is None else difference
    known = "" if before is None else f", the first {kept} as before" if kept else ", all of it new"
    one_line(place, f"{count} {'message' if count == 1 else 'messages'}{known}", label_width=16)
    for index, message in enumerate(request.messages[kept:], start=kept + 1):
        text = content_text(message["content"])
        one_line(f"{index:>5}", text, of=message["role"], label_width=5)
