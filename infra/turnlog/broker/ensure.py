"""Make a namespace's topics where they are missing, and refuse those that would lose events."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from turnlog.broker.admin import Cluster
from turnlog.broker.errors import Difference, ServerMismatch, TopicGone, TopicMismatch
from turnlog.broker.rules import mend_server, mend_topic, server_rules
from turnlog.broker.topics import (
    DEFAULT_NAMESPACE,
    DEFAULT_PARTITIONS,
    Topic,
    all_topics,
    meta_topic,
    replicas_for,
    replicas_needed,
)
from turnlog.events.published import PUBLISHED_SCHEMAS
from turnlog.log.features import (
    ELIGIBLE_LEADER_REPLICAS,
    eligible_leader_replicas,
    needs_reports,
)
from turnlog.log.meta import Meta, missing_records, read_meta
from turnlog.log.settings import KafkaSettings

_ANSWER_S = 5.0
_POLL_S = 0.05

# How long another process may take from making a topic to saying so in meta, and a broker to hear
# of a topic that meta names already: measured below 0.2 s on one broker.
_SETTLE_S = 2.0


@dataclass(frozen=True)
class Ensured:
    """What stands in the cluster now.

    ``made`` names the topics that this call made. ``eligible_leader_replicas`` is the level of that
    feature on several brokers; ``None`` on one, where it changes nothing, or if it can't be
    learned. ``servers_checked`` is false if this principal may not see the brokers' settings.
    """

    made: tuple[str, ...]
    meta: Meta
    brokers: int
    replicas: int
    eligible_leader_replicas: int | None
    servers_checked: bool

    @property
    def needs_delivery_reports(self) -> bool:
        """Whether a writer must wait for the delivery report beside its read-back.

        Without the feature a reader may have seen a record that a failover then takes back.
        """
        return needs_reports(self.brokers, self.eligible_leader_replicas)

    @property
    def warnings(self) -> list[str]:
        """What is no reason to refuse, and should be known: one line each."""
        lines = []
        if self.needs_delivery_reports:
            level = self.eligible_leader_replicas
            lines.append(
                f"{ELIGIBLE_LEADER_REPLICAS}: expected 1 or more, found "
                f"{'nothing' if level is None else level}; writers also wait for delivery "
                "reports; to mend it: kafka-features.sh upgrade --feature "
                f"{ELIGIBLE_LEADER_REPLICAS}=1"
            )
        if not self.servers_checked:
            lines.append(
                "the brokers' settings were not checked: this principal may not describe them"
            )
        return lines


def ensure_topics(
    bootstrap: str,
    namespace: str = DEFAULT_NAMESPACE,
    *,
    partitions: int | None = None,
    replication_factor: int | None = None,
    client: Mapping[str, Any] | None = None,
    timeout_s: float = 30.0,
) -> Ensured:
    """Make a namespace's missing topics, check those that exist, and write down what they are.

    ``partitions`` is layout 0's count, and that of ``heads``, when they are made: 12 if unset; of
    topics that stand, ``meta`` says it. ``replication_factor`` is by default three, or as many as
    there are brokers; given, it is also the least that existing topics may have. ``client`` holds
    further settings of Kafka's client, for a secured cluster.

    On return every topic has its partitions, each with a leader, and settings under which no
    acknowledged event is lost, and ``meta`` holds the layouts and the schemas of this version. A
    topic that exists is never changed, and a second call writes nothing. Several processes may
    call this at once.

    Raises:
        BadNamespace: no topic name can be made of it.
        TopicMismatch: a topic exists and would lose or refuse events; names each setting.
        TopicGone: ``meta`` names a topic that is not there.
        ServerMismatch: a broker's settings would lose or refuse events.
        BrokenLog, NewerThanReader: see :func:`turnlog.log.meta.fold_meta`.
        BrokerUnavailable: no answer within ``timeout_s``.
        NotAuthorized: this principal may not make, read or write a topic.
        BrokerError: the cluster refuses for another reason, which the text gives.
    """
    first = meta_topic(namespace)
    settings = KafkaSettings(bootstrap=bootstrap, namespace=namespace, client=dict(client or {}))
    cluster = Cluster(settings, timeout_s)
    brokers = {each.id: (each.host, each.port) for each in cluster.metadata().brokers.values()}
    servers_checked = _check_servers(cluster, settings, list(brokers))
    standing = _Standing(
        cluster,
        settings,
        replicas_for(len(brokers)) if replication_factor is None else replication_factor,
        replicas_needed(len(brokers), replication_factor),
    )
    standing.stand([first], Meta())
    meta, plan = standing.settle(partitions)
    records = missing_records(meta, plan.layouts, plan.heads, PUBLISHED_SCHEMAS)
    if records:
        cluster.publish(first.name, records)
        meta = standing.read()
    level = None
    if len(brokers) > 1:
        level = eligible_leader_replicas(
            brokers.values(), settings.client, min(_ANSWER_S, cluster.left_s)
        )
    return Ensured(tuple(standing.made), meta, len(brokers), standing.least, level, servers_checked)


@dataclass(frozen=True)
class _Plan:
    """The counts that the topics must have."""

    layouts: Mapping[int, int]
    heads: int


@dataclass
class _Standing:
    """Topics made and checked; ``made`` grows, ``least`` is the least replicas of the last call."""

    cluster: Cluster
    settings: KafkaSettings
    replicas: int
    replicas_needed: int
    made: list[str] = field(default_factory=list)
    least: int = 0

    def stand(self, topics: list[Topic], meta: Meta) -> None:
        """Check the topics that exist; then make those that are missing, and check them too.

        In this order, so that nothing is made beside a topic that is refused.
        """
        there = self.cluster.metadata().topics
        missing = [topic for topic in topics if topic.name not in there]
        for topic in missing:
            if _spoken_of(topic.name, self.settings.namespace, meta):
                raise TopicGone(topic.name)
        counts = [self._check([topic for topic in topics if topic.name in there])]
        self.made += self.cluster.create(missing, self.replicas)
        counts.append(self._check(missing))
        self.least = min(count for count in counts if count is not None)

    def settle(self, partitions: int | None) -> tuple[Meta, _Plan]:
        """Make and check all topics; where another process is about it, see what it has made."""
        until = time.monotonic() + min(_SETTLE_S, self.cluster.left_s)
        while True:
            meta = self.read()
            plan = _plan(self.settings.namespace, meta, partitions)
            topics = all_topics(self.settings.namespace, layouts=plan.layouts, heads=plan.heads)
            try:
                self.stand(topics, meta)
            except TopicGone:
                if time.monotonic() >= until:
                    raise
            except TopicMismatch as error:
                may_settle = partitions is None and self._unsaid(error, meta)
                if not may_settle or time.monotonic() >= until:
                    raise
            else:
                return meta, plan
            time.sleep(_POLL_S)

    def read(self) -> Meta:
        """Read what meta says now."""
        return read_meta(self.settings, admin=self.cluster.admin, timeout_s=self.cluster.left_s)

    def _check(self, topics: list[Topic]) -> int | None:
        """Refuse topics that differ; gives the least replicas of any, None of none."""
        if not topics:
            return None
        found = self.cluster.find(topics)
        for topic in topics:
            differences = topic.differences(found[topic.name], self.replicas_needed)
            if differences:
                mend = mend_topic(self.settings.bootstrap, topic.name, differences)
                raise TopicMismatch(topic.name, differences, mend)
        return min(each.replicas for each in found.values())

    def _unsaid(self, error: TopicMismatch, meta: Meta) -> bool:
        """Tell whether only the count is other than assumed, and meta may yet say so."""
        settings = {each.setting for each in error.differences}
        spoken = _spoken_of(error.topic, self.settings.namespace, meta)
        return settings == {"partitions"} and not spoken


def _plan(namespace: str, meta: Meta, partitions: int | None) -> _Plan:
    """Choose the counts: what meta says, else what is asked for, else the default."""
    said = meta.layouts.get(0)
    if partitions is not None and said is not None and partitions != said:
        difference = Difference(
            "partitions",
            str(said),
            str(partitions),
            "meta says so since the topic was made, and it never changes",
            advice="call ensure_topics without partitions",
        )
        raise TopicMismatch(f"{namespace}.events.0", [difference], [str(difference.advice)])
    count = DEFAULT_PARTITIONS if partitions is None else partitions
    layouts = meta.layouts or {0: count}
    return _Plan(layouts, count if meta.heads is None else meta.heads)


def _spoken_of(topic: str, namespace: str, meta: Meta) -> bool:
    if topic == f"{namespace}.heads":
        return meta.heads is not None
    return topic in {f"{namespace}.events.{layout}" for layout in meta.layouts}


def _check_servers(cluster: Cluster, settings: KafkaSettings, brokers: list[int]) -> bool:
    """Refuse brokers that would lose events; tells whether they could be looked at."""
    found = cluster.server_settings(brokers)
    if found is None:
        return False
    for broker, values in found.items():
        checks = [rule.check(values.get(rule.setting)) for rule in server_rules()]
        differences = [each for each in checks if each is not None]
        if differences:
            mend = mend_server(settings.bootstrap, broker, differences)
            raise ServerMismatch(broker, differences, mend)
    return True
