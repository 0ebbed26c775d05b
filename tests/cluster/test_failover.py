"""Sessions go on while the nodes that serve them are killed and paused, and nothing is lost."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.failover import (
    MOST_PAUSE_S,
    PARTS,
    Flush,
    Found,
    Result,
    kill,
    load,
    pause,
    wrong,
)
from turnlog.broker import DEFAULT_PARTITIONS, ensure_topics

# Longer than the 2 s after which the others take over.
PAUSED_S = 5.0


def show(name: str, result: Result, capsys: pytest.CaptureFixture[str]) -> None:
    """Print what the fault cost; no test fails for it."""
    longest_s = result.longest_flush_s
    verdict = "ok" if longest_s <= MOST_PAUSE_S else "short"
    with capsys.disabled():
        print(f"\nbar failover-{name}-pause {longest_s:.3g} s {MOST_PAUSE_S:g} {verdict}")


def test_topics_have_three_replicas_of_which_two_must_be_in_sync(
    cluster: Cluster, namespace: str
) -> None:
    ensured = ensure_topics(cluster.bootstrap, namespace)
    assert (ensured.brokers, ensured.replicas) == (3, 3)
    assert ensured.warnings == []
    assert cluster.topic_setting(f"{namespace}.events.0", "min.insync.replicas") == "2"
    assert cluster.replicas(f"{namespace}.events.0") == [3] * DEFAULT_PARTITIONS


@pytest.mark.parametrize("part", PARTS)
def test_nothing_is_lost_when_a_node_is_killed_under_load(
    part: str,
    cluster: Cluster,
    namespace: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = load(cluster, namespace, tmp_path, partial(kill, cluster, namespace, part))
    assert result.faults == []
    show(part, result, capsys)


def test_a_leader_that_was_paused_and_comes_back_loses_nothing(
    cluster: Cluster, namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disturb = partial(pause, cluster, namespace, "leader", PAUSED_S)
    result = load(cluster, namespace, tmp_path, disturb)
    assert result.faults == []
    show("paused-leader", result, capsys)


EVENTS = [(0, "plan/mode", {"token": "a"}), (1, "assistant/chunk", {"chunk": {"text": "b"}})]
SOUND = Found({"s": EVENTS}, ["s"], {"accepted": 3})
FLUSHES = [Flush("s", [(0, "a")], 0.1), Flush("s", [(1, "b")], 0.1)]


def test_the_check_passes_a_sound_log() -> None:
    assert wrong(FLUSHES, SOUND) == []


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (Found({"s": EVENTS[:1]}, ["s"], {}), "acknowledged at 1"),
        (Found({"s": [*EVENTS, (2, "plan/mode", {"token": "a"})]}, ["s"], {}), "stands at"),
        (Found({"s": EVENTS, "t": EVENTS[:1]}, ["s", "t"], {}), "stands at"),
        (Found({"s": [(1, *EVENTS[0][1:]), (0, *EVENTS[1][1:])]}, ["s"], {}), "not dense"),
        (Found({"s": []}, ["s"], {}), "acknowledged at 0"),
        (Found({}, [], {}), "acknowledged at 0"),
        (Found({"s": EVENTS}, [], {}), "without a release"),
        (Found({"s": EVENTS}, ["s"], {"broken": 1}), "broken"),
    ],
)
def test_the_check_finds_what_is_wrong(found: Found, fault: str) -> None:
    assert any(fault in line for line in wrong(FLUSHES, found))
