"""Making Kafka's clients, so that what keeps them from the broker is said in our words."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from turnlog.events.errors import BadShape, BrokerUnavailable, NotAuthorized

from .faults import ClientFaults
from .settings import KafkaSettings

__all__ = ["CONNECT_S", "admin_client", "consumer_client", "producer_client"]

CONNECT_S = 10.0
"""Time in which a cluster must have answered a new client."""

_SLICE_S = 0.5
_CLIENT_LOG = logging.getLogger("turnlog.kafka")

_Client = TypeVar("_Client")


def admin_client(settings: KafkaSettings, timeout_s: float) -> AdminClient:
    """An admin client that has reached the cluster.

    Raises NotAuthorized as soon as the cluster refuses the password or the certificate, or this
    side the cluster's; BrokerUnavailable where nobody answers in time; BadShape for client settings
    that are none.
    """
    faults = ClientFaults(settings.bootstrap)
    admin = _made(AdminClient, {**settings.admin(), "error_cb": faults})
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            admin.list_topics(timeout=_SLICE_S)
        except KafkaException as exception:
            admin.poll(0)  # which calls error_cb
            if isinstance(faults.error, NotAuthorized):
                raise faults.error from exception
            if time.monotonic() > deadline:
                raise faults.error or BrokerUnavailable(
                    f"{settings.bootstrap} does not answer"
                ) from exception
        else:
            return admin


def producer_client(settings: KafkaSettings, faults: ClientFaults) -> Producer:
    """A producer with the settings of the protocol. Raises BadShape."""
    return _made(Producer, {**settings.producer(), "error_cb": faults, "logger": _CLIENT_LOG})


def consumer_client(
    settings: KafkaSettings, faults: ClientFaults, more: Mapping[str, Any] | None = None
) -> Consumer:
    """A consumer with the settings of the ledger. Raises BadShape."""
    config = {**settings.consumer(), **(more or {}), "error_cb": faults, "logger": _CLIENT_LOG}
    return _made(Consumer, config)


def _made(make: Callable[[dict[str, Any]], _Client], config: dict[str, Any]) -> _Client:
    try:
        return make(config)
    except KafkaException as exception:
        error = exception.args[0]
        raise BadShape("client", "settings that Kafka's client takes", error.str()) from exception
