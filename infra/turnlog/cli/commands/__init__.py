"""The commands; importing this package adds them all to the application."""

from . import demo, sessions

__all__ = ["demo", "sessions"]
