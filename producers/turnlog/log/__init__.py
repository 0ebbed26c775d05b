"""Sessions on Kafka: the LogStore whose truth is a topic of commits."""

from .partitioner import partition_of
from .settings import KafkaSettings
from .store import KafkaLogStore, KafkaStore

__all__ = ["KafkaLogStore", "KafkaSettings", "KafkaStore", "partition_of"]
