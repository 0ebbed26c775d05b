"""The settings of a Kafka store: one frozen object, made at the edge."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import msgspec

from turnlog.events.avro import MAX_RECORD_BYTES

__all__ = ["KafkaSettings", "default_writer_info"]

_CLIENT_DEFAULTS = {
    "log_level": 0,
    # A broker that comes back is found within a second, not in up to ten.
    "reconnect.backoff.max.ms": 1_000,
}
_PRODUCER = {
    "acks": "all",
    "enable.idempotence": True,
    "partitioner": "murmur2_random",
    "message.max.bytes": MAX_RECORD_BYTES,
}
_PRODUCER_DEFAULTS = {
    "linger.ms": 0,
    "message.timeout.ms": 30_000,  # longer than a failover
    "compression.type": "none",  # bodies are compressed already
}
_CONSUMER = {
    # No group membership and no stored offsets: a reader knows its own position.
    "group.id": "turnlog-unused",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    # All readers of the ledger must see the same records, whatever a foreign transaction did.
    "isolation.level": "read_uncommitted",
    # The end of a partition as seen by the consumer passes transaction markers, which no record is.
    "enable.partition.eof": True,
    "fetch.max.bytes": MAX_RECORD_BYTES,
}
_CONSUMER_DEFAULTS = {
    "fetch.min.bytes": 1,
    "fetch.wait.max.ms": 100,
    # A queue that is full once is looked at again after a second, by default: it may never be the
    # number of messages that fills it.
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 32 * 1024,
    "fetch.queue.backoff.ms": 10,
    "check.crcs": True,
}


class KafkaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the log is and how it is spoken to; `client` holds further librdkafka settings.

    `layout` is the partition layout in which new sessions are born, and `home_partitions` those of
    its partitions that new ids are minted for; None means all. `read_back_s` is the time after
    which the outcome of a commit that was not read back is taken to be unknown. `writer_info` is
    what the records that open, claim and release a session say of who wrote them, beside service,
    host, process and version. Secrets in `client` don't show in `repr`.
    """

    bootstrap: str
    namespace: str = "turnlog"
    layout: int = 0
    home_partitions: tuple[int, ...] | None = None
    read_back_s: float = 30.0
    writer_info: Mapping[str, str] = {}
    client: Mapping[str, Any] = {}

    @property
    def events_topic(self) -> str:
        """The topic of the layout's commits."""
        return f"{self.namespace}.events.{self.layout}"

    @property
    def heads_topic(self) -> str:
        """The topic of the hints."""
        return f"{self.namespace}.heads"

    def admin(self) -> dict[str, Any]:
        """The settings of an admin client."""
        return {**_CLIENT_DEFAULTS, **self.client, "bootstrap.servers": self.bootstrap}

    def producer(self) -> dict[str, Any]:
        """The settings of a producer; what the protocol rests on can't be changed by `client`."""
        return {**_PRODUCER_DEFAULTS, **self.admin(), **_PRODUCER}

    def consumer(self) -> dict[str, Any]:
        """The settings of a consumer; what the ledger rests on can't be changed by `client`."""
        return {**_CONSUMER_DEFAULTS, **self.admin(), **_CONSUMER}

    def __repr__(self) -> str:
        return f"KafkaSettings(bootstrap={self.bootstrap!r}, namespace={self.namespace!r})"


def default_writer_info() -> dict[str, str]:
    """What a claim says of the process that made it: service, host, process and version."""
    return {
        "service": "turnlog",
        "host": socket.gethostname(),
        "pid": str(os.getpid()),
        "version": version("turnlog"),
    }
