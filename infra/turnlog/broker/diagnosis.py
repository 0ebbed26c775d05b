"""Read from a broker's last words why it did not start."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

_TAIL_BYTES = 64 * 1024
_TAIL_LINES = 20
_LINE_CHARS = 400


class Cause(Enum):
    """Why a start failed; the value is the sentence for the user."""

    PORT_TAKEN = "its ports were taken by another process while it started"
    DISK_FULL = "the disk is full"
    DATA_IN_USE = "another Kafka uses its data folder"
    JAVA_REFUSED = "Java refused its options or could not get its memory"
    UNKNOWN = "it ended while it started"


# What Java's and Kafka's messages hold in these cases, tried in this order.
_SIGNS = (
    ("No space left on device", Cause.DISK_FULL),
    ("Failed to acquire lock on file", Cause.DATA_IN_USE),
    ("Address already in use", Cause.PORT_TAKEN),
    ("Error: Could not create the Java Virtual Machine", Cause.JAVA_REFUSED),
    ("insufficient memory for the Java Runtime", Cause.JAVA_REFUSED),
)


def diagnose(log: str) -> Cause:
    """Name the cause that the log of one start shows."""
    return next((cause for sign, cause in _SIGNS if sign in log), Cause.UNKNOWN)


def tail(log: str, lines: int = _TAIL_LINES) -> str:
    """Keep the last lines, each cut at 400 characters: a class path in a message is 4 kB long."""
    return "\n".join(line[:_LINE_CHARS] for line in log.splitlines()[-lines:])


def read_end(path: Path, start: int = 0) -> str:
    """Read a log from the byte ``start`` on, at most its last 64 KiB; empty if it is not there."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(start, size - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
