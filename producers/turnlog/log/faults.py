"""The faults of a client's connections, which Kafka's client reports to a callback only."""

from __future__ import annotations

from confluent_kafka import KafkaError

from turnlog.events.errors import BrokerError, NotAuthorized

from .translate import translate

__all__ = ["ClientFaults"]


class ClientFaults:
    """Remembers the last fault of a client: its `error_cb`.

    `error` is why nothing comes, where that is known; a refusal of this principal stays.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self.error: BrokerError | None = None

    def __call__(self, error: KafkaError) -> None:
        """Take a fault as the client reports it."""
        if not isinstance(self.error, NotAuthorized):
            self.error = translate(error, self._bootstrap)
