"""The exit codes: what each kind of failure is to a shell."""

from __future__ import annotations

from turnlog.events import (
    BrokerError,
    CallerError,
    DataError,
    OwnershipError,
    SinkError,
    TurnlogError,
)

__all__ = ["BROKEN_PIPE", "EXIT_CODES", "FOUND_WRONG", "INTERRUPTED", "TERMINATED", "exit_code"]

EXIT_CODES: dict[type[TurnlogError], int] = {
    CallerError: 2,
    DataError: 3,
    OwnershipError: 4,
    BrokerError: 5,
    SinkError: 6,
}
"""The exit code of each kind of failure; 0 is success."""

FOUND_WRONG = 1
"""Something was checked, and is not as it should be."""

INTERRUPTED = 130
"""Ctrl-C."""

BROKEN_PIPE = 141
"""Whoever read the output went away, as `head` does."""

TERMINATED = 143
"""SIGTERM."""


def exit_code(error: TurnlogError) -> int:
    """The exit code of a failure; 1 where its kind has none."""
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1)
