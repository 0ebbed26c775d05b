"""Ask a cluster who it is, and make and check topics; the only module here with a Kafka client."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ClusterMetadata,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from turnlog.broker.errors import BrokerError, BrokerUnavailable, TopicMismatch
from turnlog.broker.topics import Found, Topic, all_topics, replicas_for
from turnlog.events.errors import NotAuthorized

_POLL_S = 0.05
_ANSWER_S = 5.0

_UNREACHABLE = {
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
}
_REFUSED = {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED}


def connect(bootstrap: str, client: Mapping[str, str] | None = None) -> AdminClient:
    """Make an admin client; ``client`` holds further settings, for a secured cluster.

    Nothing is sent yet. librdkafka's own log lines go nowhere: what matters is raised.
    """
    settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0, **(client or {})}
    return AdminClient(settings)


def cluster_id(admin: AdminClient, timeout_s: float) -> str | None:
    """Give the id of the cluster that answers; ``None`` when none does within ``timeout_s``."""
    try:
        metadata = admin.list_topics(timeout=timeout_s)
    except KafkaException:
        return None
    found: str | None = metadata.cluster_id
    return found if metadata.brokers else None


def ensure_topics(
    bootstrap: str,
    namespace: str,
    *,
    topics: Sequence[Topic] | None = None,
    client: Mapping[str, str] | None = None,
    timeout_s: float = 30.0,
) -> list[str]:
    """Make a namespace's missing topics and check those that exist; gives the names it made.

    On return every topic has its partitions, each with a leader, and settings under which no
    acknowledged event is lost. Existing topics are never changed. Several processes may call this
    at once. ``topics`` defaults to all that the namespace needs.

    Raises:
        BadNamespace: no topic name can be made of it.
        TopicMismatch: a topic exists and would lose or refuse events; names each setting.
        BrokerUnavailable: no answer within ``timeout_s``.
        NotAuthorized: this principal may not make or read a topic.
        BrokerError: the cluster refuses for another reason, which the text gives.
    """
    wanted = all_topics(namespace) if topics is None else list(topics)
    deadline = time.monotonic() + timeout_s
    admin = connect(bootstrap, client)
    try:
        metadata = admin.list_topics(timeout=_left(deadline))
        missing = [topic for topic in wanted if topic.name not in metadata.topics]
        made = _create(admin, missing, replicas_for(len(metadata.brokers)), deadline)
        metadata = _await_leaders(admin, wanted, deadline)
        settings = _settings(admin, wanted, deadline)
    except KafkaException as error:
        raise translate(error.args[0], f"topics of {namespace}") from error
    except TimeoutError as error:
        raise BrokerUnavailable(f"{bootstrap}: no answer within {timeout_s:g} s") from error
    for topic in wanted:
        partitions = metadata.topics[topic.name].partitions.values()
        replicas = min(len(each.replicas) for each in partitions)
        differences = topic.differences(Found(len(partitions), replicas, settings[topic.name]))
        if differences:
            raise TopicMismatch(topic.name, differences)
    return made


def translate(error: KafkaError, doing: str) -> BrokerError:
    """Turn a client's error into ours, by who must act."""
    if error.code() in _REFUSED:
        return NotAuthorized(doing)
    if error.code() in _UNREACHABLE or error.retriable():
        return BrokerUnavailable(f"{doing}: {error.str()}")
    return BrokerError(f"{doing}: {error.str()}")


def _left(deadline: float) -> float:
    return max(0.1, deadline - time.monotonic())


def _create(
    admin: AdminClient, topics: Iterable[Topic], replicas: int, deadline: float
) -> list[str]:
    new = [
        NewTopic(topic.name, topic.partitions, replicas, config=topic.settings(replicas))
        for topic in topics
    ]
    made = []
    if new:
        answers = admin.create_topics(new, request_timeout=_left(deadline))
        for name, answer in answers.items():
            try:
                answer.result(_left(deadline))
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
            else:
                made.append(name)
    return made


def _await_leaders(admin: AdminClient, topics: Sequence[Topic], deadline: float) -> ClusterMetadata:
    while True:
        metadata = admin.list_topics(timeout=_left(deadline))
        if all(_has_leaders(metadata, topic.name) for topic in topics):
            return metadata
        if time.monotonic() >= deadline:
            raise TimeoutError
        time.sleep(_POLL_S)


def _has_leaders(metadata: ClusterMetadata, name: str) -> bool:
    topic = metadata.topics.get(name)
    if topic is None or topic.error is not None or not topic.partitions:
        return False
    return all(partition.leader >= 0 for partition in topic.partitions.values())


def _settings(
    admin: AdminClient, topics: Sequence[Topic], deadline: float
) -> dict[str, dict[str, str | None]]:
    resources = [ConfigResource(ResourceType.TOPIC, topic.name) for topic in topics]
    answers: Mapping[ConfigResource, Future[Any]] = admin.describe_configs(
        resources, request_timeout=min(_ANSWER_S, _left(deadline))
    )
    return {
        resource.name: {name: entry.value for name, entry in answer.result(_left(deadline)).items()}
        for resource, answer in answers.items()
    }
