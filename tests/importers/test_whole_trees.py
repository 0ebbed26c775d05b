"""Export of many sessions: a tree is there whole or not at all, and what can't be read is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given

from tests.importers.files import event, header, lines, session_text, write
from tests.session.talk import run_turn
from tests.strategies import AgentLog, agent_logs
from turnlog.events import UnknownSession
from turnlog.events.rows import event_row
from turnlog.importers import (
    ExportIncomplete,
    FileRefused,
    FileSessions,
    FileUnreadable,
    check_parents,
    export_log,
    export_sessions,
    import_file,
    tree_of,
)
from turnlog.kernel import Log
from turnlog.session import MemoryLogs, MemoryStore, SessionInfo, SessionStore

IDS = ["root", "child", "grandchild"]


@pytest.fixture
def store() -> Iterator[SessionStore]:
    with MemoryStore(MemoryLogs()) as store:
        with store.create("root") as session:
            run_turn(session)
        with store.fork("root", child_id="child"), store.fork("child", child_id="grandchild"):
            pass
        yield store


class Forgetful:
    """A reader that lists a session which it can't read any more."""

    def __init__(self, store: SessionStore, missing: str) -> None:
        self._store = store
        self._missing = missing

    def read(self, id: str) -> Log:
        if id == self._missing:
            raise UnknownSession(id)
        return self._store.read(id)

    def sessions(self) -> Iterator[SessionInfo]:
        return self._store.sessions()


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("missing", IDS)
def test_a_tree_of_which_one_is_missing_leaves_no_file(
    store: SessionStore, tmp_path: Path, missing: str
) -> None:
    reader, out = Forgetful(store, missing), tmp_path / "out"
    ids = tree_of(reader, ["child"])
    assert ids == IDS
    with pytest.raises(ExportIncomplete, match=missing):
        list(export_sessions(reader, ids, out, together=True))
    assert names(out) == []


def test_without_a_tree_what_was_written_stays(store: SessionStore, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(UnknownSession):
        list(export_sessions(Forgetful(store, "child"), IDS, out))
    assert names(out) == ["root.jsonl"]


@pytest.mark.parametrize("together", [True, False])
def test_an_export_that_is_interrupted_leaves_nothing_unfinished(
    store: SessionStore, tmp_path: Path, together: bool
) -> None:
    out = tmp_path / "out"
    exported = export_sessions(store, IDS, out, together=together)
    assert next(exported).session_id == "root"
    with pytest.raises(KeyboardInterrupt):
        exported.throw(KeyboardInterrupt)
    assert names(out) == ([] if together else ["root.jsonl"])


def test_no_file_is_touched_where_one_exists(store: SessionStore, tmp_path: Path) -> None:
    kept = write(tmp_path, b"mine", "grandchild.jsonl")
    for together in (True, False):
        with pytest.raises(FileUnreadable, match="it exists"):
            list(export_sessions(store, IDS, tmp_path, together=together))
        assert names(tmp_path) == ["grandchild.jsonl"]
    assert kept.read_bytes() == b"mine"
    written = list(export_sessions(store, IDS, tmp_path, replace=True))
    assert [each.session_id for each in written] == IDS
    assert names(tmp_path) == ["child.jsonl", "grandchild.jsonl", "root.jsonl"]
    assert [each.events for each in written] == [store.read(id).next_seq for id in IDS]


def test_a_tree_of_files_with_a_damaged_child_is_refused(
    store: SessionStore, tmp_path: Path
) -> None:
    for id in IDS:
        export_log(store.read(id), tmp_path)
    assert tree_of(FileSessions(tmp_path), ["root"]) == IDS
    damaged = tmp_path / "grandchild.jsonl"
    damaged.write_bytes(damaged.read_bytes() + b"{")
    write(tmp_path, lines([header("stranger"), event(1)]), "stranger.jsonl")
    files = FileSessions(tmp_path)
    with pytest.raises(ExportIncomplete, match="grandchild"):
        tree_of(files, ["root"])
    with pytest.raises(FileRefused, match="bytes"):
        files.read("grandchild")
    # A damaged session of no kin hinders nobody; a file without a header may be kin.
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert tree_of(FileSessions(tmp_path), ["root"]) == IDS
    write(tmp_path, b"{", "headless.jsonl")
    with pytest.raises(ExportIncomplete, match="headless"):
        tree_of(FileSessions(tmp_path), ["root"])


def test_of_all_sessions_no_parent_may_be_missing(store: SessionStore, tmp_path: Path) -> None:
    check_parents(store, list(store.sessions()))
    child = lines([header("lost", parentSession="gone", seedLength=1), event(0)])
    write(tmp_path, child, "lost.jsonl")
    files = FileSessions(tmp_path)
    with pytest.raises(ExportIncomplete, match="gone"):
        check_parents(files, list(files.sessions()))


def test_a_folder_that_is_a_file_is_told(store: SessionStore, tmp_path: Path) -> None:
    write(tmp_path, session_text(1), "out")
    with pytest.raises(FileUnreadable):
        list(export_sessions(store, IDS, tmp_path / "out"))


@given(log=agent_logs())
def test_any_log_comes_back_from_every_form(
    log: AgentLog, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("out")
    stored = Log(log.header, tuple(map(event_row, log.values)))
    for compressed in (False, True):
        for packed in (False, True):
            path = export_log(stored, folder, compressed=compressed, packed=packed, replace=True)
            with MemoryStore(MemoryLogs()) as store:
                outcome = import_file(store, path)
                assert outcome.ok, outcome.reason
                back = store.read(log.header.id)
            assert [each.to_json() for each in back] == log.values
            assert back.header.value == {"delegationDepth": 0, **log.header.value}
