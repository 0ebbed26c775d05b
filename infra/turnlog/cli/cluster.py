"""Where the commands find their Kafka, and whether a cluster that was named is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException

from turnlog.broker import EmbeddedBroker, bootstrap, events_topic
from turnlog.broker.admin import cluster_id, connect
from turnlog.broker.bootstrap import CLUSTER_VARIABLE, named_cluster
from turnlog.events import BrokerError, BrokerUnavailable

__all__ = ["NoTopics", "check_topics", "is_running", "reach"]

_ANSWER_S = 10.0


class NoTopics(BrokerError):
    """A namespace that nothing was ever written to."""

    def __init__(self, namespace: str, bootstrap: str) -> None:
        self.namespace = namespace
        super().__init__(
            f"no topics of namespace {namespace!r} at {bootstrap}: `turnlog up` makes them"
        )


def check_topics(bootstrap: str, namespace: str, client: Mapping[str, Any]) -> None:
    """Refuse a namespace without topics. Raises NoTopics; what else is wrong, others say."""
    try:
        there = connect(bootstrap, client).list_topics(timeout=_ANSWER_S).topics
    except KafkaException:
        return
    if events_topic(namespace).name not in there:
        raise NoTopics(namespace, bootstrap)


def is_running(env: Mapping[str, str]) -> bool:
    """Whether a cluster is named, or the embedded broker runs already. Raises BrokerUnavailable."""
    return named_cluster(env) is not None or EmbeddedBroker().status() is not None


def reach(
    env: Mapping[str, str],
    *,
    client: Mapping[str, Any] | None = None,
    timeout_s: float = _ANSWER_S,
) -> str:
    """Give the address of a Kafka that answers: the cluster that is named, or the embedded broker.

    A named cluster has `timeout_s` to answer, so that a wrong address is not waited for as long as
    a slow start. Raises BrokerUnavailable naming address and variable; BrokerError of a start.
    """
    named = named_cluster(env)
    if named is None:
        return bootstrap(env=env)
    if cluster_id(connect(named, client), timeout_s) is None:
        raise BrokerUnavailable(
            f"no Kafka answered at {named} within {timeout_s:g} s: correct the address in "
            f"{CLUSTER_VARIABLE}, or unset it to use the embedded Kafka"
        )
    return named
