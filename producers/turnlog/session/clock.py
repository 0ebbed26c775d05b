"""The clock of what is written."""

from __future__ import annotations

import time

__all__ = ["clock_ms"]


def clock_ms() -> int:
    """The wall clock in epoch milliseconds."""
    return time.time_ns() // 1_000_000
