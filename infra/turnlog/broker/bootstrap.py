"""Where Kafka is: the one question that the rest asks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from turnlog.broker.embedded import EmbeddedBroker


def bootstrap(
    *,
    env: Mapping[str, str] | None = None,
    home: Path | None = None,
    detached: bool = False,
    timeout_s: float = 60.0,
) -> str:
    """Give ``KAFKA_BOOTSTRAP`` if it is set, else the embedded broker's address, starting it.

    A cluster that is named is not asked whether it is there. ``env`` defaults to the process's.

    Raises:
        BrokerError: see :meth:`turnlog.broker.embedded.EmbeddedBroker.start`.
    """
    named = (os.environ if env is None else env).get("KAFKA_BOOTSTRAP", "").strip()
    if named:
        return named
    return EmbeddedBroker(home, detached=detached).start(timeout_s=timeout_s)
