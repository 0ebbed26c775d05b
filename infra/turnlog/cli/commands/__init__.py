"""The commands; importing this package adds them all to the application."""

from . import demo, diff, lineage, messages, sessions, show, trace

__all__ = ["demo", "diff", "lineage", "messages", "sessions", "show", "trace"]
