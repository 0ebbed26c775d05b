# What turnlog uses of confluent-kafka. The types that it ships leave results of futures and of
# list_topics unknown, and its admin module re-exports nothing to a strict checker.

from collections.abc import Callable
from enum import Enum
from types import TracebackType
from typing import Any, Self

from .admin import ClusterMetadata

OFFSET_BEGINNING: int
OFFSET_END: int
OFFSET_INVALID: int
OFFSET_STORED: int

TIMESTAMP_NOT_AVAILABLE: int
TIMESTAMP_CREATE_TIME: int
TIMESTAMP_LOG_APPEND_TIME: int

def version() -> str: ...
def libversion() -> tuple[str, int]: ...

class IsolationLevel(Enum):
    READ_UNCOMMITTED = ...
    READ_COMMITTED = ...

class KafkaError:
    NO_ERROR: int
    BROKER_NOT_AVAILABLE: int
    CLUSTER_AUTHORIZATION_FAILED: int
    FENCED_LEADER_EPOCH: int
    GROUP_AUTHORIZATION_FAILED: int
    INVALID_CONFIG: int
    INVALID_MSG_SIZE: int
    INVALID_PRODUCER_EPOCH: int
    INVALID_PRODUCER_ID_MAPPING: int
    LEADER_NOT_AVAILABLE: int
    MSG_SIZE_TOO_LARGE: int
    NETWORK_EXCEPTION: int
    NOT_ENOUGH_REPLICAS: int
    NOT_ENOUGH_REPLICAS_AFTER_APPEND: int
    NOT_LEADER_FOR_PARTITION: int
    OFFSET_NOT_AVAILABLE: int
    OFFSET_OUT_OF_RANGE: int
    OUT_OF_ORDER_SEQUENCE_NUMBER: int
    POLICY_VIOLATION: int
    RECORD_LIST_TOO_LARGE: int
    REQUEST_TIMED_OUT: int
    SASL_AUTHENTICATION_FAILED: int
    TOPIC_ALREADY_EXISTS: int
    TOPIC_AUTHORIZATION_FAILED: int
    UNKNOWN_LEADER_EPOCH: int
    UNKNOWN_PRODUCER_ID: int
    UNKNOWN_TOPIC_OR_PART: int
    _ALL_BROKERS_DOWN: int
    _AUTHENTICATION: int
    _AUTO_OFFSET_RESET: int
    _FATAL: int
    _FENCED: int
    _GAPLESS_GUARANTEE: int
    _INVALID_ARG: int
    _LOG_TRUNCATION: int
    _MAX_POLL_EXCEEDED: int
    _MSG_TIMED_OUT: int
    _PARTITION_EOF: int
    _PURGE_INFLIGHT: int
    _PURGE_QUEUE: int
    _QUEUE_FULL: int
    _RESOLVE: int
    _SSL: int
    _STATE: int
    _TIMED_OUT: int
    _TIMED_OUT_QUEUE: int
    _DESTROY: int
    _TRANSPORT: int
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: int
    _UNKNOWN_PARTITION: int
    _UNKNOWN_TOPIC: int

    def __init__(
        self,
        error: int,
        reason: str | None = ...,
        fatal: bool = ...,
        retriable: bool = ...,
        txn_requires_abort: bool = ...,
    ) -> None: ...
    def code(self) -> int: ...
    def name(self) -> str: ...
    def str(self) -> str: ...
    def fatal(self) -> bool: ...
    def retriable(self) -> bool: ...

class KafkaException(Exception): ...

class Message:
    def __init__(self, *args: object, **kwargs: object) -> None: ...
    def topic(self) -> str | None: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def key(self) -> bytes | None: ...
    def value(self) -> bytes | None: ...
    def headers(self) -> list[tuple[str, bytes | None]] | None: ...
    def error(self) -> KafkaError | None: ...
    def timestamp(self) -> tuple[int, int]: ...
    def latency(self) -> float | None: ...
    def leader_epoch(self) -> int | None: ...

class TopicPartition:
    topic: str
    partition: int
    offset: int
    leader_epoch: int
    metadata: str | None
    error: KafkaError | None
    def __init__(
        self,
        topic: str,
        partition: int = ...,
        offset: int = ...,
        metadata: str | None = ...,
        leader_epoch: int | None = ...,
    ) -> None: ...
    def __hash__(self) -> int: ...
    def __lt__(self, other: TopicPartition, /) -> bool: ...

class Producer:
    def __init__(self, config: dict[str, Any], /) -> None: ...
    def produce(
        self,
        topic: str,
        value: str | bytes | None = ...,
        key: str | bytes | None = ...,
        partition: int = ...,
        callback: Callable[[KafkaError | None, Message], None] | None = ...,
        on_delivery: Callable[[KafkaError | None, Message], None] | None = ...,
        timestamp: int = ...,
        headers: dict[str, str | bytes | None] | list[tuple[str, str | bytes | None]] | None = ...,
    ) -> None: ...
    def poll(self, timeout: float = ...) -> int: ...
    def flush(self, timeout: float = ...) -> int: ...
    def purge(self, in_queue: bool = ..., in_flight: bool = ..., blocking: bool = ...) -> None: ...
    def list_topics(self, topic: str | None = ..., timeout: float = ...) -> ClusterMetadata: ...
    def close(self) -> bool: ...
    def __len__(self) -> int: ...

class Consumer:
    def __init__(self, config: dict[str, Any], /) -> None: ...
    def assign(self, partitions: list[TopicPartition]) -> None: ...
    def incremental_assign(self, partitions: list[TopicPartition]) -> None: ...
    def incremental_unassign(self, partitions: list[TopicPartition]) -> None: ...
    def unassign(self) -> None: ...
    def assignment(self) -> list[TopicPartition]: ...
    def poll(self, timeout: float = ...) -> Message | None: ...
    def consume(self, num_messages: int = ..., timeout: float = ...) -> list[Message]: ...
    def seek(self, partition: TopicPartition) -> None: ...
    def pause(self, partitions: list[TopicPartition]) -> None: ...
    def resume(self, partitions: list[TopicPartition]) -> None: ...
    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]: ...
    def offsets_for_times(
        self, partitions: list[TopicPartition], timeout: float = ...
    ) -> list[TopicPartition]: ...
    def list_topics(self, topic: str | None = ..., timeout: float = ...) -> ClusterMetadata: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        exc_traceback: TracebackType | None,
    ) -> None: ...
