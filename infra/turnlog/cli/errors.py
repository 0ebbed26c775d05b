"""What the commands themselves refuse."""

from __future__ import annotations

from turnlog.events import CallerError

__all__ = ["BadLine", "NoSuchEvent", "NoSuchRequest"]


class NoSuchRequest(CallerError):
    """A session made no such model call."""

    def __init__(self, session_id: str, step: str) -> None:
        self.session_id = session_id
        self.step = step
        super().__init__(f"session {session_id!r} made no model call in step {step}")


class NoSuchEvent(CallerError):
    """A seq beyond the log's end."""

    def __init__(self, session_id: str, seq: int, next_seq: int) -> None:
        self.session_id = session_id
        self.seq = seq
        self.next_seq = next_seq
        super().__init__(f"session {session_id!r} has the seqs below {next_seq}, not {seq}")


class BadLine(CallerError):
    """A line of standard input that is no draft; lines count from 1."""

    def __init__(self, line: int, reason: str) -> None:
        self.line = line
        self.reason = reason
        super().__init__(f"line {line}: {reason}")
