"""Starting, finding and ending the real broker of a home."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.broker.support import eventually, hear, launch_owner, let_go, owner
from turnlog.broker import EmbeddedBroker, Running, StartFailed, bootstrap, ensure_topics
from turnlog.broker.admin import cluster_id, connect
from turnlog.broker.errors import BrokerUnavailable
from turnlog.broker.ports import free_ports, listens
from turnlog.broker.process import identity, is_alive
from turnlog.broker.settings import Ports
from turnlog.broker.state import write_state

Make = Callable[..., EmbeddedBroker]


@pytest.fixture
def make(tmp_path: Path, jar_cache: Path) -> Iterator[Make]:
    """Make broker objects of one home; what runs there at the end is ended."""

    def factory(**options: object) -> EmbeddedBroker:
        return EmbeddedBroker(tmp_path / "home", jars=jar_cache, **options)  # type: ignore[arg-type]

    yield factory
    factory().stop()


def running(broker: EmbeddedBroker) -> Running:
    found = broker.status()
    assert found is not None
    return found


def test_a_started_broker_answers_on_this_machine_only_and_a_stopped_one_is_gone(
    make: Make,
) -> None:
    broker = make()
    assert broker.status() is None
    address = broker.start()
    found = running(broker)
    assert address == found.bootstrap == f"127.0.0.1:{found.client_port}"
    assert cluster_id(connect(address), 5.0) == found.cluster_id
    for family, outside in [(socket.AF_INET, "127.0.0.2"), (socket.AF_INET6, "::1")]:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            assert probe.connect_ex((outside, found.client_port)) != 0
    assert broker.stop()
    assert broker.status() is None
    assert not is_alive(found.pid, found.process)
    assert not listens(found.client_port)
    assert not broker.stop()


def test_a_second_start_finds_the_first_in_any_process(
    make: Make, tmp_path: Path, jar_cache: Path
) -> None:
    with make() as first:
        assert make().start() == first.bootstrap
        with owner(tmp_path / "home", jar_cache) as other:
            assert other.pid == running(first).pid
        assert running(first).pid == other.pid, "its end is not the broker's"
        with make() as second:
            assert second.bootstrap == first.bootstrap
        assert first.status() is not None, "who only found it does not end it"
    assert first.status() is None


def test_starts_at_the_same_time_make_one_broker(
    make: Make, tmp_path: Path, jar_cache: Path
) -> None:
    children = [launch_owner(tmp_path / "home", jar_cache, "detached") for _ in range(3)]
    try:
        assert len({hear(child).pid for child in children}) == 1
    finally:
        for child in children:
            let_go(child)
    assert make().stop()


def test_a_running_broker_is_found_without_java_jars_or_room(make: Make, tmp_path: Path) -> None:
    with make() as first:
        nothing = EmbeddedBroker(
            tmp_path / "home", jars=tmp_path / "none", java=tmp_path / "no-java"
        )
        assert nothing.start() == first.bootstrap


def test_a_broker_that_was_killed_starts_again_with_its_log(make: Make, namespace: str) -> None:
    broker = make()
    ensure_topics(broker.start(), namespace)
    first = running(broker)
    os.kill(first.pid, signal.SIGKILL)
    eventually(lambda: broker.status() is None)
    assert ensure_topics(broker.start(), namespace).made == ()


def test_a_restart_keeps_the_log_and_the_address(make: Make, namespace: str) -> None:
    broker = make()
    address = broker.start()
    cluster = running(broker).cluster_id
    assert len(ensure_topics(address, namespace).made) == 3
    broker.stop()
    assert broker.start() == address
    assert running(broker).cluster_id == cluster
    assert ensure_topics(address, namespace).made == ()


def test_a_port_taken_meanwhile_is_replaced_and_the_log_kept(make: Make, namespace: str) -> None:
    broker = make()
    address = broker.start()
    ensure_topics(address, namespace)
    port = running(broker).client_port
    broker.stop()
    with socket.create_server(("127.0.0.1", port)):
        moved = broker.start()
        assert moved != address
        assert ensure_topics(moved, namespace).made == ()


def test_a_port_taken_while_java_starts_is_tried_again_with_others(make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        taken = stranger.getsockname()[1]
        offers = [Ports(taken, free_ports(None).controller), free_ports(None)]
        broker = make(pick_ports=lambda _: offers.pop(0))
        broker.start()
        assert offers == []
        assert running(broker).client_port != taken


def test_ports_that_are_always_taken_are_an_error_that_says_so(make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        taken = stranger.getsockname()[1]
        broker = make(pick_ports=lambda _: Ports(taken, free_ports(None).controller))
        with pytest.raises(StartFailed, match="its ports were taken by another process"):
            broker.start(timeout_s=300.0)
    assert broker.status() is None


def test_a_broker_that_does_not_answer_is_named_and_can_be_ended(make: Make) -> None:
    broker = make()
    broker.start()
    found = running(broker)
    os.kill(found.pid, signal.SIGSTOP)
    with pytest.raises(BrokerUnavailable, match=f"process {found.pid} runs .*does not answer"):
        make().start(timeout_s=1.5)
    assert broker.stop(timeout_s=0.5), "it hears no request to end, and is killed"
    assert not is_alive(found.pid, found.process)
    assert broker.status() is None


def test_a_broker_that_is_not_up_in_time_is_ended(make: Make) -> None:
    broker = make()
    with pytest.raises(StartFailed, match="it did not answer in time"):
        broker.start(timeout_s=1.0)
    assert broker.status() is None


def test_a_record_of_a_dead_broker_does_not_reach_the_process_that_has_its_number_now(
    make: Make,
) -> None:
    broker = make()
    broker.start()
    first = running(broker)
    broker.stop()
    stale = Running(**{**vars(first), "pid": os.getpid()})  # our number, the dead broker's identity
    write_state(broker.home.state, stale)
    assert broker.status() is None
    assert not broker.stop()
    broker.start()
    assert running(broker).pid != os.getpid()
    assert identity(os.getpid()) is not None


def test_a_broker_that_cannot_start_says_its_last_words(make: Make) -> None:
    broker = make()
    broker.home.data.mkdir(parents=True)
    ids = f"cluster.id={'A' * 22}\ndirectory.id={'B' * 22}\n"
    meta = f"version=1\nnode.id=7\n{ids}"
    (broker.home.data / "meta.properties").write_text(meta, "latin-1")
    with pytest.raises(StartFailed) as caught:
        broker.start()
    assert "node" in caught.value.log_tail
    assert caught.value.log_tail.splitlines()[-1] in str(caught.value)
    assert broker.status() is None


def test_a_named_cluster_is_given_as_it_is_and_nothing_is_started(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert bootstrap(env={"KAFKA_BOOTSTRAP": "k1:9092,k2:9092"}, home=home) == "k1:9092,k2:9092"
    assert not home.exists()


def test_without_a_named_cluster_the_embedded_one_is_started(
    make: Make, tmp_path: Path, jar_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLOG_JARS", str(jar_cache))
    address = bootstrap(env={}, home=tmp_path / "home")
    assert running(make()).bootstrap == address
