"""Kafka for turnlog: an embedded node, or the cluster that is named, and its topics."""

from turnlog.broker.admin import ensure_topics
from turnlog.broker.bootstrap import bootstrap
from turnlog.broker.embedded import EmbeddedBroker
from turnlog.broker.errors import (
    BadNamespace,
    Difference,
    HomeUnusable,
    JarMismatch,
    JarUnavailable,
    JavaUnavailable,
    StartFailed,
    TopicMismatch,
)
from turnlog.broker.settings import MAX_RECORD_BYTES
from turnlog.broker.state import Running
from turnlog.broker.topics import (
    DEFAULT_NAMESPACE,
    DEFAULT_PARTITIONS,
    Topic,
    all_topics,
    events_topic,
)

__all__ = [
    "DEFAULT_NAMESPACE",
    "DEFAULT_PARTITIONS",
    "MAX_RECORD_BYTES",
    "BadNamespace",
    "Difference",
    "EmbeddedBroker",
    "HomeUnusable",
    "JarMismatch",
    "JarUnavailable",
    "JavaUnavailable",
    "Running",
    "StartFailed",
    "Topic",
    "TopicMismatch",
    "all_topics",
    "bootstrap",
    "ensure_topics",
    "events_topic",
]
