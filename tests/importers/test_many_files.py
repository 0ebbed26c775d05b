"""Many files at once: each once, none lost, and what is told of them is all of it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.importers.files import compressed, event, header, lines, session_text, write
from turnlog.events import BrokerUnavailable, Header, UnknownSession
from turnlog.events.rows import Row
from turnlog.importers import (
    DryRun,
    FileSessions,
    FileUnreadable,
    Outcome,
    OutcomeKind,
    Summary,
    import_files,
    session_files,
)
from turnlog.importers.importing import _KEPT_BYTES
from turnlog.session import ImportResult, MemoryLogs, MemoryStore, SessionStore


@pytest.fixture
def store() -> Iterator[SessionStore]:
    with MemoryStore(MemoryLogs()) as store:
        yield store


class Slow:
    """A store that waits at a gate; `begun` counts who came to it."""

    def __init__(self, store: SessionStore, fails: BaseException | None = None) -> None:
        self._store = store
        self._fails = fails
        self.gate = threading.Event()
        self.begun = threading.Semaphore(0)

    def import_log(self, header: Header, rows: Iterable[Row]) -> ImportResult:
        self.begun.release()
        if header.id == "first" and self._fails is not None:
            raise self._fails
        self.gate.wait(30)
        return self._store.import_log(header, rows)


def folder_of(folder: Path, count: int) -> list[Path]:
    for number in range(count):
        write(folder, session_text(3, f"s{number}"), f"s{number:03}.jsonl")
    return session_files(folder)


def test_files_of_one_session_follow_each_other(store: SessionStore, tmp_path: Path) -> None:
    for length in range(1, 21):
        write(tmp_path, session_text(length), f"{length:02}.jsonl")
    outcomes = list(import_files(store, session_files(tmp_path)))
    assert {each.kind for each in outcomes} <= {OutcomeKind.IMPORTED, OutcomeKind.PRESENT}
    assert store.read("s").next_seq == 20
    assert sum(each.added for each in outcomes) == 20


def test_an_import_that_is_interrupted_tells_of_all_that_was_done(
    store: SessionStore, tmp_path: Path
) -> None:
    files, slow, told = folder_of(tmp_path, 30), Slow(store), list[Outcome]()
    outcomes = import_files(slow, files, parallel=4, told=told.append)

    def let_go() -> None:
        slow.begun.acquire()
        slow.gate.set()

    threading.Thread(target=let_go).start()
    assert next(outcomes) in told
    with pytest.raises(KeyboardInterrupt):
        outcomes.throw(KeyboardInterrupt)
    assert len(told) == len({each.path for each in told}) == len(list(store.sessions()))
    assert 1 <= len(told) <= 8
    assert all(each.ok for each in told)


def test_a_broker_that_is_gone_ends_the_import_once_those_under_way_are_done(
    store: SessionStore, tmp_path: Path
) -> None:
    slow, told = Slow(store, BrokerUnavailable("gone")), list[Outcome]()
    slow.gate.set()
    write(tmp_path, session_text(1, "first"), "first.jsonl")
    files = [tmp_path / "first.jsonl", *folder_of(tmp_path, 5)[1:]]
    with pytest.raises(BrokerUnavailable):
        list(import_files(slow, files, parallel=2, told=told.append))
    assert {each.session_id for each in told} == {info.id for info in store.sessions()}


def test_a_summary_adds_up(store: SessionStore, tmp_path: Path) -> None:
    write(tmp_path, session_text(3, "a"), "a1.jsonl")
    write(tmp_path, session_text(3, "a"), "a2.jsonl")
    write(tmp_path, session_text(2, "b") + b"bad\n", "b.jsonl")
    write(tmp_path, b"", "c.jsonl")
    summary = Summary()
    for outcome in import_files(store, session_files(tmp_path), prefix_store=store):
        summary.add(outcome)
    assert {kind.value: count for kind, count in summary.files.items()} == {
        "imported": 1,
        "present": 1,
        "prefix": 1,
        "refused": 1,
    }
    assert summary.file_count == 4
    assert (summary.session_count, summary.events_added, summary.events_present) == (2, 5, 3)
    assert not summary.ok


def test_a_prefix_that_differs_from_what_is_there_is_a_conflict(
    store: SessionStore, tmp_path: Path
) -> None:
    write(tmp_path, session_text(2))
    assert all(each.ok for each in import_files(store, session_files(tmp_path)))
    write(tmp_path, lines([header(), event(0), event(1, "other")]) + b"bad\n")
    (outcome,) = import_files(store, session_files(tmp_path), prefix_store=store)
    assert (outcome.kind, outcome.session_id) == (OutcomeKind.CONFLICT, "s")
    assert "seq 1" in outcome.reason


def test_a_dry_run_says_what_the_import_does(store: SessionStore, tmp_path: Path) -> None:
    write(tmp_path, session_text(3, "a"), "a.jsonl")
    write(tmp_path, session_text(2, "b") + b"bad\n", "b.jsonl")
    write(tmp_path, session_text(4, "c"), "c.jsonl")
    write(tmp_path, lines([header("d"), event(0, "other")]), "d.jsonl")
    store.import_log(Header.new("c", 1, delegationDepth=0), [])
    for id, count in (("c", 2), ("d", 2)):
        before = write(tmp_path, session_text(count, id), "before")
        list(import_files(store, [before]))
    dry = DryRun(store)

    def told(target: SessionStore | DryRun) -> list[Outcome]:
        found = import_files(target, session_files(tmp_path), prefix_store=target)
        return sorted((each._replace(recovered=None) for each in found), key=lambda one: one.path)

    expected = told(dry)
    assert {info.id for info in store.sessions()} == {"c", "d"}
    assert told(store) == expected
    assert [each.kind.value for each in expected] == ["imported", "prefix", "imported", "conflict"]


@pytest.mark.parametrize("zstd", [False, True])
def test_a_large_file_is_read_again_and_lands_as_it_is(
    store: SessionStore, tmp_path: Path, zstd: bool
) -> None:
    text = session_text(0) + lines(event(seq, "x" * 10_000) for seq in range(600))
    assert len(text) > 2 * _KEPT_BYTES
    path = write(tmp_path, compressed(text) if zstd else text, "s.jsonl")
    (outcome,) = import_files(store, [path])
    assert (outcome.kind, outcome.added) == (OutcomeKind.IMPORTED, 600)
    assert [row.text for row in store.read("s").rows] == text.splitlines()[1:]
    bad = write(tmp_path, text + lines([event(700)]), "s.jsonl")
    (outcome,) = import_files(store, [bad])
    assert outcome.reason.startswith("row 600, line 602, bytes")


def test_a_listing_leaves_nothing_out_in_silence(tmp_path: Path) -> None:
    write(tmp_path, session_text(1, "a"), "a.jsonl")
    write(tmp_path, session_text(2, "a"), "b.jsonl")
    write(tmp_path, lines([header("c"), event(0), event(2)]), "c.jsonl")
    write(tmp_path, lines([event(0)]), "d.jsonl")
    os.mkfifo(tmp_path / "e.jsonl")
    (tmp_path / "f.jsonl").symlink_to(tmp_path / "nowhere")
    files = FileSessions(tmp_path)
    assert [(info.id, info.next_seq) for info in files.sessions()] == [("a", 1)]
    said = [str(fault) for fault in files.faults]
    assert [fault.path.name[0] for fault in files.faults] == ["b", "c", "d", "e", "f"]
    assert [fault.header is not None for fault in files.faults] == [True, True, False, False, False]
    assert "is in" in said[0]
    assert "row 1, line 3, bytes" in said[1]
    assert "no header line" in said[2]
    with pytest.raises(UnknownSession):
        files.read("d")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir(mode=0)
    files = FileSessions(tmp_path)
    assert list(files.sessions()) == []
    assert [fault.path for fault in files.faults] == [hidden]


def test_names_that_no_file_has_are_told(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path / "a\0b", tmp_path / ("x" * 300)):
        with pytest.raises(FileUnreadable):
            session_files(path)


_LARGE = """
import sys
from pathlib import Path
from turnlog.importers import import_file
from turnlog.session import MemoryStore, plan_import
from turnlog.importers.importing import DryRun
from turnlog.events import UnknownSession

class Empty:
    def read(self, id):
        raise UnknownSession(id)

    def sessions(self):
        return iter(())

outcome = import_file(DryRun(Empty()), Path(sys.argv[1]))
status = Path("/proc/self/status").read_text()
peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
print(outcome.kind.value, outcome.added, int(peak.split()[1]) // 1024)
"""


@pytest.mark.parametrize("sound", [True, False])
def test_a_file_of_100_mib_is_read_in_bounded_memory(tmp_path: Path, sound: bool) -> None:
    count = 25_000
    path = tmp_path / "large.jsonl"
    with path.open("wb") as file:
        file.write(lines([header()]))
        file.writelines(lines([event(seq, "x" * 4000)]) for seq in range(count))
        file.write(b"" if sound else b"bad\n")
    done = subprocess.run(
        [sys.executable, "-c", _LARGE, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout.split()
    assert done[:2] == (["imported", f"{count}"] if sound else ["refused", "0"])
    assert int(done[2]) < 100
