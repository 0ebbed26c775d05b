"""A cluster of several nodes on this machine, and who does what in it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from tests.cluster.nodes import QUICK_AGAIN, Node, cluster_settings, new_cluster_id
from turnlog.broker.command import Tools
from turnlog.broker.home import Home
from turnlog.broker.ports import free_ports
from turnlog.broker.settings import HOST, Ports

__all__ = ["Cluster", "running_cluster"]

# Far above what anything here takes: 6 s for a start, 12 s for a killed node to be in sync again.
_PATIENCE_S = 90.0
_POLL_S = 0.05
_ANSWER_S = 5.0
_GROUPS = "__consumer_offsets"


class Cluster:
    """Nodes 1 to n; `bootstrap` names them all."""

    def __init__(self, nodes: dict[int, Node], ports: dict[int, Ports]) -> None:
        self.nodes = nodes
        self.bootstrap = ",".join(f"{HOST}:{each.client}" for each in ports.values())
        self._admin = AdminClient(
            {"bootstrap.servers": self.bootstrap, "log_level": 0, **QUICK_AGAIN}
        )

    def kill(self, node: int) -> None:
        """SIGKILL a node."""
        self.nodes[node].kill()

    def restart(self, node: int) -> None:
        """Start a node that was killed, and wait until the cluster is whole."""
        self.nodes[node].start()
        self.await_whole()

    @contextmanager
    def paused(self, node: int) -> Iterator[None]:
        """SIGSTOP a node for as long as the block runs; then wait until the cluster is whole."""
        self.nodes[node].pause()
        try:
            yield
        finally:
            self.nodes[node].resume()
        self.await_whole()

    def leader(self, topic: str, partition: int) -> int:
        """The node that leads a partition."""
        return self._ask(lambda: self._leader(topic, partition))

    def coordinator(self, group: str) -> int:
        """The node that coordinates a group, which need not exist; a client runs that has one."""
        return self._ask(lambda: self._coordinator(group))

    def controller(self) -> int:
        """The node that leads the metadata quorum.

        From the nodes' own files: what clients are told is any broker (KIP-590).
        """
        return self._ask(self._controller)

    def replicas(self, topic: str) -> list[int]:
        """How many replicas each partition has."""
        found = self._admin.list_topics(topic, timeout=_ANSWER_S).topics[topic]
        return [len(partition.replicas) for partition in found.partitions.values()]

    def topic_setting(self, topic: str, name: str) -> str | None:
        """A topic's setting as the cluster has it."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        answer = self._admin.describe_configs([resource], request_timeout=_ANSWER_S)[resource]
        return answer.result(_ANSWER_S)[name].value

    def await_whole(self) -> None:
        """Return when each node is there and each replica of each partition in sync."""
        self._ask(lambda: 1 if self._is_whole() else None)

    def _ask(self, question: Callable[[], int | None]) -> int:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                answer = question()
            except (KafkaException, TimeoutError):  # whoever was asked is down, or is not up yet
                answer = None
            if answer is not None:
                return answer
            assert time.monotonic() < deadline, "the cluster did not come to rest"
            time.sleep(_POLL_S)

    def _leader(self, topic: str, partition: int) -> int | None:
        found = self._admin.list_topics(topic, timeout=_ANSWER_S).topics[topic]
        leader = found.partitions[partition].leader if partition in found.partitions else -1
        return leader if leader > 0 else None

    def _coordinator(self, group: str) -> int | None:
        # Who leads the group's partition of Kafka's own topic; a client that is asked for it keeps
        # an answer that a kill has made wrong. Kafka hashes as Java does.
        found = self._admin.list_topics(_GROUPS, timeout=_ANSWER_S).topics[_GROUPS].partitions
        value = 0
        for char in group:
            value = (31 * value + ord(char)) % 2**32
        partition = found.get(abs(value - 2**32 * (value >= 2**31)) % len(found)) if found else None
        return partition.leader if partition is not None and partition.leader > 0 else None

    def _controller(self) -> int | None:
        states = [
            json.loads(path.read_text("utf-8"))
            for node in self.nodes.values()
            if node.alive and (path := node.home.data / _QUORUM_STATE).exists()
        ]
        latest = max(states, key=lambda state: int(state["leaderEpoch"]), default=None)
        leader = -1 if latest is None else int(latest["leaderId"])
        return leader if leader > 0 and self.nodes[leader].alive else None

    def _is_whole(self) -> bool:
        metadata = self._admin.list_topics(timeout=_ANSWER_S)
        return len(metadata.brokers) == len(self.nodes) and all(
            len(partition.isrs) == len(partition.replicas) and partition.leader > 0
            for topic in metadata.topics.values()
            for partition in topic.partitions.values()
        )


_QUORUM_STATE = Path("__cluster_metadata-0") / "quorum-state"


@contextmanager
def running_cluster(
    folder: Path, tools: Tools, jars: Path, nodes: int = 3, format_options: Sequence[str] = ()
) -> Iterator[Cluster]:
    """Have a cluster with empty logs; its processes are gone at the end of the block.

    `format_options` are further ones of Kafka's tool that makes the data folders.
    """
    ports = {number: free_ports(None) for number in range(1, nodes + 1)}
    made: dict[int, Node] = {}
    for number in ports:
        home = Home(folder / f"node-{number}", jars)
        made[number] = Node(home, tools, cluster_settings(number, home.data, ports))
    cluster_id = new_cluster_id()
    try:
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda node: node.format(cluster_id, format_options), made.values()))
        for node in made.values():
            node.start()
        cluster = Cluster(made, ports)
        cluster.await_whole()
        yield cluster
    finally:
        for node in made.values():
            node.kill()
