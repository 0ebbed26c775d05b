"""`turnlog up` and `turnlog down`."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from turnlog.broker import EmbeddedBroker, ensure_topics
from turnlog.broker.bootstrap import named_cluster
from turnlog.cli.app import app
from turnlog.cli.cluster import reach
from turnlog.cli.command import Run, command
from turnlog.cli.output import Output

__all__: list[str] = []


@command(app)
def up(
    run: Run,
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Stay, and stop the broker at Ctrl-C.")
    ] = False,
) -> None:
    """Start the embedded Kafka, and make and check the namespace's topics.

    It goes on in the background until `turnlog down`. Where a cluster is named, only its topics are
    made and checked. With --json one object: bootstrap, embedded, home, namespace, made (topics),
    warnings.

    Example: turnlog up
    """
    named = named_cluster(run.env)
    if named is not None:
        _ready(run, reach(run.env, client=run.client), None)
        return
    broker = EmbeddedBroker(detached=not foreground)
    if not foreground:
        _ready(run, broker.start(), broker)
        return
    with broker:
        _ready(run, broker.bootstrap, broker)
        while broker.status() is not None:
            time.sleep(0.5)


@command(app)
def down(run: Run) -> None:
    """Stop the embedded Kafka; the log stays. A named cluster is never stopped.

    With --json one object: stopped.

    Example: turnlog down
    """
    stopped = EmbeddedBroker().stop()
    if run.out.as_json:
        run.out.json({"stopped": stopped})
    else:
        run.out.line("the embedded Kafka is stopped" if stopped else "no embedded Kafka ran")


def _ready(run: Run, bootstrap: str, broker: EmbeddedBroker | None) -> None:
    ensured = ensure_topics(bootstrap, run.namespace, client=run.client)
    home = None if broker is None else str(broker.home.path)
    if run.out.as_json:
        run.out.json(
            {
                "bootstrap": bootstrap,
                "embedded": broker is not None,
                "home": home,
                "namespace": run.namespace,
                "made": list(ensured.made),
                "warnings": ensured.warnings,
            }
        )
        return
    _say(run.out, bootstrap, home, ensured.made)
    for warning in ensured.warnings:
        run.out.note(f"warning: {warning}", style="yellow")


def _say(out: Output, bootstrap: str, home: str | None, made: tuple[str, ...]) -> None:
    out.line(f"Kafka answers at {bootstrap}", style="bold")
    if home is not None:
        out.line(f"its log lies in {home}")
    out.line(f"topics: {', '.join(made)} made" if made else "topics: all there")
    if home is not None:
        out.line("next: turnlog demo, or turnlog import FILES; turnlog down stops it")
