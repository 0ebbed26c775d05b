"""Where the commands find their Kafka, and whether a cluster that was named is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog.broker import EmbeddedBroker, bootstrap
from turnlog.broker.admin import cluster_id, connect
from turnlog.broker.bootstrap import CLUSTER_VARIABLE, named_cluster
from turnlog.events import BrokerUnavailable

__all__ = ["is_running", "reach"]

_ANSWER_S = 10.0


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
