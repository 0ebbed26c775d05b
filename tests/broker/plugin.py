"""Fixtures of a real Kafka, for every test that wants one.

A pytest plugin: ``pytest_plugins = ["tests.broker.plugin"]`` in the top conftest. There is one
broker for a whole run, so a test takes a namespace of its own.
"""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnlog.broker import EmbeddedBroker
from turnlog.broker.home import home_of


@pytest.fixture(scope="session")
def jar_cache() -> Path:
    """Kafka's jars, where the user's own broker keeps them: one download for all runs."""
    return home_of(os.environ, Path.home()).jars


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory, jar_cache: Path) -> Iterator[str]:
    """The address of a Kafka: ``KAFKA_BOOTSTRAP``, else an embedded one with an empty log."""
    named = os.environ.get("KAFKA_BOOTSTRAP", "").strip()
    if named:
        yield named
        return
    home = tmp_path_factory.mktemp("turnlog-home")
    with EmbeddedBroker(home, jars=jar_cache) as broker:
        yield broker.bootstrap


@pytest.fixture
def namespace() -> str:
    """A namespace that no other test has."""
    return f"test-{uuid.uuid4().hex[:12]}"
