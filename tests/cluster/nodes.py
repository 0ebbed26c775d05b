"""Kafka's nodes as plain processes, to be killed and paused: what the product's own start is of.

Jars, Java, command lines and launch are those of `turnlog.broker`, so each node also dies with the
test that started it, however that ends.
"""

from __future__ import annotations

import base64
import os
import secrets
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from turnlog.broker.command import Tools, broker_command, format_command
from turnlog.broker.home import Home, prepare
from turnlog.broker.jars import ensure_jars
from turnlog.broker.java import bundled_java, find_java, java_candidates
from turnlog.broker.launch import Launched, launch, run_to_end
from turnlog.broker.lock import committed_lock
from turnlog.broker.process import is_alive, wait_gone
from turnlog.broker.settings import Ports, properties_text, server_settings

__all__ = ["FAST_FAILOVER", "QUICK_AGAIN", "Node", "cluster_settings", "new_cluster_id", "tools_of"]

_GONE_S = 30.0

#: A leader's death is noticed within 2 s and a controller's within 1; Kafka's defaults are 9 and 2.
FAST_FAILOVER = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "500",
}

#: For a client that asks until a node is up: by default it waits up to 10 s after some refusals.
QUICK_AGAIN = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 200}


def tools_of(jars: Path) -> Tools:
    """The Java and the verified jars that the embedded broker would run with."""
    java = find_java(java_candidates(os.environ, bundled_java()))
    return Tools(java, tuple(ensure_jars(jars, committed_lock())))


def new_cluster_id() -> str:
    """16 random bytes as Kafka wants them: 22 base64url characters, no option in front."""
    made = base64.urlsafe_b64encode(b"t" + secrets.token_bytes(15)).decode("ascii")
    return made.rstrip("=")


def cluster_settings(node: int, data: Path, ports: Mapping[int, Ports]) -> dict[str, str]:
    """The settings of one of several nodes, each broker and controller at once."""
    alone = server_settings(data, ports[node])
    host = alone["controller.quorum.voters"].partition("@")[2].partition(":")[0]
    voters = ",".join(f"{each}@{host}:{ports[each].controller}" for each in ports)
    in_sync = str(len(ports) // 2 + 1)
    return {
        **alone,
        **FAST_FAILOVER,
        "node.id": str(node),
        "controller.quorum.voters": voters,
        "offsets.topic.replication.factor": str(len(ports)),
        "transaction.state.log.replication.factor": str(len(ports)),
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": str(len(ports)),
        "share.coordinator.state.topic.min.isr": in_sync,
    }


class Node:
    """One node's process and folder; it can be started again after its end."""

    def __init__(self, home: Home, tools: Tools, settings: Mapping[str, str]) -> None:
        self.home = home
        self._tools = tools
        self._settings = settings
        self._launched: Launched | None = None

    def format(self, cluster_id: str, options: Sequence[str] = ()) -> None:
        """Make its data folder; `options` are further ones of Kafka's tool."""
        prepare(self.home)
        self.home.settings.write_text(properties_text(self._settings), "latin-1")
        command = [*format_command(self._tools, self.home, cluster_id), *options]
        assert run_to_end(command, self.home), self.home.log.read_text("utf-8", "replace")

    def start(self) -> None:
        """Run it; whether it answers is another question."""
        assert not self.alive
        command = broker_command(self._tools, self.home)
        self._launched = launch(command, self.home, detached=False)

    @property
    def alive(self) -> bool:
        """Whether its process is there; a paused one is."""
        launched = self._launched
        return launched is not None and is_alive(launched.pid, launched.process)

    def kill(self) -> None:
        """SIGKILL; on return the process is gone. Nothing to do where it is already."""
        launched = self._launched
        if launched is None:
            return
        self._signal(signal.SIGKILL)
        assert wait_gone(launched.pid, launched.process, _GONE_S)
        launched.reap(_GONE_S)
        self._launched = None

    def pause(self) -> None:
        """SIGSTOP: its connections stay and nothing answers, until `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._launched is not None and self.alive:
            os.kill(self._launched.pid, number)
