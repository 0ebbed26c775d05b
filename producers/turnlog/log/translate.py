"""Kafka's client errors in our words; nothing else here looks at a KafkaError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException

from turnlog.events.errors import BrokerError, BrokerUnavailable, NotAuthorized

__all__ = ["ERRORS", "UNLED", "translate", "translated"]

ERRORS: dict[int, type[BrokerError]] = {
    KafkaError._TRANSPORT: BrokerUnavailable,
    KafkaError._ALL_BROKERS_DOWN: BrokerUnavailable,
    KafkaError._TIMED_OUT: BrokerUnavailable,
    KafkaError._MSG_TIMED_OUT: BrokerUnavailable,
    KafkaError._RESOLVE: BrokerUnavailable,
    KafkaError._DESTROY: BrokerUnavailable,
    KafkaError._NOENT: BrokerUnavailable,
    KafkaError._AUTHENTICATION: NotAuthorized,
    KafkaError._SSL: NotAuthorized,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: NotAuthorized,
    KafkaError.GROUP_AUTHORIZATION_FAILED: NotAuthorized,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: NotAuthorized,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: NotAuthorized,
    KafkaError.SASL_AUTHENTICATION_FAILED: NotAuthorized,
    KafkaError.BROKER_NOT_AVAILABLE: BrokerUnavailable,
    KafkaError.LEADER_NOT_AVAILABLE: BrokerUnavailable,
    KafkaError.NOT_LEADER_FOR_PARTITION: BrokerUnavailable,
    KafkaError.NOT_ENOUGH_REPLICAS: BrokerUnavailable,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND: BrokerUnavailable,
    KafkaError.REQUEST_TIMED_OUT: BrokerUnavailable,
    KafkaError.NETWORK_EXCEPTION: BrokerUnavailable,
    KafkaError.FENCED_LEADER_EPOCH: BrokerUnavailable,
}
"""What each known client error is to our users; any other code is a plain BrokerError."""

UNLED = frozenset({KafkaError.LEADER_NOT_AVAILABLE, KafkaError._NOENT})
"""Says, of a partition that exists, that no leader of it is known now: soon after a start."""


def translate(error: KafkaError, resource: str) -> BrokerError:
    """Give our error for Kafka's; `resource` names the topic, group or cluster asked for."""
    kind = ERRORS.get(error.code(), BrokerError)
    if kind is NotAuthorized:
        return NotAuthorized(f"{resource}: {error.str()}")
    return kind(f"{resource}: {error.str()} ({error.name()})")


@contextmanager
def translated(resource: str) -> Iterator[None]:
    """Raise Kafka's exceptions from the body as ours."""
    try:
        yield
    except KafkaException as exception:
        raise translate(exception.args[0], resource) from exception
