"""The text of ``server.properties``: one node that is broker and controller at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from turnlog.events.avro import MAX_RECORD_BYTES

#: Where the one node listens: nothing outside this machine can reach it, for it asks no password.
HOST: Final = "127.0.0.1"

_NODE: Final = 1


class Ports(NamedTuple):
    """The two ports of a node: clients talk to one, the node's own controller to the other."""

    client: int
    controller: int


def server_settings(data: Path, ports: Ports) -> dict[str, str]:
    """Give Kafka's settings for a node that keeps its log in ``data``.

    What one node can't have is set to 1 (replicas), what one user doesn't need is small
    (partitions of internal topics, threads, the cleaner's buffer, which else takes 128 MB of a
    heap of 384), and what would hide a mistake is off (topics that make themselves). A node that
    was killed may register again only when its last session is over: at the default of 9 s a start
    took 12 s, at 2 s and heartbeats to match it takes 5, an ordinary one 3 (measured). A record is
    safe against the death of every process once it is acknowledged, and, as in every Kafka with
    one replica, not against the loss of power.
    """
    client = f"PLAINTEXT://{HOST}:{ports.client}"
    return {
        "process.roles": "broker,controller",
        "node.id": str(_NODE),
        "controller.quorum.voters": f"{_NODE}@{HOST}:{ports.controller}",
        "listeners": f"{client},CONTROLLER://{HOST}:{ports.controller}",
        "advertised.listeners": client,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": str(data),
        "auto.create.topics.enable": "false",
        "unclean.leader.election.enable": "false",
        "message.max.bytes": str(MAX_RECORD_BYTES),
        "replica.fetch.max.bytes": str(MAX_RECORD_BYTES),
        "replica.fetch.response.max.bytes": str(MAX_RECORD_BYTES),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
        "broker.heartbeat.interval.ms": "500",
        "broker.session.timeout.ms": "2000",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "log.cleaner.dedupe.buffer.size": str(32 * 1024 * 1024),
    }


def properties_text(settings: Mapping[str, str]) -> str:
    """Write settings as a Java properties file, which is read as Latin-1 with escapes."""
    return "".join(f"{name}={_escape(value)}\n" for name, value in settings.items())


def cluster_id_of(meta_properties: str) -> str | None:
    """Read the cluster's id from the ``meta.properties`` of a formatted data folder."""
    for line in meta_properties.splitlines():
        name, separator, value = line.partition("=")
        if separator and name.strip() == "cluster.id":
            return value.strip()
    return None


def _escape(value: str) -> str:
    out = []
    for place, char in enumerate(value):
        if char == "\\" or (char == " " and place == 0):
            out.append("\\" + char)
        elif " " <= char <= "~":
            out.append(char)
        else:
            units = char.encode("utf-16-be", "surrogatepass")
            out += [f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)]
    return "".join(out)
