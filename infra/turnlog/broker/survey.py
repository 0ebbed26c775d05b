"""What a namespace is in a cluster, looked at and not touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnlog.broker.admin import Cluster
from turnlog.broker.errors import Difference
from turnlog.broker.rules import server_rules
from turnlog.broker.topics import (
    DEFAULT_PARTITIONS,
    Found,
    Topic,
    all_topics,
    replicas_needed,
)
from turnlog.log.features import eligible_leader_replicas
from turnlog.log.meta import Meta, read_meta
from turnlog.log.settings import KafkaSettings

_ANSWER_S = 10.0


@dataclass(frozen=True)
class TopicState:
    """A topic of the namespace; without ``partitions`` it is not there."""

    name: str
    partitions: int | None
    replicas: int | None
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Survey:
    """What is there.

    ``servers`` holds the differences of each broker, ``None`` if they may not be seen.
    ``eligible_leader_replicas`` is as in :class:`turnlog.broker.ensure.Ensured`.
    """

    cluster_id: str
    brokers: int
    topics: tuple[TopicState, ...]
    servers: Mapping[int, tuple[Difference, ...]] | None
    eligible_leader_replicas: int | None
    meta: Meta | None

    @property
    def is_made(self) -> bool:
        """Whether all topics of the namespace are there."""
        return all(topic.partitions is not None for topic in self.topics)


def survey(
    bootstrap: str,
    namespace: str,
    *,
    client: Mapping[str, Any] | None = None,
    timeout_s: float = _ANSWER_S,
) -> Survey:
    """Look at a namespace's topics and the brokers, by the rules of ``ensure_topics``.

    Raises:
        BadNamespace: no topic name can be made of it.
        BrokenLog, NewerThanReader: see :func:`turnlog.log.meta.fold_meta`.
        BrokerUnavailable: no answer within ``timeout_s``.
        NotAuthorized: this principal may not see a topic.
    """
    all_topics(namespace)
    settings = KafkaSettings(bootstrap=bootstrap, namespace=namespace, client=dict(client or {}))
    cluster = Cluster(settings, timeout_s)
    metadata = cluster.metadata()
    there = metadata.topics
    meta = None
    if f"{namespace}.meta" in there:
        meta = read_meta(settings, admin=cluster.admin, timeout_s=cluster.left_s)
    topics = all_topics(
        namespace,
        layouts=None if meta is None or not meta.layouts else meta.layouts,
        heads=DEFAULT_PARTITIONS if meta is None or meta.heads is None else meta.heads,
    )
    brokers = {each.id: (each.host, each.port) for each in metadata.brokers.values()}
    found = cluster.find([topic for topic in topics if topic.name in there])
    needed = replicas_needed(len(brokers), None)
    states = tuple(_state(topic, found.get(topic.name), needed) for topic in topics)
    servers = cluster.server_settings(list(brokers))
    level = None
    if len(brokers) > 1:
        level = eligible_leader_replicas(brokers.values(), settings.client, cluster.left_s)
    return Survey(
        str(metadata.cluster_id),
        len(brokers),
        states,
        None if servers is None else {id: _differences(each) for id, each in servers.items()},
        level,
        meta,
    )


def _state(topic: Topic, found: Found | None, needed: int) -> TopicState:
    if found is None:
        return TopicState(topic.name, None, None, ())
    differences = tuple(topic.differences(found, needed))
    return TopicState(topic.name, found.partitions, found.replicas, differences)


def _differences(values: Mapping[str, str | None]) -> tuple[Difference, ...]:
    checks = (rule.check(values.get(rule.setting)) for rule in server_rules())
    return tuple(each for each in checks if each is not None)
