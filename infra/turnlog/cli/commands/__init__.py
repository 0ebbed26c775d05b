"""The commands; importing this package adds them all to the application."""

from . import (
    append,
    demo,
    diff,
    doctor,
    exporting,
    fork,
    importing,
    lineage,
    messages,
    replay,
    sessions,
    show,
    status,
    trace,
    up,
    verify,
)

__all__ = [
    "append",
    "demo",
    "diff",
    "doctor",
    "exporting",
    "fork",
    "importing",
    "lineage",
    "messages",
    "replay",
    "sessions",
    "show",
    "status",
    "trace",
    "up",
    "verify",
]
