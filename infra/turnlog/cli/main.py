"""The `turnlog` command."""

from __future__ import annotations

import io
import os
import sys

from . import commands as _commands  # noqa: F401 - importing it adds the commands to the application
from .app import app
from .exit_codes import BROKEN_PIPE

__all__ = ["main"]


def main() -> None:
    """Run the command; exits with the code of what happened."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that can't show a character gets its escape, and the command goes on.
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="turnlog")
    except BrokenPipeError:
        # Whatever is still held back would fail again at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(BROKEN_PIPE) from None
