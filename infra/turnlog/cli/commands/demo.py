"""`turnlog demo`."""

from __future__ import annotations

from typing import Annotated

import typer

from turnlog.broker import DEFAULT_NAMESPACE
from turnlog.cli.app import app
from turnlog.cli.command import exit_codes
from turnlog.cli.demo import run_demo
from turnlog.cli.demo_process import ROLES
from turnlog.cli.exit_codes import FOUND_WRONG
from turnlog.log import KafkaSettings

__all__: list[str] = []


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
    with exit_codes():
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
    with exit_codes():
        play(KafkaSettings(bootstrap=bootstrap, namespace=namespace), session_id)
