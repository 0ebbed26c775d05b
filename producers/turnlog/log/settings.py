"""The settings of a Kafka store: one frozen object, made at the edge."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from importlib.metadata import version

import msgspec

__all__ = ["KafkaSettings", "default_writer_info"]


class KafkaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the log is and how it is spoken to; `client` holds further librdkafka settings.

    `layout` is the partition layout in which new sessions are born. Secrets in `client` don't show
    in `repr`.
    """

    bootstrap: str
    namespace: str = "turnlog"
    layout: int = 0
    client: Mapping[str, str] = {}

    @property
    def events_topic(self) -> str:
        """The topic of the layout's commits."""
        return f"{self.namespace}.events.{self.layout}"

    def __repr__(self) -> str:
        return f"KafkaSettings(bootstrap={self.bootstrap!r}, namespace={self.namespace!r})"


def default_writer_info() -> dict[str, str]:
    """What a commit says of the process that wrote it: service, host, process and version."""
    return {
        "service": "turnlog",
        "host": socket.gethostname(),
        "pid": str(os.getpid()),
        "version": version("turnlog"),
    }
