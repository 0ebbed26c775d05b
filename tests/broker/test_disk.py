"""Disks that are full or can't be written to, by small ones that are mounted for the test."""

import gc
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, Producer

from tests.broker.mirror import serving
from tests.broker.support import eventually
from turnlog.broker import EmbeddedBroker, HomeUnusable, ensure_topics
from turnlog.broker.home import MIN_FREE_BYTES
from turnlog.broker.jars import ensure_jars
from turnlog.broker.java import bundled_java
from turnlog.broker.lock import Lock, committed_lock
from turnlog.log import KafkaSettings
from turnlog.log.reader import PartitionReader

Mount = Callable[..., Path]

MIB = 1024 * 1024
ROOM_MIB = MIN_FREE_BYTES // MIB + 64


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Mount a disk of so many MiB that lives in memory; all are unmounted at the end."""
    if os.geteuid() != 0 and not os.environ.get("CI"):
        pytest.skip("only root can mount a disk")
    mounted: list[Path] = []

    def make(mib: int, *, options: str = "rw") -> Path:
        path = tmp_path / f"disk{len(mounted)}"
        path.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={mib}m,{options}", "turnlog-test"]
        subprocess.run([*command, str(path)], check=True)
        mounted.append(path)
        return path

    yield make
    for path in mounted:
        subprocess.run(["umount", "--lazy", path], check=True)


def fill(disk: Path) -> Path:
    """Take all that is left; removing the file gives it back."""
    taken = disk / "taken"
    with taken.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * MIB)
        except OSError:
            pass
    assert shutil.disk_usage(disk).free == 0
    return taken


@pytest.fixture
def make(jar_cache: Path) -> Iterator[Callable[..., EmbeddedBroker]]:
    """Make broker objects; what they started is ended."""
    brokers: list[EmbeddedBroker] = []

    def factory(home: Path, *, jars: Path = jar_cache, java: Path | None = None) -> EmbeddedBroker:
        broker = EmbeddedBroker(home, jars=jars, java=java)
        brokers.append(broker)
        return broker

    yield factory
    for broker in brokers:
        broker.stop()


def test_a_disk_with_too_little_room_is_refused_before_anything_runs(
    mount: Mount, make: Callable[..., EmbeddedBroker]
) -> None:
    broker = make(mount(64) / "home")
    with pytest.raises(HomeUnusable, match=r"256 MiB free on its disk, found 6\d MiB") as caught:
        broker.start()
    assert caught.value.variable == "TURNLOG_HOME"
    assert not broker.home.data.exists()
    assert broker.status() is None


@pytest.mark.parametrize("program", ["kafka.tools.StorageTool", "kafka.Kafka"])
def test_a_disk_that_fills_while_the_broker_starts_is_named_and_a_start_with_room_works(
    mount: Mount, make: Callable[..., EmbeddedBroker], tmp_path: Path, program: str
) -> None:
    disk = mount(ROOM_MIB)
    java = tmp_path / "java"
    java.write_text(
        f'#!/bin/sh\ncase "$*" in *" {program} "*)\n'
        f"  dd if=/dev/zero of={disk}/taken bs=1M 2>{tmp_path}/dd ;;\n"
        f'esac\nexec {bundled_java()} "$@"\n',
        "utf-8",
    )
    java.chmod(0o755)
    broker = make(disk / "home", java=java)
    with pytest.raises(HomeUnusable, match="the disk is full") as caught:
        broker.start()
    assert caught.value.path == broker.home.path
    assert broker.status() is None
    (disk / "taken").unlink()
    assert make(disk / "home").start()


def test_a_disk_that_fills_under_a_running_broker_ends_it_and_loses_nothing_acknowledged(
    mount: Mount, make: Callable[..., EmbeddedBroker], namespace: str
) -> None:
    disk = mount(ROOM_MIB)
    broker = make(disk / "home")
    topic = f"{namespace}.events.0"
    ensure_topics(broker.start(), namespace, partitions=1)
    acknowledged: list[bytes] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is None:
            acknowledged.append(message.value() or b"")

    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 5000, "log_level": 0}
    )
    for number in range(200):
        producer.produce(topic, b"before %d" % number, b"k", 0, on_delivery=delivered)
    assert producer.flush(30) == 0
    taken = fill(disk)
    for number in range(200):
        value = b"after %d" % number + os.urandom(50_000)
        producer.produce(topic, value, b"k", 0, on_delivery=delivered)
        producer.poll(0)
    assert producer.flush(30) == 0, "each is acknowledged or given up"
    assert 200 <= len(acknowledged) < 400
    eventually(lambda: broker.status() is None)
    with pytest.raises(HomeUnusable, match="the disk is full"):
        broker.start()
    taken.unlink()
    settings = KafkaSettings(bootstrap=broker.start(), namespace=namespace)
    assert ensure_topics(settings.bootstrap, namespace).made == ()
    with PartitionReader(settings, topic, 0, 0) as reader:
        found = [record.value for record in reader.read_to(len(acknowledged))]
    assert found[: len(acknowledged)] == acknowledged


@pytest.fixture
def one_jar(jar_cache: Path) -> Lock:
    """A lock of one jar of 1 to 3 MiB."""
    lock = committed_lock()
    ensure_jars(jar_cache, lock)
    sizes = {jar: (jar_cache / jar.file_name).stat().st_size for jar in lock.jars}
    return Lock(lock.kafka, (next(jar for jar, size in sizes.items() if MIB < size < 3 * MIB),))


# jgo leaves the connection of a fetch that it could not write down to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_jar_cache_on_a_full_disk_is_named_with_its_own_variable(
    mount: Mount,
    one_jar: Lock,
    jar_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jars = mount(1) / "jars"
    full = pytest.raises(HomeUnusable, match="the disk is full; set TURNLOG_JARS to")
    with serving(tmp_path, one_jar, jar_cache, monkeypatch), full as caught:
        ensure_jars(jars, one_jar)
    assert (caught.value.path, caught.value.variable) == (jars, "TURNLOG_JARS")
    assert list(jars.glob("**/*.jar")) == []
    del caught, full
    gc.collect()


def test_a_home_and_a_jar_cache_that_are_read_only_are_each_named_with_their_variable(
    mount: Mount, make: Callable[..., EmbeddedBroker], tmp_path: Path
) -> None:
    disk = mount(1, options="ro")
    with pytest.raises(HomeUnusable, match=r"not writable \(Read-only.*set TURNLOG_HOME to"):
        make(disk / "home").start()
    with pytest.raises(HomeUnusable, match=r"not writable \(Read-only.*set TURNLOG_JARS to"):
        make(tmp_path / "home", jars=disk / "jars").start()
