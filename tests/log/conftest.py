"""Fixtures of the tests of the log on Kafka."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from turnlog.broker import ensure_topics
from turnlog.log import KafkaSettings, KafkaStore

Stores = Callable[..., KafkaStore]


@pytest.fixture
def settings(kafka: str, namespace: str) -> KafkaSettings:
    """The settings of an empty log of four partitions."""
    ensure_topics(kafka, namespace, partitions=4)
    return KafkaSettings(bootstrap=kafka, namespace=namespace)


@pytest.fixture
def stores(settings: KafkaSettings) -> Iterator[Stores]:
    """Makes stores over one log, as processes that follow or race each other would."""
    made: list[KafkaStore] = []

    def make(**options: Any) -> KafkaStore:
        made.append(KafkaStore(settings, **options))
        return made[-1]

    yield make
    for store in made:
        store.close()
