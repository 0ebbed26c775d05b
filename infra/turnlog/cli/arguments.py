"""Arguments that several commands take, declared once."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated

import typer

__all__ = ["End", "SessionId", "Start", "Step", "time_text"]

SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")]
Start = Annotated[int, typer.Option(min=0, help="The first seq to show.")]
End = Annotated[int | None, typer.Option(min=0, help="The seq to stop before.")]

_STEP = re.compile(r"(\d+):(\d+)(?:\.(\d+))?")


class Step:
    """A model call by turn and step, `2:1`, and by its attempt from 1 where told, `2:1.3`."""

    def __init__(self, text: str) -> None:
        match = _STEP.fullmatch(text)
        if match is None:
            raise typer.BadParameter(f"expected TURN:STEP or TURN:STEP.ATTEMPT, found {text!r}")
        self.turn = int(match[1])
        self.step = int(match[2])
        self.attempt = -1 if match[3] is None else int(match[3]) - 1
        self.text = text


def time_text(time_ms: int) -> str:
    """Say a time in UTC, to the millisecond."""
    try:
        time = datetime.fromtimestamp(time_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{time_ms} ms"
    return time.strftime("%Y-%m-%d %H:%M:%S.") + f"{time_ms % 1000:03}Z"
