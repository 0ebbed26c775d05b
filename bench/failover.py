"""Kill the nodes of a cluster of three, again and again, under writers: part of the soak."""

from __future__ import annotations

import os
import tempfile
import uuid
from pathlib import Path

from bench.report import at_least, at_most
from tests.cluster.cluster import Cluster, running_cluster
from tests.cluster.failover import MOST_PAUSE_S, PARTS, Diary, kill, load
from tests.cluster.nodes import tools_of
from turnlog.broker.home import home_of

__all__ = ["run"]

_KILLS_EACH = 5


def run(times: float) -> bool:
    """Kill each part 5 times, times `times`; false where an acknowledged event was not in place."""
    kills = max(1, round(_KILLS_EACH * times))
    jars = home_of(os.environ, Path.home()).jars
    sound = True
    with (
        tempfile.TemporaryDirectory(prefix="turnlog-failover-") as folder,
        running_cluster(Path(folder), tools_of(jars), jars) as cluster,
    ):
        for part in PARTS:
            sound &= _kill_again(cluster, part, kills, Path(folder))
    return sound


def _kill_again(cluster: Cluster, part: str, kills: int, folder: Path) -> bool:
    namespace = f"soak-{uuid.uuid4().hex[:12]}"

    def disturb(diary: Diary) -> None:
        for _ in range(kills):
            kill(cluster, namespace, part, diary)

    result = load(cluster, namespace, folder, disturb)
    for fault in result.faults[:20]:
        print(f"# {fault}", flush=True)
    at_least(f"failover-{part}-kills", [kills], "kills", _KILLS_EACH)
    at_least(f"failover-{part}-flushes", [result.flushes], "flushes", 1)
    at_most(f"failover-{part}-pause", [result.longest_flush_s], "s", MOST_PAUSE_S)
    return at_most(f"failover-{part}-wrong", [len(result.faults)], "events", 0)
