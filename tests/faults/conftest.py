"""A broker that may be stopped and killed, once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.broker import Broker, running_broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker whose faults no other test feels; a test leaves it running."""
    with running_broker(tmp_path_factory.mktemp("faults-home")) as broker:
        yield broker
