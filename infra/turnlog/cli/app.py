"""The typer application that the commands join."""

from __future__ import annotations

import importlib.metadata
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(
    help="The session event log of AI agents, on Kafka.",
    no_args_is_help=True,
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
