"""A reader of a folder shows what is durable, and bookkeeping that is damaged hides nothing."""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.session.children import run_child
from tests.session.talk import say
from turnlog.events import BrokenLog, BrokerUnavailable, Draft, StoreFailed
from turnlog.session import FolderStore, failpoints

Arm = Callable[[str, Callable[[], object]], None]


@pytest.fixture
def arm() -> Iterator[Arm]:
    """Arms failpoints, and takes away at the end what was armed."""
    armed: list[str] = []

    def put(name: str, action: Callable[[], object]) -> None:
        armed.append(name)
        failpoints.arm(name, action)

    yield put
    for name in armed:
        failpoints.arm(name, lambda: None)


def ill() -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_reader_never_shows_a_write_whose_sync_fails(tmp_path: Path, arm: Arm) -> None:
    with FolderStore(tmp_path, window_s=60) as store:
        session = store.create("s")
        say(session, "u1")
        session.flush()
        other = FolderStore(tmp_path)
        found: list[int] = []
        reader = threading.Thread(target=lambda: found.append(other.read("s").next_seq))

        def fail_while_read() -> None:
            reader.start()
            reader.join(0.2)
            ill()

        arm("folder.sync", fail_while_read)
        say(session, "u2")
        with pytest.raises(StoreFailed):
            session.flush()
        reader.join(30)
        assert found == [1]
        arm("folder.sync", lambda: None)
        assert other.fork("s", child_id="kid").header.seed_length == 1
        session.flush()
        assert other.read("s").next_seq == 2
        other.close()


@pytest.mark.parametrize("count", [1, 2])
def test_a_failed_write_that_can_not_be_cut_back_is_shown_to_no_reader(
    tmp_path: Path, arm: Arm, count: int
) -> None:
    with FolderStore(tmp_path, window_s=60) as store:
        session = store.create("s")
        say(session, "u1")
        session.flush()
        for point in ("folder.sync", "folder.cut-back"):
            arm(point, ill)
        session.append_all([Draft("plan/mode", {"n": n}) for n in range(count)])
        with pytest.raises(StoreFailed):
            session.flush()
        for point in ("folder.sync", "folder.cut-back"):
            arm(point, lambda: None)
        other = FolderStore(tmp_path)
        assert other.read("s").next_seq == 1
        assert [info.next_seq for info in other.sessions()] == [1]
        other.close()
        session.flush()
        assert store.read("s").next_seq == 1 + count


def test_what_a_killed_writer_did_not_sync_is_synced_before_it_is_shown(
    tmp_path: Path, arm: Arm
) -> None:
    run_child(
        tmp_path,
        """
        session = store.create("s")
        say(session, "u1")
        arm("folder.sync", lambda: os.kill(os.getpid(), signal.SIGKILL))
        session.flush()
        """,
        expected=-signal.SIGKILL,
    )
    with FolderStore(tmp_path) as store:
        arm("folder.read-sync", ill)
        with pytest.raises(BrokerUnavailable):
            store.read("s")
        with pytest.raises(BrokerUnavailable):
            store.fork("s")
        assert list(store.sessions()) == []
        arm("folder.read-sync", lambda: None)
        assert store.read("s").next_seq == 1


def test_reading_a_session_whose_writer_lives_or_released_syncs_nothing(
    tmp_path: Path, arm: Arm
) -> None:
    with FolderStore(tmp_path, window_s=60) as store:
        session = store.create("s")
        say(session, "u1")
        session.flush()
        arm("folder.read-sync", ill)
        assert FolderStore(tmp_path).read("s").next_seq == 1
        session.detach()
        assert store.read("s").next_seq == 1


DAMAGED = [b"", b"{", b"\xff", b'{"writer":1}', b'{"x":' + b"[" * 200_000]
DAMAGED += [b'{"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}"]
NOTES = [
    b'{"start":%d,"size":%d,"sha256":"x"}' % (start, size)
    for start, size in [(0, -3), (0, 10**6), (-5, 10**6), (5, 10**6), (90, 0), (10**30, 10**30)]
]


@pytest.mark.parametrize("data", DAMAGED + NOTES, ids=range(len(DAMAGED + NOTES)))
@pytest.mark.parametrize("place", ["owners", "groups", "unborn"])
def test_damaged_bookkeeping_is_passed_over_or_a_typed_error_of_its_session(
    tmp_path: Path, place: str, data: bytes
) -> None:
    with FolderStore(tmp_path) as store:
        for id in ("a", "b"):
            with store.create(id) as session:
                say(session, "u1")
        (tmp_path / ".turnlog" / place / "a.jsonl").write_bytes(data)
        listed = [info.id for info in store.sessions()]
        if place == "unborn":
            # Whether the session is born can't be told: neither shown nor written to.
            for act in (store.read, store.open):
                with pytest.raises(BrokenLog, match="marker"):
                    act("a")
            assert listed == ["b"]
        else:
            assert store.read("a").next_seq == 1
            assert store.open("a").next_seq == 2
            assert listed == ["a", "b"]
