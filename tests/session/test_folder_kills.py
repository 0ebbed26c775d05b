"""A folder writer killed at each named point, at each pass: nothing acknowledged is ever lost."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.session.children import run_child
from turnlog.events import Draft, SessionExists, UnknownSession
from turnlog.session import FolderStore, SessionStore

POINTS = [
    "folder.locking",
    "folder.make-claimed",
    "folder.make-marked",
    "folder.made",
    "folder.note",
    "folder.noted",
    "folder.write",
    "folder.sync",
    "folder.written",
    "folder.note-gone",
    "folder.cut-back",
    "folder.cut",
    "folder.cut-note-gone",
    "folder.settle",
    "folder.settle-cut",
    "folder.settled",
    "folder.read-data",
    "folder.born",
    "folder.release",
]

# One life of a session: alone and in groups, on a full disk, given up, opened again, forked. Each
# group of events has one `group`; `said` gets what was acknowledged, a line each. A process that
# has no store yet forks one process a kill.
LIVES = """
import json
from collections import Counter

def life(folder, said):
    def acknowledged(id, seq):
        os.write(said, json.dumps([id, seq]).encode() + b"\\n")

    def group(name, text=""):
        drafts = [Draft("plan/mode", {"group": name, "text": text}) for _ in range(3)]
        session.append_all(drafts)

    def alone():
        session.append("plan/mode", {"group": None})
        acknowledged("s", session.flush().next_seq)

    def fill_disk():
        # Room for the note, and for the half of what comes next.
        limit_files(os.path.getsize(os.path.join(folder, "s.jsonl")) + 1500)

    store = FolderStore(folder, window_s=60)
    session = store.create("s")
    acknowledged("s", 0)
    alone()
    group("a")
    acknowledged("s", session.flush().next_seq)
    alone()
    group("full", "x" * 1000)
    fill_disk()
    try:
        session.flush()
    except StoreFailed:
        limit_files(RLIM_INFINITY)
    acknowledged("s", session.flush().next_seq)
    group("given up", "x" * 1000)
    fill_disk()
    try:
        session.detach()
    except NotAcknowledged:
        limit_files(RLIM_INFINITY)
    session = store.open("s")
    alone()
    child = store.fork("s", boundary=0, child_id="c")
    acknowledged("c", child.next_seq)
    store.close()

def run(folder, points, kill):
    # kill: which point, and at which time that it is reached; None for a whole life.
    os.mkdir(folder)
    said = os.open(folder + ".said", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    reached = Counter()
    def reach(point):
        reached[point] += 1
        if kill == (point, reached[point]):
            os.kill(os.getpid(), signal.SIGKILL)
    for point in points:
        arm(point, lambda point=point: reach(point))
    pid = os.fork()
    if pid == 0:
        life(folder, said)
        with open(folder + ".reached", "w") as file:
            json.dump(reached, file)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    os.close(said)
    if os.waitstatus_to_exitcode(status) != (0 if kill is None else -signal.SIGKILL):
        raise SystemExit(f"{kill}: {status}")

run(os.path.join(folder, "whole"), POINTS, None)
with open(os.path.join(folder, "whole.reached")) as file:
    reached = json.load(file)
for point, times in reached.items():
    for time in range(1, times + 1):
        run(os.path.join(folder, f"{point}@{time}"), POINTS, (point, time))
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a folder of each kill, `<point>@<time>`, and what it was told beside it."""
    folder = tmp_path_factory.mktemp("killed")
    run_child(folder, f"POINTS = {POINTS!r}\n" + LIVES, store=False)
    return folder


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_loses_nothing_acknowledged_then_or_later(killed: Path, point: str) -> None:
    folders = [path for path in killed.glob(f"{point}@*") if path.is_dir()]
    assert folders
    for folder in folders:
        said = Path(f"{folder}.said").read_text().splitlines()
        acknowledged = dict(json.loads(line) for line in said)
        stored = check_session(folder, acknowledged.get("s"))
        check_child(folder, stored, is_born="c" in acknowledged)
        # Every line of the file counts: no note hides one.
        lines = (folder / "s.jsonl").read_bytes().splitlines()
        assert len(lines) - 1 == len(stored)


def check_session(folder: Path, acknowledged: int | None) -> list[Any]:
    """Read what a killed writer left, go on in two more lives, and give what is there then."""
    with FolderStore(folder, window_s=60) as store:
        if acknowledged is None:
            before = events(store) if (folder / "s.jsonl").exists() else []
        else:
            before = events(store)
            assert len(before) >= acknowledged
        groups = Counter(event["data"].get("group") for event in before)
        del groups[None]
        assert set(groups.values()) <= {3}
        session = store.open("s") if (folder / "s.jsonl").exists() else store.create("s")
        session.append("plan/mode", {"later": 1})
        session.flush()
        first = events(store)
        assert first[: len(before)] == before
        assert first[-1]["data"] == {"later": 1}
    with FolderStore(folder, window_s=60) as store:
        assert events(store) == first
        session = store.open("s")
        session.append_all([Draft("plan/mode", {"later": n}) for n in (2, 3)])
        session.flush()
        session.append("plan/mode", {"later": 4})
    stored = events(FolderStore(folder))
    assert stored[: len(first)] == first
    assert [event["data"]["later"] for event in stored[-3:]] == [2, 3, 4]
    return stored


def check_child(folder: Path, parent: list[Any], *, is_born: bool) -> None:
    """The child is there whole, or a repeated fork makes it so."""
    length = 1 if parent[0]["type"] == "session/end-seed" else 2
    with FolderStore(folder) as store:
        try:
            assert store.read("c").next_seq == length
        except UnknownSession:
            assert not is_born
            assert store.fork("s", boundary=0, child_id="c").next_seq == length
        else:
            with pytest.raises(SessionExists):
                store.fork("s", boundary=0, child_id="c")


def events(store: SessionStore) -> list[Any]:
    """The stored events of the session."""
    return [event.to_json() for event in store.read("s").events()]
