"""The command line: its commands, and what an error becomes there."""

from __future__ import annotations

import importlib.metadata
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from turnlog.broker import DEFAULT_NAMESPACE
from turnlog.events import TurnlogError
from turnlog.log import KafkaSettings

from .demo import run_demo
from .demo_child import ChildFailed
from .demo_process import ROLES
from .exit_codes import EXIT_CODES, FOUND_WRONG, INTERRUPTED, exit_code
from .safe_text import safe

__all__ = ["EXIT_CODES", "main"]

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
def demo(
    namespace: Annotated[
        str, typer.Option(help="Whose topics to write to; missing ones are made.")
    ] = DEFAULT_NAMESPACE,
) -> None:
    """Walk a scripted agent through real sessions on Kafka.

    Starts the embedded broker (the first time it downloads Kafka, about 45 MB), or takes the one at
    KAFKA_BOOTSTRAP, which has 10 s to answer. An agent works, a second process that wants to write
    is refused, the agent is killed inside a tool, a new process resumes and forks; then all is read
    back and verified. Exits with 1 if a check finds something wrong.

    Example: turnlog demo
    """
    with _exit_codes():
        if not run_demo(namespace):
            raise typer.Exit(FOUND_WRONG)


@app.command(hidden=True)
def demo_process(
    role: Annotated[str, typer.Argument(help=f"One of: {', '.join(ROLES)}.")],
    bootstrap: Annotated[str, typer.Argument(help="Where the broker answers.")],
    namespace: Annotated[str, typer.Argument(help="Whose topics to write to.")],
    session_id: Annotated[str, typer.Argument(help="The demo's session.")],
) -> None:
    """Play one process of the demo."""
    play = ROLES.get(role)
    if play is None:
        raise typer.BadParameter(f"expected one of {', '.join(ROLES)}", param_hint="ROLE")
    with _exit_codes():
        play(KafkaSettings(bootstrap=bootstrap, namespace=namespace), session_id)


@contextmanager
def _exit_codes() -> Iterator[None]:
    """End a command with the exit code of its failure, said in one line."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except ChildFailed as error:
        _complain(error)
        raise typer.Exit(error.exit_code) from None
    except TurnlogError as error:
        _complain(error)
        raise typer.Exit(exit_code(error)) from None


def _complain(error: Exception) -> None:
    print(f"turnlog: {safe(str(error))}", file=sys.stderr)


def main() -> None:
    """Run the command; exits with the code of what happened."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that can't show a character gets its escape, and the command goes on.
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="turnlog")
