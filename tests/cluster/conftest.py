"""A cluster of three nodes, once for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster, running_cluster
from tests.cluster.nodes import tools_of


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, jar_cache: Path) -> Iterator[Cluster]:
    """Three nodes in one cluster, whole; a test leaves it whole."""
    folder = tmp_path_factory.mktemp("cluster")
    with running_cluster(folder, tools_of(jar_cache), jar_cache) as cluster:
        yield cluster
