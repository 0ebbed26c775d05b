"""How long a writer waits for an answer of the log before it takes the outcome to be unknown."""

from __future__ import annotations

__all__ = ["RETRY_S", "Patience"]

RETRY_S = 1.0
"""Seconds between two tries to settle an unknown outcome."""


class Patience:
    """When an answer is overdue; pure. Times are of one monotonic clock, in seconds."""

    def __init__(self, read_back_s: float) -> None:
        self._read_back_s = read_back_s
        self._since_s = 0.0
        self._tried_s = 0.0
        self._is_doubted = False
        self._is_new = True

    def begin(self, now_s: float) -> None:
        """Wait from now on."""
        self._since_s = now_s

    def answered(self, now_s: float) -> None:
        """Hear that the log has answered something: what is still waited for begins anew."""
        self._since_s = now_s
        self._is_doubted = False
        self._is_new = True

    def doubt(self) -> None:
        """Hear that an answer may never come."""
        self._is_doubted = True

    def is_over(self, now_s: float) -> bool:
        """Whether the outcome is to be settled now; asked again, a second later at the soonest."""
        overdue = now_s > self._since_s + self._read_back_s
        if not (overdue or self._is_doubted) or now_s <= self._tried_s + RETRY_S:
            return False
        self._tried_s = self._since_s = now_s
        self._is_doubted = False
        return True

    def is_first(self) -> bool:
        """Whether this is the first time since the last answer; to be said once."""
        first, self._is_new = self._is_new, False
        return first
