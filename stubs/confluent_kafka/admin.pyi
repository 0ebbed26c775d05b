from abc import ABC
from concurrent.futures import Future
from enum import Enum
from typing import Any, Self

from . import IsolationLevel, KafkaError, Node, TopicPartition

class BrokerMetadata:
    id: int
    host: str | None
    port: int

class PartitionMetadata:
    id: int
    leader: int
    replicas: list[int]
    isrs: list[int]
    error: KafkaError | None

class TopicMetadata:
    topic: str | None
    partitions: dict[int, PartitionMetadata]
    error: KafkaError | None

class ClusterMetadata:
    cluster_id: str | None
    controller_id: int
    brokers: dict[int, BrokerMetadata]
    topics: dict[str, TopicMetadata]

class NewTopic:
    def __init__(
        self,
        topic: str,
        num_partitions: int = ...,
        replication_factor: int = ...,
        replica_assignment: list[list[int]] | None = ...,
        config: dict[str, str] | None = ...,
    ) -> None: ...

class NewPartitions:
    def __init__(
        self,
        topic: str,
        new_total_count: int,
        replica_assignment: list[list[int]] | None = ...,
    ) -> None: ...

class OffsetSpec(ABC):
    def __new__(cls, index: int) -> Self: ...
    @classmethod
    def earliest(cls) -> OffsetSpec: ...
    @classmethod
    def latest(cls) -> OffsetSpec: ...
    @classmethod
    def max_timestamp(cls) -> OffsetSpec: ...
    @classmethod
    def for_timestamp(cls, timestamp: int) -> OffsetSpec: ...

class ListOffsetsResultInfo:
    offset: int
    timestamp: int
    leader_epoch: int | None
    def __init__(self, offset: int, timestamp: int, leader_epoch: int) -> None: ...

class ResourceType(Enum):
    TOPIC = ...
    GROUP = ...
    BROKER = ...

class AlterConfigOpType(Enum):
    SET = ...
    DELETE = ...
    APPEND = ...
    SUBTRACT = ...

class ConfigEntry:
    name: str
    value: str | None
    is_default: bool
    is_read_only: bool
    is_sensitive: bool
    def __init__(
        self,
        name: str,
        value: str | None,
        source: object = ...,
        is_read_only: bool = ...,
        is_default: bool = ...,
        is_sensitive: bool = ...,
        is_synonym: bool = ...,
        synonyms: dict[str, ConfigEntry] = ...,
        incremental_operation: object = ...,
    ) -> None: ...

class ConfigResource:
    restype: ResourceType
    name: str
    def __init__(
        self,
        restype: ResourceType | str | int,
        name: str,
        set_config: dict[str, str] | None = ...,
        described_configs: dict[str, ConfigEntry] | None = ...,
        error: KafkaError | None = ...,
        incremental_configs: list[ConfigEntry] | None = ...,
    ) -> None: ...
    def __hash__(self) -> int: ...

class ResourcePatternType(Enum):
    LITERAL = ...
    PREFIXED = ...

class AclOperation(Enum):
    READ = ...
    WRITE = ...
    CREATE = ...
    DESCRIBE = ...

class AclPermissionType(Enum):
    ALLOW = ...
    DENY = ...

class AclBinding:
    def __init__(
        self,
        restype: ResourceType | str | int,
        name: str,
        resource_pattern_type: ResourcePatternType | str | int,
        principal: str,
        host: str,
        operation: AclOperation | str | int,
        permission_type: AclPermissionType | str | int,
    ) -> None: ...
    def __hash__(self) -> int: ...

class AclBindingFilter(AclBinding): ...

class ConsumerGroupDescription:
    group_id: str
    coordinator: Node | None
    def __init__(
        self,
        group_id: str,
        is_simple_consumer_group: bool,
        members: list[Any],
        partition_assignor: str,
        state: object,
        coordinator: Node | None,
        authorized_operations: list[Any] | None = ...,
        type: object = ...,
    ) -> None: ...

class AdminClient:
    def __init__(self, conf: dict[str, Any]) -> None: ...
    def poll(self, timeout: float = ...) -> int: ...
    def list_topics(self, topic: str | None = ..., timeout: float = ...) -> ClusterMetadata: ...
    def create_topics(
        self,
        new_topics: list[NewTopic],
        *,
        operation_timeout: float = ...,
        request_timeout: float = ...,
        validate_only: bool = ...,
    ) -> dict[str, Future[None]]: ...
    def delete_records(
        self,
        topic_partition_offsets: list[TopicPartition],
        *,
        operation_timeout: float = ...,
        request_timeout: float = ...,
    ) -> dict[TopicPartition, Future[Any]]: ...
    def create_partitions(
        self,
        new_partitions: list[NewPartitions],
        *,
        operation_timeout: float = ...,
        request_timeout: float = ...,
        validate_only: bool = ...,
    ) -> dict[str, Future[None]]: ...
    def delete_topics(
        self, topics: list[str], *, operation_timeout: float = ..., request_timeout: float = ...
    ) -> dict[str, Future[None]]: ...
    def list_offsets(
        self,
        topic_partition_offsets: dict[TopicPartition, OffsetSpec],
        *,
        isolation_level: IsolationLevel = ...,
        request_timeout: float = ...,
    ) -> dict[TopicPartition, Future[ListOffsetsResultInfo]]: ...
    def describe_configs(
        self, resources: list[ConfigResource], *, request_timeout: float = ...
    ) -> dict[ConfigResource, Future[dict[str, ConfigEntry]]]: ...
    def incremental_alter_configs(
        self,
        resources: list[ConfigResource],
        *,
        request_timeout: float = ...,
        validate_only: bool = ...,
    ) -> dict[ConfigResource, Future[None]]: ...
    def create_acls(
        self, acls: list[AclBinding], *, request_timeout: float = ...
    ) -> dict[AclBinding, Future[None]]: ...
    def delete_acls(
        self, acl_binding_filters: list[AclBindingFilter], *, request_timeout: float = ...
    ) -> dict[AclBindingFilter, Future[list[AclBinding]]]: ...
    def describe_consumer_groups(
        self, group_ids: list[str], *, request_timeout: float = ...
    ) -> dict[str, Future[ConsumerGroupDescription]]: ...
