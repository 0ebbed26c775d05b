"""`turnlog status` and `turnlog topics`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from turnlog.broker import EmbeddedBroker, ensure_topics
from turnlog.broker.bootstrap import named_cluster
from turnlog.broker.survey import Survey, TopicState, survey
from turnlog.cli.app import app
from turnlog.cli.cluster import reach
from turnlog.cli.command import Run, command
from turnlog.cli.exit_codes import FOUND_WRONG
from turnlog.cli.output import Column, Output
from turnlog.events import BrokerUnavailable
from turnlog.log import KafkaReader, KafkaSettings

__all__: list[str] = []

_TOPICS = (
    Column("topic", 28),
    Column("partitions", 10, right=True),
    Column("replicas", 8, right=True),
    Column("state", None),
)


@command(app)
def status(run: Run) -> None:
    """Tell what runs, where, and what the namespace holds; starts nothing.

    Exits with 5 where no Kafka answers. With --json one object: bootstrap, embedded, pid, home,
    dataBytes, cluster, brokers, topics, sessions.

    Example: turnlog status
    """
    bootstrap, broker = _running(run)
    found = survey(bootstrap, run.namespace, client=run.client)
    sessions = None
    if found.is_made:
        settings = KafkaSettings(bootstrap=bootstrap, namespace=run.namespace, client=run.client)
        with KafkaReader(settings) as reader:
            sessions = sum(1 for _ in reader.sessions())
    running = None if broker is None else broker.status()
    home = None if broker is None else broker.home
    value = {
        "bootstrap": bootstrap,
        "embedded": broker is not None,
        "pid": None if running is None else running.pid,
        "home": None if home is None else str(home.path),
        "dataBytes": None if home is None else _bytes(home.data),
        "cluster": found.cluster_id,
        "brokers": found.brokers,
        "topics": [_value(topic) for topic in found.topics],
        "sessions": sessions,
    }
    if run.out.as_json:
        run.out.json(value)
        return
    run.out.line(f"Kafka answers at {bootstrap}", style="bold")
    if running is not None and home is not None:
        megabytes = (value["dataBytes"] or 0) / 1e6 if isinstance(value["dataBytes"], int) else 0
        run.out.line(f"embedded: process {running.pid}, {megabytes:.1f} MB in {home.path}")
    run.out.line(f"cluster {found.cluster_id}, {found.brokers} brokers")
    if sessions is not None:
        run.out.line(f"{sessions} sessions in namespace {run.namespace}")
    run.out.table(_TOPICS, map(_cells, found.topics))


@command(app)
def topics(
    run: Run,
    ensure: Annotated[bool, typer.Option("--ensure", help="Make the missing ones.")] = False,
) -> None:
    """List the namespace's topics, and what of their settings would lose data.

    Exits with 1 where a topic is missing or would be refused. With --json each is an object: topic,
    partitions, replicas, differences.

    Example: turnlog topics --ensure
    """
    bootstrap = reach(run.env, client=run.client)
    if ensure:
        ensure_topics(bootstrap, run.namespace, client=run.client)
    found = survey(bootstrap, run.namespace, client=run.client)
    _show(run.out, found)
    if not found.is_made or any(topic.differences for topic in found.topics):
        raise typer.Exit(FOUND_WRONG)


def _running(run: Run) -> tuple[str, EmbeddedBroker | None]:
    """The Kafka that is named or runs here, without starting one. Raises BrokerUnavailable."""
    if named_cluster(run.env) is not None:
        return reach(run.env, client=run.client), None
    broker = EmbeddedBroker()
    running = broker.status()
    if running is None:
        raise BrokerUnavailable(f"{broker.home.path}: no Kafka runs here: turnlog up starts it")
    return running.bootstrap, broker


def _show(out: Output, found: Survey) -> None:
    if out.as_json:
        for topic in found.topics:
            out.json(_value(topic))
    else:
        out.table(_TOPICS, map(_cells, found.topics))


def _cells(topic: TopicState) -> tuple[object, ...]:
    if topic.partitions is None:
        return topic.name, None, None, "missing: turnlog up makes it"
    state = "; ".join(map(str, topic.differences)) or "as it must be"
    return topic.name, topic.partitions, topic.replicas, state


def _value(topic: TopicState) -> dict[str, object]:
    return {
        "topic": topic.name,
        "partitions": topic.partitions,
        "replicas": topic.replicas,
        "differences": [str(each) for each in topic.differences],
    }


def _bytes(folder: Path) -> int:
    """The bytes on disk; a file that goes away meanwhile has none."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except OSError:
            continue
    return total
