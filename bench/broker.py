"""The broker of the benchmarks: `KAFKA_BOOTSTRAP`, else an embedded one with an empty log."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlog.broker import EmbeddedBroker, ensure_topics
from turnlog.broker.home import home_of
from turnlog.log import KafkaSettings

__all__ = ["broker", "new_log"]


@contextmanager
def broker() -> Iterator[str]:
    """The address of a Kafka."""
    named = os.environ.get("KAFKA_BOOTSTRAP", "").strip()
    if named:
        yield named
        return
    with (
        tempfile.TemporaryDirectory() as home,
        EmbeddedBroker(Path(home), jars=home_of(os.environ, Path.home()).jars) as embedded,
    ):
        yield embedded.bootstrap


def new_log(bootstrap: str) -> KafkaSettings:
    """The settings of an empty log in a namespace of its own."""
    namespace = f"bench-{uuid.uuid4().hex[:8]}"
    ensure_topics(bootstrap, namespace)
    return KafkaSettings(bootstrap=bootstrap, namespace=namespace)
