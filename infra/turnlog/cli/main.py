"""The command line: its commands, and what an error becomes there."""

from __future__ import annotations

import importlib.metadata
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from turnlog.events import (
    BrokerError,
    CallerError,
    DataError,
    OwnershipError,
    SinkError,
    TurnlogError,
)

from .demo import run_demo
from .demo_reader import show_session
from .safe_text import safe

__all__ = ["EXIT_CODES", "main"]

EXIT_CODES: dict[type[TurnlogError], int] = {
    CallerError: 2,
    DataError: 3,
    OwnershipError: 4,
    BrokerError: 5,
    SinkError: 6,
}
"""The exit code of each kind of failure; 0 is success, 130 an interrupt."""

_INTERRUPTED = 130

app = typer.Typer(
    help="The session event log of AI agents, on Kafka.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain: the other modes break the lines where the docstring does, not where the terminal ends.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"turnlog {importlib.metadata.version('turnlog')}")
        raise typer.Exit


@app.callback()
def _turnlog(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """The session event log of AI agents, on Kafka."""


@app.command()
def demo() -> None:
    """Walk one agent session through a real Kafka and back.

    Starts the embedded broker (the first time it downloads Kafka, about 45 MB), or takes the one at
    KAFKA_BOOTSTRAP, which has 10 s to answer. A small scripted agent is logged, made durable step
    by step, then restored in a second process, which prints the transcript and the Messages.

    Example: turnlog demo
    """
    with _exit_codes():
        run_demo()


@app.command(hidden=True)
def demo_reader(
    bootstrap: Annotated[str, typer.Argument(help="Where the broker answers.")],
    session_id: Annotated[str, typer.Argument(help="The session to restore.")],
) -> None:
    """Restore one session and print it: the demo's second process."""
    with _exit_codes():
        show_session(bootstrap, session_id)


@contextmanager
def _exit_codes() -> Iterator[None]:
    """End a command with the exit code of its failure, said in one line."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None
    except TurnlogError as error:
        print(f"turnlog: {safe(str(error))}", file=sys.stderr)
        code = next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1)
        raise typer.Exit(code) from None


def main() -> None:
    """Run the command; exits with the code of what happened."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that can't show a character gets its escape, and the command goes on.
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="turnlog")
