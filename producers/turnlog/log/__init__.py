"""Sessions on Kafka: the LogStore whose truth is a topic of commits."""

from .kafka_reader import KafkaReader
from .partition_log import LOG_START, FromOffset, FromTime, LogRecord, PartitionLog, Position
from .partitioner import partition_of
from .settings import KafkaSettings
from .store import KafkaLogStore, KafkaStore

__all__ = [
    "LOG_START",
    "FromOffset",
    "FromTime",
    "KafkaLogStore",
    "KafkaReader",
    "KafkaSettings",
    "KafkaStore",
    "LogRecord",
    "PartitionLog",
    "Position",
    "partition_of",
]
