"""Tool calls and results: their ids, read out of stored data that no shape check has seen."""

from __future__ import annotations

from typing import Any

from .lenient import at, items_of, text_at

__all__ = ["NOT_STARTED_CODE", "OUTCOME_UNKNOWN_CODE", "named_calls", "result_call_id"]

NOT_STARTED_CODE = "TOOL_NOT_STARTED"
"""The error code of a result that stands for a call which never began."""

OUTCOME_UNKNOWN_CODE = "TOOL_OUTCOME_UNKNOWN"
"""The error code of a result that stands for a call which began, and whose end is unknown."""


def named_calls(content: Any) -> list[str]:
    """The ids of the tool-call blocks of a message's content, in order.

    A block without a non-empty string id is passed over: no result could answer it.
    """
    blocks = (block for block in items_of(content) if at(block, "type") == "tool-call")
    return [call_id for block in blocks if (call_id := text_at(block, "id"))]


def result_call_id(data: Any) -> str | None:
    """The id of the call that a `tool/result`'s data answers; None where it names none."""
    return text_at(data, "message", "source", "callId")
