"""Export: whole files or none, whole trees or none, and events equal after import."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.importers.files import event, header, lines, session_text, write
from tests.session.talk import run_turn
from turnlog.events import UnknownSession
from turnlog.importers import (
    ExportIncomplete,
    FileSessions,
    FileUnreadable,
    export_log,
    export_name,
    import_files,
    tree_of,
)
from turnlog.importers.frames import Frame, walk
from turnlog.session import FolderStore, SessionStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    with FolderStore(tmp_path / "store") as store:
        with store.create("root") as session:
            run_turn(session)
        with store.fork("root", child_id="child"), store.fork("child", child_id="grandchild"):
            pass
        yield store


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_exported_comes_back_event_for_event(
    store: SessionStore, tmp_path: Path, compressed: bool, packed: bool
) -> None:
    log = store.read("root")
    path = export_log(log, tmp_path / "out", compressed=compressed, packed=packed)
    with FolderStore(tmp_path / "other") as other:
        (outcome,) = import_files(other, [path])
        assert outcome.ok, outcome.reason
        back = other.read("root")
    assert [each.to_json() for each in back.events()] == [each.to_json() for each in log.events()]
    assert back.header.value.items() >= log.header.value.items()


def test_the_header_stands_alone_in_the_first_frame_and_each_has_its_checksum(
    store: SessionStore, tmp_path: Path
) -> None:
    path = export_log(store.read("root"), tmp_path, compressed=True)
    with path.open("rb") as file:
        frames = [each for each in walk(file) if isinstance(each, Frame)]
    data = path.read_bytes()
    first = zstandard.ZstdDecompressor().decompress(data[: frames[0].end])
    assert first.count(b"\n") == 1
    for each in frames:
        assert zstandard.get_frame_parameters(data[each.start :]).has_checksum


def test_a_file_that_exists_is_kept_unless_told_otherwise(
    store: SessionStore, tmp_path: Path
) -> None:
    log = store.read("root")
    path = export_log(log, tmp_path)
    with pytest.raises(FileUnreadable, match="it exists"):
        export_log(log, tmp_path)
    assert export_log(log, tmp_path, replace=True) == path


def test_an_export_that_fails_leaves_nothing(store: SessionStore, tmp_path: Path) -> None:
    folder = write(tmp_path, b"a file", "out")
    with pytest.raises(FileUnreadable):
        export_log(store.read("root"), folder)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out", "store"]


@given(ids=st.sets(st.text(min_size=1, max_size=300), max_size=20))
def test_names_are_safe_and_one_to_one(ids: set[str]) -> None:
    safe = [id for id in ids if id.isprintable()]
    names = {export_name(id, compressed=True) for id in safe}
    assert len(names) == len(safe)
    for name in names:
        assert "/" not in name
        assert not name.startswith(".")
        assert len(name.encode()) <= 259


def test_a_tree_is_all_of_it_parents_first(store: SessionStore) -> None:
    assert tree_of(store, ["child"]) == ["root", "child", "grandchild"]
    assert tree_of(store, ["root", "grandchild"]) == ["root", "child", "grandchild"]
    with pytest.raises(UnknownSession):
        tree_of(store, ["nobody"])


def test_a_tree_without_its_root_is_refused(tmp_path: Path) -> None:
    child = lines([header("child", parentSession="gone", seedLength=1), event(0)])
    write(tmp_path, child, "child.jsonl")
    write(tmp_path, session_text(1, "other"), "other.jsonl")
    with pytest.raises(ExportIncomplete, match="gone"):
        tree_of(FileSessions(tmp_path), ["child"])
