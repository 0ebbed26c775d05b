"""Where Kafka is: the one question that the rest asks."""

from __future__ import annotations

import locale
import os
from collections.abc import Mapping
from pathlib import Path

from turnlog.broker.embedded import EmbeddedBroker
from turnlog.broker.errors import BrokerUnavailable, HomeUnusable
from turnlog.broker.home import HOME_VARIABLE, JARS_VARIABLE, Home

#: The environment variable that names a cluster of one's own.
CLUSTER_VARIABLE = "KAFKA_BOOTSTRAP"


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
        BrokerUnavailable: see :func:`named_cluster`.
        HomeUnusable: see :func:`refuse_unreadable`.
        BrokerError: see :meth:`turnlog.broker.embedded.EmbeddedBroker.start`.
    """
    named = named_cluster(os.environ if env is None else env)
    if named is not None:
        return named
    broker = EmbeddedBroker(home, detached=detached)
    if broker.status() is None:
        refuse_unreadable(broker.home, locale.getencoding())
    return broker.start(timeout_s=timeout_s)


def named_cluster(env: Mapping[str, str]) -> str | None:
    """Give the address that the environment names; ``None`` where the embedded broker is meant.

    Raises:
        BrokerUnavailable: its bytes are no text, which Kafka's client could not take.
    """
    named = env.get(CLUSTER_VARIABLE, "").strip()
    try:
        named.encode("utf-8")
    except UnicodeEncodeError:
        raise BrokerUnavailable(
            f"{CLUSTER_VARIABLE}: expected host:port in UTF-8, found {os.fsencode(named)!r}"
        ) from None
    return named or None


def refuse_unreadable(home: Home, encoding: str) -> None:
    """Refuse paths that a Java started under this locale's encoding would not find.

    Raises:
        HomeUnusable: the encoding lacks a character of the path.
    """
    for path, variable in ((home.path, HOME_VARIABLE), (home.jars, JARS_VARIABLE)):
        try:
            str(path).encode(encoding)
        except UnicodeEncodeError:
            reason = f"expected a path that Java finds in this locale ({encoding}; UTF-8 has all)"
            raise HomeUnusable(path, reason, variable) from None
