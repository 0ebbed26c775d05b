"""Ask a cluster who it is and how it is set, and make topics in it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import (
    AdminClient,
    ClusterMetadata,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from turnlog.broker.errors import BrokerUnavailable
from turnlog.broker.topics import Found, Topic
from turnlog.events.avro import MAX_RECORD_BYTES
from turnlog.events.errors import NotAuthorized
from turnlog.log.clients import admin_client
from turnlog.log.settings import KafkaSettings
from turnlog.log.translate import translate

_POLL_S = 0.05
_ANSWER_S = 5.0


def connect(bootstrap: str, client: Mapping[str, Any] | None = None) -> AdminClient:
    """Make an admin client; ``client`` holds further settings, for a secured cluster.

    Nothing is sent yet. librdkafka's own log lines go nowhere: what matters is raised.
    """
    settings: dict[str, Any] = {"log_level": 0, **(client or {}), "bootstrap.servers": bootstrap}
    return AdminClient(settings)


def cluster_id(admin: AdminClient, timeout_s: float) -> str | None:
    """Give the id of the cluster that answers; ``None`` when none does within ``timeout_s``."""
    try:
        metadata = admin.list_topics(timeout=timeout_s)
    except KafkaException:
        return None
    found: str | None = metadata.cluster_id
    return found if metadata.brokers else None


class Cluster:
    """A cluster as one principal sees it; all that is asked of it shares one deadline.

    Raises:
        BrokerUnavailable: no answer before the deadline.
        NotAuthorized: this principal may not do it; names the resource.
        BrokerError: the cluster refuses for another reason, which the text gives.
    """

    def __init__(self, settings: KafkaSettings, timeout_s: float) -> None:
        self._settings = settings
        self._deadline = time.monotonic() + timeout_s
        self._timeout_s = timeout_s
        self.admin = admin_client(settings, timeout_s)

    @property
    def left_s(self) -> float:
        """Seconds until the deadline; a tenth at least, so that no call is made without any."""
        return max(0.1, self._deadline - time.monotonic())

    def metadata(self) -> ClusterMetadata:
        """List the brokers that live and the topics that this principal may see."""
        with self._asking("cluster"):
            return self.admin.list_topics(timeout=self.left_s)

    def create(self, topics: Iterable[Topic], replicas: int) -> list[str]:
        """Make topics; gives the names of those that nobody else made meanwhile."""
        new = [
            NewTopic(topic.name, topic.partitions, replicas, config=topic.settings(replicas))
            for topic in topics
        ]
        if not new:
            return []
        made = []
        answers = self.admin.create_topics(new, request_timeout=self.left_s)
        for name, answer in answers.items():
            with self._asking(f"topic {name}"):
                try:
                    answer.result(self.left_s)
                except KafkaException as error:
                    if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                        raise
                else:
                    made.append(name)
        return made

    def find(self, topics: Sequence[Topic]) -> dict[str, Found]:
        """Describe existing topics by name, once each of their partitions has a leader."""
        metadata = self._await_leaders([topic.name for topic in topics])
        settings = self._topic_settings([topic.name for topic in topics])
        found = {}
        for topic in topics:
            partitions = metadata.topics[topic.name].partitions.values()
            replicas = min(len(each.replicas) for each in partitions)
            found[topic.name] = Found(len(partitions), replicas, settings[topic.name])
        return found

    def server_settings(self, brokers: Collection[int]) -> dict[int, dict[str, str | None]] | None:
        """Give each broker's settings; ``None`` if this principal may not see them."""
        found = {}
        for broker in brokers:  # Kafka's client takes one broker a call
            resource = ConfigResource(ResourceType.BROKER, str(broker))
            try:
                with self._asking(f"broker {broker}"):
                    answers = self.admin.describe_configs([resource], request_timeout=self.left_s)
                    found[broker] = _values(answers[resource], self.left_s)
            except NotAuthorized:
                return None
        return found

    def publish(self, topic: str, records: Sequence[tuple[bytes, bytes]]) -> None:
        """Write records to a topic's partition 0; on return each is durable."""
        if not records:
            return
        faults: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                faults.append(error)

        # Not idempotent, which costs half a second of waiting for an id (measured): each record
        # says all there is to say of its key, so writing one twice changes nothing.
        settings = {
            **self._settings.admin(),
            "acks": "all",
            "message.max.bytes": MAX_RECORD_BYTES,
            "message.timeout.ms": int(self.left_s * 1000),
        }
        producer = Producer(settings)
        with self._asking(f"topic {topic}"):
            for key, value in records:
                producer.produce(topic, value, key, 0, on_delivery=delivered)
            left = producer.flush(self.left_s + 1.0)
        if faults:
            raise translate(faults[0], f"topic {topic}")
        if left:
            raise BrokerUnavailable(f"topic {topic}: {left} records were not acknowledged")

    def _await_leaders(self, names: Sequence[str]) -> ClusterMetadata:
        while True:
            metadata = self.metadata()
            if all(_has_leaders(metadata, name) for name in names):
                return metadata
            if time.monotonic() >= self._deadline:
                lacking = next(name for name in names if not _has_leaders(metadata, name))
                raise BrokerUnavailable(
                    f"topic {lacking}: not each partition has a leader within {self._timeout_s:g} s"
                )
            time.sleep(_POLL_S)

    def _topic_settings(self, names: Sequence[str]) -> dict[str, dict[str, str | None]]:
        found: dict[str, dict[str, str | None]] = {}
        while len(found) < len(names):
            left = [ConfigResource(ResourceType.TOPIC, name) for name in names if name not in found]
            answers = self.admin.describe_configs(left, request_timeout=min(_ANSWER_S, self.left_s))
            for resource, answer in answers.items():
                with self._asking(f"topic {resource.name}"):
                    values = self._unless_new(answer)
                if values is not None:
                    found[resource.name] = values
            time.sleep(0 if len(found) == len(names) else _POLL_S)
        return found

    def _unless_new(self, answer: Future[dict[str, ConfigEntry]]) -> dict[str, str | None] | None:
        """Give a topic's settings; ``None`` from a broker that has not heard of it yet."""
        try:
            return _values(answer, self.left_s)
        except KafkaException as error:
            new = error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
            if not new or time.monotonic() >= self._deadline:
                raise
            return None

    @contextmanager
    def _asking(self, resource: str) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            raise translate(error.args[0], resource) from error
        except TimeoutError as error:
            raise BrokerUnavailable(
                f"{resource}: no answer from {self._settings.bootstrap} within "
                f"{self._timeout_s:g} s"
            ) from error


def _has_leaders(metadata: ClusterMetadata, name: str) -> bool:
    topic = metadata.topics.get(name)
    if topic is None or topic.error is not None or not topic.partitions:
        return False
    return all(partition.leader >= 0 for partition in topic.partitions.values())


def _values(answer: Future[dict[str, ConfigEntry]], timeout_s: float) -> dict[str, str | None]:
    return {name: entry.value for name, entry in answer.result(timeout_s).items()}
