"""The model calls of a step, and the request of each, as an auditor asks for it.

Rules: semantics.md sections 5 and 15.
"""

from __future__ import annotations

from typing import Any

from turnlog.events.chunk import CHUNK_TYPE
from turnlog.events.jsontext import deep_equal, loads

from .lenient import at, data_of
from .log import Log
from .request import Request, derived_request

__all__ = ["attempts", "request_at"]

_RETRY_STARTED = "llm/retry-started"
_OF_ATTEMPT = frozenset({CHUNK_TYPE, "assistant/message", "llm/retry", _RETRY_STARTED})


def attempts(log: Log, turn: int, step: int) -> tuple[int, ...]:
    """Give the seq of the first event of each model call that a step made, in order.

    The first call begins with the first chunk, message or `llm/retry` that names the step, each
    later one with the first of these after an `llm/retry-started`. A step without one made no call.
    """
    seqs: list[int] = []
    begun = False
    for row in log.rows:
        if row.packed:
            if not begun and _names(loads(row.text)["data"], turn, step):
                seqs.append(row.first_seq)
                begun = True
            continue
        for event in row.events():
            if event.type not in _OF_ATTEMPT or not _names(data_of(event), turn, step):
                continue
            if event.type == _RETRY_STARTED:
                begun = False
            elif not begun:
                seqs.append(event.seq)
                begun = True
    return tuple(seqs)


def request_at(log: Log, turn: int, step: int, attempt: int = -1) -> Request | None:
    """Give the request of a step's model call: header in force and Messages just before it.

    `attempt` counts from 0, negative from the last. None where the step made no such call.

    Raises SurfaceRefused and MissingField where the stored log can't be projected.
    """
    seqs = attempts(log, turn, step)
    if not -len(seqs) <= attempt < len(seqs):
        return None
    return derived_request(log, seqs[attempt])


def _names(data: Any, turn: int, step: int) -> bool:
    return deep_equal(at(data, "turn"), turn) and deep_equal(at(data, "step"), step)
