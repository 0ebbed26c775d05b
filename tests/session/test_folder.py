"""The folder store: file names, torn writes, full disks, killed and paused writers."""

from __future__ import annotations

import json
import logging
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.children import run_child, start_child
from tests.session.talk import chunk, run_turn, say
from turnlog.events import (
    BrokenLog,
    BrokerUnavailable,
    OwnedElsewhere,
    RestoreRefused,
    UnknownSession,
)
from turnlog.kernel import messages
from turnlog.session import FolderStore
from turnlog.session.folder_names import file_name

session_ids = st.text(
    st.characters(exclude_categories=["Cs"], min_codepoint=32), min_size=1, max_size=255
)


@given(st.lists(session_ids, min_size=2, max_size=6, unique=True))
def test_file_names_are_safe_and_one_to_one(ids: list[str]) -> None:
    names = [file_name(id) for id in ids]
    assert len({name.casefold() for name in names}) == len(ids)
    for name in names:
        assert len(name.encode()) <= 255
        assert name.endswith(".jsonl")
        assert not name.startswith(".")
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_.%=")


def test_file_names_are_fixed() -> None:
    assert file_name("demo-1_a.b") == "demo-1_a.b.jsonl"
    assert file_name("../A b") == "%2e./%41 b".replace("/", "%2f").replace(" ", "%20") + ".jsonl"
    assert file_name("=x") == "%3dx.jsonl"
    long = file_name("x" * 255)
    assert long.startswith("=")
    assert len(long) == 1 + 64 + 6


def test_a_session_is_one_plain_jsonl_file(tmp_path: Path) -> None:
    with FolderStore(tmp_path) as store:
        session = store.create("s")
        say(session, "u1")
        session.append_all([chunk(f"t{i}") for i in range(4)])
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_bytes().splitlines()]
    assert [line["type"] for line in lines] == ["session", "user/message", "text-chunks"]
    assert lines[0]["delegationDepth"] == 0
    assert [path.name for path in tmp_path.iterdir() if path.name != ".turnlog"] == ["s.jsonl"]


