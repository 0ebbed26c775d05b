"""A folder that does not do what it should: disks without room, files that are something else."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.session.children import run_child
from tests.session.talk import run_turn, say
from turnlog.events import (
    BrokenLog,
    BrokerUnavailable,
    Header,
    SessionExists,
    StoreFailed,
    TurnlogError,
)
from turnlog.session import FolderStore, Session, SessionStore


def test_a_failed_group_hides_no_later_write_of_its_writer(tmp_path: Path) -> None:
    run_child(
        tmp_path,
        """
        from turnlog.events import Header, event_row
        from turnlog.session import FolderLogStore, Pending

        def row(seq, text):
            return event_row({"type": "plan/mode", "seq": seq, "time": 1, "data": text})

        logs = FolderLogStore(folder)
        writer = logs.create(Header.new("s", 1), None)
        limit_files(os.path.getsize(path) + 500)
        try:
            writer.send(Pending([row(0, "x" * 400), row(1, "y" * 400)], [(0, 2)]), timeout_s=9)
        except StoreFailed:
            limit_files(RLIM_INFINITY)
        writer.send(Pending([row(0, "alone")], []), timeout_s=9)
        writer.release()
        """,
        store=False,
    )
    assert [event.data for event in FolderStore(tmp_path).read("s").events()] == ["alone"]


def test_a_write_that_could_not_be_cut_back_is_cut_by_the_next(tmp_path: Path) -> None:
    with FolderStore(tmp_path, window_s=60) as store:
        session = store.create("s")
        say(session, "u1")
        session.flush()
        path = tmp_path / "s.jsonl"
        path.write_bytes(path.read_bytes() + b"x" * 10_000 + b"\n")
        say(session, "u2")
        session.flush()
        assert store.read("s").next_seq == 2


def test_a_file_that_lost_acknowledged_bytes_is_not_written_to(tmp_path: Path) -> None:
    with FolderStore(tmp_path, window_s=60) as store:
        session = store.create("s")
        say(session, "u1")
        session.flush()
        path = tmp_path / "s.jsonl"
        whole = path.read_bytes()
        path.write_bytes(whole[:-5])
        say(session, "u2")
        with pytest.raises(StoreFailed, match="acknowledged bytes"):
            session.flush()
        assert path.read_bytes() == whole[:-5]
        path.write_bytes(whole)
        session.flush()
        assert store.read("s").next_seq == 2


def test_what_a_file_left_that_was_taken_away_hides_nothing_of_a_new_one(tmp_path: Path) -> None:
    private = tmp_path / ".turnlog"
    with FolderStore(tmp_path):
        note = {"start": 20, "size": 1_000_000, "sha256": "0" * 64}
        (private / "groups" / "s.jsonl").write_text(json.dumps(note))
        (private / "unborn" / "s.jsonl").write_text('{"session_id":"p","boundary":1}')
    with FolderStore(tmp_path, window_s=60) as store:
        session = store.create("s")
        assert store.read("s").next_seq == 0
        say(session, "u1")
    with FolderStore(tmp_path) as store:
        assert [info.id for info in store.sessions()] == ["s"]
        assert store.open("s").next_seq == 2


def test_damage_to_a_group_that_was_acknowledged_is_damage(tmp_path: Path) -> None:
    with FolderStore(tmp_path) as store:
        session = store.create("s")
        run_turn(session)
    path = tmp_path / "s.jsonl"
    data = path.read_bytes()
    # As of a writer that was killed before it could remove the note, and one that went on.
    start = data.index(b"\n") + 1
    note = {"start": start, "size": 100, "sha256": "0" * 64}
    (tmp_path / ".turnlog" / "groups" / "s.jsonl").write_text(json.dumps(note))
    assert len(data) > start + 100
    path.write_bytes(data.replace(b'"turn/start"', b"\0" * 12))
    with FolderStore(tmp_path) as store:
        with pytest.raises(BrokenLog):
            store.read("s")
        with pytest.raises(BrokenLog):
            store.open("s")


def test_a_session_is_released_though_the_disk_is_full(tmp_path: Path) -> None:
    run_child(
        tmp_path,
        """
        session = store.create("s")
        session.append("plan/mode", {})
        session.flush()
        limit_files(10)
        session.detach()
        limit_files(RLIM_INFINITY)
        other = FolderStore(folder)
        assert [info.released for info in other.sessions()] == [True]
        assert other.open("s").next_seq == 2
        other.close()
        """,
    )


def test_a_release_that_can_not_be_noted_is_logged_and_no_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with FolderStore(tmp_path) as store:
        session = store.create("s")
        say(session, "u1")
        session.flush()
        record = tmp_path / ".turnlog" / "owners" / "s.jsonl"
        record.unlink()
        record.mkdir()
        with caplog.at_level(logging.WARNING, logger="turnlog"):
            session.detach()
        assert "stays held" in caplog.text
        assert store.live() == []
        record.rmdir()
        assert store.open("s").next_seq == 2


def test_an_import_that_found_no_room_is_tried_again(tmp_path: Path) -> None:
    run_child(
        tmp_path,
        """
        from turnlog.session import Session
        source = Session.create("s")
        run_turn(source)
        log = source.log
        limit_files(500)
        for n in range(2):
            try:
                store.import_log(log.header, log.rows)
            except StoreFailed:
                pass
            else:
                raise SystemExit("imported")
        limit_files(RLIM_INFINITY)
        assert store.import_log(log.header, log.rows).added == log.next_seq
        """,
    )
    assert FolderStore(tmp_path).open("s").next_seq > 1


def test_a_folder_in_the_place_of_a_session_file_is_a_typed_error(tmp_path: Path) -> None:
    with FolderStore(tmp_path) as store:
        (tmp_path / "s.jsonl").mkdir()
        for act in (store.read, store.open):
            with pytest.raises(BrokerUnavailable, match=r"s\.jsonl"):
                act("s")
        with pytest.raises(SessionExists):
            store.create("s")
        assert list(store.sessions()) == []


PLACES = ["s.jsonl", *(f".turnlog/{name}/s.jsonl" for name in ("owners", "unborn", "groups"))]
PLACES += [".turnlog/lock", ".turnlog/owners", ".turnlog/groups", ".turnlog"]


def a_folder(path: Path) -> None:
    path.mkdir()


def a_file(path: Path) -> None:
    path.write_bytes(b"\xff")


def nothing(path: Path) -> None:
    pass


@pytest.mark.parametrize("instead", [a_folder, a_file, nothing])
@pytest.mark.parametrize("place", PLACES)
def test_only_typed_errors_come_from_a_spoilt_folder(
    tmp_path: Path, place: str, instead: Callable[[Path], None]
) -> None:
    imported = Session.create("s")
    run_turn(imported)
    log = imported.log
    acts: list[Callable[[SessionStore, Session], object]] = [
        lambda store, session: store.read("s"),
        lambda store, session: list(store.sessions()),
        lambda store, session: session.flush(),
        lambda store, session: FolderStore(tmp_path).open("s"),
        lambda store, session: FolderStore(tmp_path).open("s", take_over=True),
        lambda store, session: store.create("new"),
        lambda store, session: FolderStore(tmp_path).create("s"),
        lambda store, session: store.fork("s", child_id="c"),
        lambda store, session: FolderStore(tmp_path).fork("p", child_id="s"),
        lambda store, session: store.import_log(log.header, log.rows),
        lambda store, session: store.import_log(Header.new("other", 1), log.rows),
        lambda store, session: session.detach(),
        lambda store, session: store.close(),
    ]
    for act in acts:
        _remove(tmp_path / ".turnlog", *tmp_path.glob("*.jsonl"))
        store = FolderStore(tmp_path, window_s=60)
        store.create("p")
        session = store.create("s")
        say(session, "u1")
        _remove(tmp_path / place)
        instead(tmp_path / place)
        with suppress(TurnlogError):
            act(store, session)
        with suppress(TurnlogError):
            store.close()


def _remove(*paths: Path) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
