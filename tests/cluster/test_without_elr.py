"""A cluster whose failover may take back what was read: writers wait for delivery reports too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster, running_cluster
from tests.cluster.failover import kill, load
from tests.cluster.nodes import tools_of
from turnlog.broker import ensure_topics
from turnlog.log.features import ELIGIBLE_LEADER_REPLICAS


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, jar_cache: Path) -> Iterator[Cluster]:
    """Three nodes with the feature switched off."""
    folder = tmp_path_factory.mktemp("cluster-without-elr")
    off = ("--feature", f"{ELIGIBLE_LEADER_REPLICAS}=0")
    tools = tools_of(jar_cache)
    with running_cluster(folder, tools, jar_cache, format_options=off) as cluster:
        yield cluster


def test_nothing_is_lost_when_a_leader_is_killed_under_load(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    ensured = ensure_topics(cluster.bootstrap, namespace)
    assert ensured.needs_delivery_reports
    assert ensured.eligible_leader_replicas == 0
    result = load(cluster, namespace, tmp_path, partial(kill, cluster, namespace, "leader"))
    assert result.faults == []