def test_a_torn_last_line_is_left_out_and_cut_when_opened(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with FolderStore(tmp_path) as store:
        run_turn(store.create("s"))
    path = tmp_path / "s.jsonl"
    whole = path.read_bytes()
    for torn in (b'{"type":"plan/mode","se', b"{", b'{"type":"a","seq":99,"time":1,"data":"\xff'):
        path.write_bytes(whole + torn)
        with FolderStore(tmp_path) as store:
            before = store.read("s").next_seq
            assert path.read_bytes() == whole + torn
            caplog.clear()
            with caplog.at_level(logging.WARNING, logger="turnlog"):
                store.open("s").detach()
            assert str(len(torn)) in caplog.text
            assert path.read_bytes().startswith(whole)
            whole = path.read_bytes()
            assert [json.loads(line) for line in whole.splitlines()]
            assert store.read("s").next_seq >= before


def test_a_whole_last_line_without_a_line_end_counts(tmp_path: Path) -> None:
    with FolderStore(tmp_path) as store:
        say(store.create("s"), "u1")
    path = tmp_path / "s.jsonl"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    with FolderStore(tmp_path) as store:
        session = store.open("s")
        say(session, "u2")
    ids = [message.id for message in messages(FolderStore(tmp_path).read("s"))]
    assert ids == ["u1", "u2"]


def test_damage_before_the_end_refuses_and_changes_nothing(tmp_path: Path) -> None:
    with FolderStore(tmp_path) as store:
        run_turn(store.create("s"))
        run_turn(store.create("other"))
    path = tmp_path / "s.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = b"\x00" * 300 + b"\n"
    path.write_bytes(b"".join(lines))
    damaged = path.read_bytes()
    with FolderStore(tmp_path) as store:
        with pytest.raises(BrokenLog):
            store.read("s")
        with pytest.raises(BrokenLog):
            store.open("s")
        assert [info.id for info in store.sessions()] == ["other"]
        store.open("other")
    assert path.read_bytes() == damaged


def test_rows_whose_seqs_overlap_are_not_resumed(tmp_path: Path) -> None:
    with FolderStore(tmp_path) as store:
        session = store.create("s")
        session.append_all([chunk(f"t{i}") for i in range(5)])
    path = tmp_path / "s.jsonl"
    path.write_bytes(path.read_bytes() + b'{"type":"plan/mode","seq":3,"time":1,"data":{}}\n')
    with FolderStore(tmp_path) as store:
        with pytest.raises(RestoreRefused) as caught:
            store.open("s")
        assert caught.value.index == 5
        assert len(list(store.read("s").events())) == 6


def test_a_crashed_writer_needs_no_take_over(tmp_path: Path) -> None:
    run_child(
        tmp_path,
        """
        session = store.create("s")
        session.append("plan/mode", {"n": 1})
        session.flush()
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        expected=-signal.SIGKILL,
    )
    with FolderStore(tmp_path) as store:
        assert store.open("s").next_seq == 2


def test_kills_while_writing_lose_nothing_acknowledged(tmp_path: Path) -> None:
    for lap in range(10):
        child = start_child(
            tmp_path,
            f"""
            session = store.create("s{lap}")
            for n in range(100000):
                session.append_all([Draft("plan/mode", {{"n": n, "k": k}}) for k in range(3)])
                head = session.flush()
                print(head.next_seq, flush=True)
            """,
        )
        assert child.stdout is not None
        acknowledged = [int(child.stdout.readline()) for _ in range(5 + 3 * lap)][-1]
        child.kill()
        rest, _ = child.communicate()
        acknowledged = max([acknowledged, *map(int, rest.split()[:-1])])
        with FolderStore(tmp_path) as store:
            stored = store.read(f"s{lap}")
            assert stored.next_seq >= acknowledged
            assert stored.next_seq % 3 == 0  # a group is there whole or not at all
            assert [event.seq for event in stored.events()] == list(range(stored.next_seq))
            store.open(f"s{lap}")


def test_a_group_that_was_not_written_whole_is_left_out(tmp_path: Path) -> None:
    with FolderStore(tmp_path) as store:
        session = store.create("s")
        say(session, "u1")
        session.flush()
        size = (tmp_path / "s.jsonl").stat().st_size
        session.append_all([chunk("a"), chunk("b")])
        session.flush()
    path = tmp_path / "s.jsonl"
    data = path.read_bytes()
    note = {"start": size, "size": len(data) - size, "sha256": "0" * 64}
    (tmp_path / ".turnlog" / "groups" / "s.jsonl").write_text(json.dumps(note))
    first_line = data.index(b"\n", size) + 1
    path.write_bytes(data[:first_line])
    with FolderStore(tmp_path) as store:
        assert store.read("s").next_seq == 1
        assert [event.type for event in store.open("s").log.events()] == [
            "user/message",
            "session/end-seed",
        ]


def test_a_full_disk_is_a_typed_error_and_loses_nothing(tmp_path: Path) -> None:
    run_child(
        tmp_path,
        """
        session = store.create("s")
        session.append("plan/mode", {"n": 1})
        session.flush()
        limit_files(os.path.getsize(path) + 1000)
        session.append("plan/mode", {"n": 2, "x": "y" * 5000})
        for _ in range(2):
            try:
                session.flush()
            except StoreFailed as error:
                assert error.first_seq == 1
            else:
                raise SystemExit("the flush succeeded")
        limit_files(RLIM_INFINITY)
        session.append("plan/mode", {"n": 3})
        session.flush()
        """,
    )
    with FolderStore(tmp_path) as store:
        assert [event.data["n"] for event in store.read("s").events()] == [1, 2, 3]


def test_a_paused_writer_that_was_taken_over_writes_nothing(tmp_path: Path) -> None:
    child = start_child(
        tmp_path,
        """
        session = store.create("s")
        session.append("plan/mode", {"n": 1})
        session.flush()
        print("ready", flush=True)
        sys.stdin.readline()
        session.append("plan/mode", {"n": "late"})
        try:
            session.flush()
        except Superseded as error:
            print([event.data["n"] for event in session.not_landed], flush=True)
        """,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdout.readline()
    child.send_signal(signal.SIGSTOP)
    store = FolderStore(tmp_path)
    with pytest.raises(OwnedElsewhere) as caught:
        store.open("s")
    assert caught.value.host
    session = store.open("s", take_over=True)
    session.append("plan/mode", {"n": 2})
    session.flush()
    child.send_signal(signal.SIGCONT)
    child.stdin.write("go\n")
    child.stdin.flush()
    assert child.stdout.readline().strip() == "['late']"
    child.communicate()
    store.close()
    found = [e.data["n"] for e in store.read("s").events() if e.type == "plan/mode"]
    assert found == [1, 2]


def test_an_unborn_child_is_shown_to_nobody_and_born_by_a_repeated_fork(tmp_path: Path) -> None:
    with FolderStore(tmp_path) as store:
        run_turn(store.create("p"))
        store.fork("p", child_id="c")
    marker = tmp_path / ".turnlog" / "unborn" / "c.jsonl"
    length = FolderStore(tmp_path).read("p").next_seq
    marker.write_text(json.dumps({"session_id": "p", "boundary": length - 1}))
    path = tmp_path / "c.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    with FolderStore(tmp_path) as store:
        for act in (store.read, store.open):
            with pytest.raises(UnknownSession):
                act("c")
        assert [info.id for info in store.sessions()] == ["p"]
        child = store.fork("p", child_id="c")
        assert child.next_seq == length + 1
    assert FolderStore(tmp_path).read("c").next_seq == length + 1


def test_a_folder_that_can_not_be_used_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BrokerUnavailable):
        FolderStore(tmp_path / "file")


def test_a_long_session_keeps_its_order_across_a_restart(tmp_path: Path) -> None:
    with FolderStore(tmp_path) as store:
        session = store.create("s")
        for start in range(0, 100_002, 1_000):
            session.append_all([chunk(f"t{n}") for n in range(start, min(start + 1_000, 100_002))])
    with FolderStore(tmp_path) as store:
        session = store.open("s")
        say(session, "last")
        session.flush()
        events = list(store.read("s").events())
    assert [event.seq for event in events] == list(range(100_004))
    texts = [event.data["chunk"]["text"] for event in events[:100_002]]
    assert texts == [f"t{n}" for n in range(100_002)]
    assert events[-1].data["id"] == "last"


def test_two_stores_write_different_sessions_of_one_folder(tmp_path: Path) -> None:
    one, other = FolderStore(tmp_path), FolderStore(tmp_path)
    a, b = one.create("a"), other.create("b")
    for index in range(20):
        say(a, f"a{index}")
        say(b, f"b{index}")
        a.flush()
        b.flush()
    one.close()
    other.close()
    for id in ("a", "b"):
        assert FolderStore(tmp_path).read(id).next_seq == 20


def test_store_failure_is_a_typed_error_for_new_sessions(tmp_path: Path) -> None:
    run_child(
        tmp_path,
        """
        limit_files(10)
        try:
            store.create("s")
        except StoreFailed:
            pass
        else:
            raise SystemExit("created")
        limit_files(RLIM_INFINITY)
        store.create("s")
        """,
    )
