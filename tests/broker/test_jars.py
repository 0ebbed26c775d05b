"""Only the locked bytes are used: the cache and a repository are both compared with the lock."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.mirror import mirrored, serving
from turnlog.broker import EmbeddedBroker, HomeUnusable, JarMismatch, JarUnavailable
from turnlog.broker.jars import ensure_jars
from turnlog.broker.lock import Lock, committed_lock

NOTHING = "0" * 64


@pytest.fixture(scope="session")
def lock(jar_cache: Path) -> Lock:
    """A lock of the two smallest jars of the real one, which are in the cache."""
    committed = committed_lock()
    ensure_jars(jar_cache, committed)
    small = sorted(committed.jars, key=lambda jar: (jar_cache / jar.file_name).stat().st_size)
    return Lock(committed.kafka, tuple(small[:2]))


@pytest.fixture
def copied(tmp_path: Path, jar_cache: Path, lock: Lock) -> Path:
    folder = tmp_path / "jars"
    folder.mkdir()
    for jar in lock.jars:
        shutil.copy(jar_cache / jar.file_name, folder)
    return folder


@pytest.fixture
def no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JGO_CONFIG_FILE", str(tmp_path / "none.conf"))
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")  # nothing listens there


@pytest.fixture
def mirror(
    tmp_path: Path, lock: Lock, jar_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A Maven repository on this machine that has the two jars."""
    with serving(tmp_path, lock, jar_cache, monkeypatch) as root:
        yield root


def test_jars_in_the_cache_are_given_in_the_lock_s_order_without_a_network(
    copied: Path, lock: Lock, no_network: None
) -> None:
    assert ensure_jars(copied, lock) == [copied / jar.file_name for jar in lock.jars]


def test_a_changed_jar_is_refused_by_name_and_left_as_it_is(copied: Path, lock: Lock) -> None:
    changed = copied / lock.jars[1].file_name
    data = bytearray(changed.read_bytes())
    data[len(data) // 2] ^= 1
    changed.write_bytes(data)
    with pytest.raises(JarMismatch, match=lock.jars[1].artifact) as caught:
        ensure_jars(copied, lock)
    assert caught.value.jar == changed
    assert caught.value.expected_sha256 == lock.jars[1].sha256
    assert changed.read_bytes() == data


def test_a_broker_is_not_started_with_a_changed_jar(
    copied: Path, lock: Lock, tmp_path: Path
) -> None:
    (copied / lock.jars[0].file_name).write_bytes(b"PK")
    broker = EmbeddedBroker(tmp_path / "home", jars=copied, lock=lock)
    with pytest.raises(JarMismatch):
        broker.start()
    assert not broker.home.data.exists()


def test_a_missing_jar_without_a_network_is_an_error_that_names_it(
    copied: Path, lock: Lock, no_network: None
) -> None:
    (copied / lock.jars[0].file_name).unlink()
    with pytest.raises(JarUnavailable) as caught:
        ensure_jars(copied, lock)
    assert caught.value.jar == lock.jars[0].coordinate
    assert lock.jars[0].coordinate in str(caught.value)


def test_a_first_start_without_a_network_says_what_it_needs_and_leaves_nothing(
    tmp_path: Path, no_network: None
) -> None:
    broker = EmbeddedBroker(tmp_path / "home")
    with pytest.raises(JarUnavailable, match="the first start needs a Maven repository") as caught:
        broker.start()
    assert "refused" in caught.value.reason, "the cause, and not how it was wrapped"
    assert len(str(caught.value)) < 300
    assert broker.status() is None
    assert not broker.home.data.exists()
    assert list(broker.home.jars.glob("**/*.jar")) == []


def test_missing_jars_are_fetched_from_the_user_s_mirror(
    tmp_path: Path, lock: Lock, mirror: Path
) -> None:
    cache = tmp_path / "empty"
    assert [path.name for path in ensure_jars(cache, lock)] == [j.file_name for j in lock.jars]
    shutil.rmtree(mirror)
    assert ensure_jars(cache, lock)


def test_a_repository_that_serves_other_bytes_is_refused_and_leaves_nothing(
    tmp_path: Path, lock: Lock, mirror: Path
) -> None:
    mirrored(mirror, lock.jars[0]).write_bytes(b"something else")
    cache = tmp_path / "empty"
    with pytest.raises(JarMismatch, match=lock.jars[0].artifact):
        ensure_jars(cache, lock)
    assert list(cache.glob("**/*.jar")) == []


def test_what_a_killed_fetch_left_is_cleared_away(tmp_path: Path, lock: Lock, mirror: Path) -> None:
    left = tmp_path / "cache" / "fetch-left"
    left.mkdir(parents=True)
    (left / "half.jar").write_bytes(b"PK")
    ensure_jars(tmp_path / "cache", lock)
    assert not left.exists()


def test_a_cache_that_cannot_be_written_is_an_error_that_names_its_variable(
    tmp_path: Path, lock: Lock
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HomeUnusable, match="set TURNLOG_JARS to another folder"):
        ensure_jars(tmp_path / "file" / "jars", lock)
