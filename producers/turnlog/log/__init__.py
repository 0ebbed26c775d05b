"""Sessions on Kafka: the LogStore whose truth is a topic of commits."""

from .partition_log import LOG_START, FromOffset, FromTime, LogRecord, PartitionLog, Position
from .partitioner import partition_of
from .settings import KafkaSettings
from .store import KafkaLogStore, KafkaStore

__all__ = [
    "LOG_START",
    "FromOffset",
    "FromTime",
    "KafkaLogStore",
    "KafkaSettings",
    "KafkaStore",
    "LogRecord",
    "PartitionLog",
    "Position",
    "partition_of",
]
