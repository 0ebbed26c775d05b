"""Several processes in one folder: readers, writers, forks and probes that meet at a bad moment."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.children import start_child
from tests.session.talk import say
from turnlog.events import Header, OwnedElsewhere, Superseded, UnknownSession
from turnlog.session import FolderLogStore, FolderStore, ForkOrigin, failpoints
from turnlog.session.folder_io import locked, write_whole
from turnlog.session.folder_owners import Owners


def answer(child: subprocess.Popen[str], say: str = "") -> str:
    """Tell a paused child to go on, if there is something to tell; gives the next line it says."""
    assert child.stdin is not None
    assert child.stdout is not None
    if say:
        child.stdin.write(say + "\n")
        child.stdin.flush()
    return child.stdout.readline().rstrip("\n")


@pytest.fixture
def armed() -> Iterator[None]:
    """Takes away what a test armed."""
    yield
    failpoints.arm("folder.locking", lambda: None)
    failpoints.arm("folder.read-data", lambda: None)


@pytest.mark.usefixtures("armed")
def test_a_reader_never_sees_half_a_group(tmp_path: Path) -> None:
    with start_child(
        tmp_path,
        """
        session = store.create("s")
        session.append("plan/mode", {})
        session.flush()
        session.append_all([Draft("plan/mode", {"text": "x" * 1000}) for _ in range(3)])
        size = os.path.getsize(path)
        limit_files(size + 1500)

        def half():
            assert os.path.getsize(path) == size + 1500
            pause("half")
            limit_files(RLIM_INFINITY)

        arm("folder.write", at(2, half))
        session.flush()
        pause("whole")
        """,
    ) as child:
        assert answer(child) == "half"
        once = threading.Lock()

        def finish() -> None:
            # By a reader that already has the data, or for one that waits for the writer.
            if once.acquire(blocking=False):
                assert answer(child, "go") == "whole"

        failpoints.arm("folder.read-data", finish)
        found: list[int] = []
        reader = threading.Thread(
            target=lambda: found.append(FolderStore(tmp_path).read("s").next_seq)
        )
        reader.start()
        reader.join(0.5)
        finish()
        reader.join(30)
    assert found == [4]


def test_a_repeated_fork_waits_for_a_write_to_the_file_that_it_replaces(tmp_path: Path) -> None:
    with FolderStore(tmp_path) as store:
        say(store.create("p"), "u1")
    with start_child(
        tmp_path,
        """
        def write():
            pause("writing")
            arm("folder.locking", at(1, lambda: pause("written")))

        arm("folder.write", write)
        try:
            store.fork("p", child_id="c")
        except Superseded:
            print("superseded", flush=True)
        """,
    ) as child:
        assert answer(child) == "writing"
        store = FolderStore(tmp_path)
        repeated = threading.Thread(target=lambda: store.fork("p", child_id="c"))
        repeated.start()
        repeated.join(0.3)
        assert repeated.is_alive()
        assert answer(child, "go") == "written"
        repeated.join(30)
        assert answer(child, "go") == "superseded"
    store.close()
    stored = [event.type for event in store.read("c").events()]
    assert stored == ["user/message", "session/end-seed"]


@pytest.mark.parametrize("time", [1, 2], ids=["before its write", "before it is shown"])
def test_a_fork_that_was_repeated_elsewhere_writes_and_shows_nothing(
    tmp_path: Path, time: int
) -> None:
    with FolderStore(tmp_path) as store:
        say(store.create("p"), "u1")
    with start_child(
        tmp_path,
        f"""
        arm("folder.made", lambda: arm("folder.locking", at({time}, pause)))
        try:
            store.fork("p", child_id="c")
        except Superseded:
            print("superseded", flush=True)
        """,
    ) as child:
        assert answer(child) == "paused"
        logs = FolderLogStore(tmp_path)
        writer = logs.create(Header.new("c", 1), ForkOrigin("p", 0, b""))
        assert answer(child, "go") == "superseded"
    with pytest.raises(UnknownSession):
        logs.read("c")
    writer.born()
    assert logs.read("c").rows == ()
    logs.close()


@pytest.mark.usefixtures("armed")
def test_a_lock_is_of_the_file_that_has_the_name_now(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    waits = threading.Event()
    found: list[bytes] = []

    def wait_for_lock() -> None:
        with locked(path, 30) as handle, open(handle, "rb", closefd=False) as file:
            found.append(file.read())

    with locked(path, 30):
        failpoints.arm("folder.locking", waits.set)
        waiter = threading.Thread(target=wait_for_lock)
        waiter.start()
        assert waits.wait(30)
        write_whole(path, b"new")
    waiter.join(30)
    assert found == [b"new"]


def test_a_dead_writer_is_dead_however_many_ask_at_once(tmp_path: Path) -> None:
    dead, one, other = (Owners(tmp_path) for _ in range(3))
    owner = dead.claim("s.jsonl")
    assert one.is_alive(owner)
    # Killed: the system let go of its lock, its file is still there.
    lock = tmp_path / "writers" / dead.writer
    dead.close()
    lock.touch()
    said: list[bool] = []

    def ask(owners: Owners) -> None:
        said.extend(owners.is_alive(owner) for _ in range(2000))

    askers = [threading.Thread(target=ask, args=(owners,)) for owners in (one, other)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert said.count(True) == 0
    one.close()
    other.close()


def test_a_forked_child_keeps_no_lock_and_no_sign_of_life_of_its_parent(tmp_path: Path) -> None:
    with start_child(
        tmp_path,
        """
        def fork():
            if os.fork() == 0:
                os.close(1)
                store.close()
                sys.stdin.readline()  # until the test ends
                os._exit(0)

        session = store.create("s")
        session.append("plan/mode", {})
        arm("folder.write", at(1, fork))  # under the file's lock
        session.flush()
        print("written", flush=True)
        arm("folder.write", pause)
        session.append("plan/mode", {})
        session.flush()
        """,
    ) as child:
        assert answer(child) == "written"
        assert answer(child) == "paused"
        child.kill()
        child.wait()
        with FolderStore(tmp_path) as store:
            assert store.open("s").next_seq == 2


def test_a_superseded_session_is_told_so_though_its_file_is_broken(tmp_path: Path) -> None:
    one, other = FolderStore(tmp_path, window_s=60), FolderStore(tmp_path, window_s=60)
    session = one.create("s")
    say(session, "u1")
    session.flush()
    say(session, "lost")
    other.open("s", take_over=True).flush()
    path = tmp_path / "s.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"user/message"', b"\0" * 14))
    with pytest.raises(Superseded) as caught:
        session.flush()
    assert [event.data["id"] for event in caught.value.not_landed] == ["lost"]
    with pytest.raises(OwnedElsewhere):
        one.open("s")
    one.close()
    for live in other.live():
        live.detach()
    other.close()
