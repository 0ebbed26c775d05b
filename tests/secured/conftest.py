"""A node that asks for a password, once for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.nodes import tools_of
from tests.secured.broker import SecuredBroker, running_secured


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory, jar_cache: Path) -> Iterator[SecuredBroker]:
    """One node with TLS, passwords and rights by topic."""
    folder = tmp_path_factory.mktemp("secured")
    with running_secured(folder, tools_of(jar_cache), jar_cache) as broker:
        yield broker
