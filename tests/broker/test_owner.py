"""Who a broker lives and dies with."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.support import Owner, eventually, launch_owner, owner
from turnlog.broker import EmbeddedBroker
from turnlog.broker.ports import listens
from turnlog.broker.process import identity, is_alive


@pytest.fixture
def home(tmp_path: Path, jar_cache: Path) -> Iterator[Path]:
    path = tmp_path / "home"
    yield path
    EmbeddedBroker(path, jars=jar_cache).stop()


def gone(found: Owner) -> bool:
    return not is_alive(found.pid, found.process)


@pytest.mark.parametrize("how", ["thread", "fork"])
def test_a_broker_ends_when_its_owner_is_killed(home: Path, jar_cache: Path, how: str) -> None:
    with owner(home, jar_cache, how) as first:
        assert not gone(first), "the end of the thread that started it is not its owner's"
        first.kill()
        forked = first.said["forked"]
        try:
            eventually(lambda: gone(first))
            if how == "fork":
                assert identity(forked) is not None, "a process that the owner forked still runs"
        finally:
            if forked is not None:
                os.kill(forked, signal.SIGKILL)


def test_a_broker_ends_when_its_owner_is_killed_while_it_starts(
    home: Path, jar_cache: Path
) -> None:
    child = launch_owner(home, jar_cache)
    with child:
        found = EmbeddedBroker(home, jars=jar_cache)
        eventually(lambda: found.status() is not None)
        running = found.status()
        child.kill()
    assert running is not None
    eventually(lambda: not is_alive(running.pid, running.process))
    assert not listens(running.client_port)


def test_a_start_right_after_the_owner_was_killed_does_not_take_the_dying_broker(
    home: Path, jar_cache: Path
) -> None:
    with owner(home, jar_cache) as first:
        first.kill()
        with EmbeddedBroker(home, jars=jar_cache) as second:
            found = second.status()
            assert found is not None
            assert found.process != first.process
            assert gone(first)


def test_a_broker_ends_when_its_watcher_is_killed(home: Path, jar_cache: Path) -> None:
    with owner(home, jar_cache) as first:
        stat = Path(f"/proc/{first.pid}/stat").read_text("ascii")
        watcher = int(stat[stat.rindex(")") + 1 :].split()[1])
        assert watcher != first.child.pid
        os.kill(watcher, signal.SIGKILL)
        eventually(lambda: gone(first))
        assert EmbeddedBroker(home, jars=jar_cache).status() is None


def test_a_broker_ends_with_an_owner_that_ends_without_stopping_it(
    home: Path, jar_cache: Path
) -> None:
    with owner(home, jar_cache) as first:
        pass
    eventually(lambda: gone(first))


def test_a_detached_broker_outlives_its_owner_and_is_ended_by_any_process(
    home: Path, jar_cache: Path
) -> None:
    with owner(home, jar_cache, "detached") as first:
        first.kill()
        broker = EmbeddedBroker(home, jars=jar_cache)
        assert broker.start() == first.said["bootstrap"]
        found = broker.status()
        assert found is not None
        assert found.pid == first.pid
        assert broker.stop()
        assert gone(first)
