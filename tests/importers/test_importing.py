"""Import of many files: idempotent, each by itself, and a summary that adds up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.importers.files import compressed, event, header, lines, session_text, write
from turnlog.events import UnknownSession
from turnlog.importers import (
    FileSessions,
    FileUnreadable,
    Outcome,
    OutcomeKind,
    Summary,
    import_files,
    session_files,
)
from turnlog.session import FolderStore, SessionStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    with FolderStore(tmp_path / "store") as store:
        yield store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


def imported(
    store: SessionStore, folder: Path, prefix_store: SessionStore | None = None
) -> dict[str, Outcome]:
    found = import_files(store, session_files(folder), prefix_store=prefix_store)
    return {outcome.path.name: outcome for outcome in found}


def test_a_tree_is_imported_and_again_adds_nothing(store: SessionStore, folder: Path) -> None:
    (folder / "deep").mkdir()
    write(folder, session_text(3, "a"), "a.jsonl")
    write(folder / "deep", compressed(session_text(4, "b")), "b.jsonl.zst")
    write(folder, b"no session", "notes.txt")
    first = imported(store, folder)
    assert [(each.kind, each.added) for each in first.values()] == [
        (OutcomeKind.IMPORTED, 3),
        (OutcomeKind.IMPORTED, 4),
    ] or {each.added for each in first.values()} == {3, 4}
    again = imported(store, folder)
    assert {each.kind for each in again.values()} == {OutcomeKind.PRESENT}
    assert sum(each.added for each in again.values()) == 0


def test_new_events_alone_are_added_and_a_conflict_is_named(
    store: SessionStore, folder: Path
) -> None:
    write(folder, session_text(3))
    imported(store, folder)
    write(folder, session_text(5))
    assert imported(store, folder)["s.jsonl"].added == 2
    write(folder, lines([header(), event(0), event(1, "other")]))
    outcome = imported(store, folder)["s.jsonl"]
    assert outcome.kind is OutcomeKind.CONFLICT
    assert "seq 1" in outcome.reason
    assert store.read("s").next_seq == 5


def test_one_bad_file_never_stops_the_others(store: SessionStore, folder: Path) -> None:
    write(folder, session_text(3, "a"), "a.jsonl")
    write(folder, session_text(3, "b")[:-9] + b"\n" + lines([event(3)]), "b.jsonl")
    write(folder, b"", "c.jsonl")
    write(folder, lines([header("d"), event(0), event(2)]), "d.jsonl")
    (folder / "e.jsonl").mkdir()
    write(folder, lines([header("bad\u0007id"), event(0)]), "f.jsonl")
    outcomes = imported(store, folder)
    kinds = {name: outcome.kind.value for name, outcome in outcomes.items()}
    assert kinds == {
        "a.jsonl": "imported",
        "b.jsonl": "refused",
        "c.jsonl": "refused",
        "d.jsonl": "refused",
        "e.jsonl": "refused",
        "f.jsonl": "refused",
    }
    assert "row 2, line 4, bytes" in outcomes["b.jsonl"].reason
    assert "row 1, line 3, bytes" in outcomes["d.jsonl"].reason
    summary = Summary()
    for outcome in outcomes.values():
        summary.add(outcome)
    assert (summary.file_count, summary.session_count, summary.events_added) == (6, 1, 3)
    assert sum(summary.files.values()) == 6
    assert not summary.ok


def test_the_sound_prefix_goes_to_a_store_of_its_own_on_request(
    store: SessionStore, folder: Path
) -> None:
    write(folder, session_text(3) + b"garbage\n" + lines([event(3)]))
    outcome = imported(store, folder, prefix_store=store)["s.jsonl"]
    assert outcome.kind is OutcomeKind.PREFIX
    assert (outcome.events, outcome.added) == (3, 3)
    assert "line 5" in outcome.reason
    assert not outcome.ok
    assert store.read("s").next_seq == 3
    # Mended, the file adds what was missing.
    write(folder, session_text(4))
    assert imported(store, folder)["s.jsonl"].added == 1


def test_an_import_ended_early_begins_no_further_file(store: SessionStore, folder: Path) -> None:
    for number in range(40):
        write(folder, session_text(2, f"s{number}"), f"{number:02}.jsonl")
    outcomes = import_files(store, session_files(folder), parallel=2)
    for _ in range(3):
        next(outcomes)
    outcomes.close()
    assert 3 <= len(list(store.sessions())) <= 8


def test_a_folder_of_files_reads_like_a_store(folder: Path) -> None:
    write(folder, session_text(3, "a"), "a.jsonl")
    write(folder, compressed(session_text(2, "b")), "b.jsonl.zst")
    write(folder, b"{}", "c.jsonl")
    files = FileSessions(folder)
    found = [(info.id, info.next_seq, info.title) for info in files.sessions()]
    assert found == [("a", 3, "t"), ("b", 2, "t")]
    assert ["c.jsonl" in str(fault) for fault in files.faults] == [True]
    assert files.read("b").next_seq == 2
    with pytest.raises(UnknownSession):
        files.read("nothing")
    with pytest.raises(FileUnreadable):
        FileSessions(folder / "nothing")
