"""Kafka for turnlog: an embedded node, or the cluster that is named, and its topics."""

from turnlog.broker.bootstrap import bootstrap
from turnlog.broker.embedded import EmbeddedBroker
from turnlog.broker.ensure import Ensured, ensure_topics
from turnlog.broker.errors import (
    BadNamespace,
    Difference,
    HomeUnusable,
    JarMismatch,
    JarUnavailable,
    JavaUnavailable,
    ServerMismatch,
    StartFailed,
    TopicGone,
    TopicMismatch,
)
from turnlog.broker.state import Running
from turnlog.broker.topics import (
    DEFAULT_NAMESPACE,
    DEFAULT_PARTITIONS,
    Topic,
    all_topics,
    events_topic,
    heads_topic,
    meta_topic,
)

__all__ = [
    "DEFAULT_NAMESPACE",
    "DEFAULT_PARTITIONS",
    "BadNamespace",
    "Difference",
    "EmbeddedBroker",
    "Ensured",
    "HomeUnusable",
    "JarMismatch",
    "JarUnavailable",
    "JavaUnavailable",
    "Running",
    "ServerMismatch",
    "StartFailed",
    "Topic",
    "TopicGone",
    "TopicMismatch",
    "all_topics",
    "bootstrap",
    "ensure_topics",
    "events_topic",
    "heads_topic",
    "meta_topic",
]
