"""The folder store's files as they were published: read and written as ever.

A failure here is a change of a stored format: docs/format.md, "Raising a version". The files are
provisional until the log on Kafka is done; then none is ever changed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.session.children import run_child
from turnlog.events import Header, SessionExists, UnknownSession
from turnlog.session import FolderLogStore, FolderStore, ForkOrigin, Pending

GOLDEN = Path(__file__).parent.parent / "golden"


def golden(name: str) -> bytes:
    return (GOLDEN / name).read_bytes()


def folder_with(tmp_path: Path, **records: bytes) -> Path:
    """A folder with the golden session, and records of it: `owners`, `unborn`, `groups`."""
    (tmp_path / "s.jsonl").write_bytes(golden("folder-session.jsonl"))
    for name, data in records.items():
        folder = tmp_path / ".turnlog" / name
        folder.mkdir(parents=True)
        (folder / "s.jsonl").write_bytes(data)
    return tmp_path


def with_another_key(data: bytes) -> bytes:
    """A record as a later version may write it."""
    return json.dumps(json.loads(data) | {"later": [1]}).encode()


def written(tmp_path: Path, kind: str) -> Any:
    return json.loads((tmp_path / ".turnlog" / kind / "s.jsonl").read_bytes())


def test_the_golden_session_is_read_and_written_as_it_was(tmp_path: Path) -> None:
    data = golden("folder-session.jsonl")
    with FolderStore(folder_with(tmp_path)) as store:
        log = store.read("s")
    assert log.next_seq == 2
    other = tmp_path / "other"
    other.mkdir()
    logs = FolderLogStore(other)
    writer = logs.create(log.header, None)
    writer.send(Pending(log.rows, [(0, 2)]), timeout_s=9)
    writer.release()
    logs.close()
    assert (other / "s.jsonl").read_bytes() == data


@pytest.mark.parametrize(
    ("name", "released"), [("folder-owner.json", False), ("folder-owner-released.json", True)]
)
@pytest.mark.parametrize("later", [False, True])
def test_an_owner_record_is_read_as_it_was(
    tmp_path: Path, name: str, released: bool, later: bool
) -> None:
    data = with_another_key(golden(name)) if later else golden(name)
    logs = FolderLogStore(folder_with(tmp_path, owners=data))
    head = logs.read("s").head
    assert (head.writer, head.released) == ("0b4c2f5e9d7a4c1e8f60a3b2c1d0e9f8", released)
    logs.close()


def test_an_owner_record_is_written_as_it_was(tmp_path: Path) -> None:
    with FolderStore(tmp_path) as store:
        store.create("s")
        held = (tmp_path / ".turnlog" / "owners" / "s.jsonl").read_bytes()
    released = (tmp_path / ".turnlog" / "owners" / "s.jsonl").read_bytes()
    for data, name in ((held, "folder-owner.json"), (released, "folder-owner-released.json")):
        record, expected = json.loads(data), json.loads(golden(name))
        # A writer, a nonce, a host and a process of its own; all else is as in the golden file.
        for key in ("writer", "nonce", "host", "pid"):
            assert type(record[key]) is type(expected[key])
            data = data.replace(
                json.dumps(record[key]).encode(), json.dumps(expected[key]).encode()
            )
        assert data == golden(name)
        assert len(record["writer"]) == len(record["nonce"]) == 32


@pytest.mark.parametrize(
    ("name", "boundary"), [("folder-unborn.json", 0), ("folder-unborn-of-empty.json", None)]
)
@pytest.mark.parametrize("later", [False, True])
def test_an_unborn_marker_is_read_and_written_as_it_was(
    tmp_path: Path, name: str, boundary: int | None, later: bool
) -> None:
    data = with_another_key(golden(name)) if later else golden(name)
    logs = FolderLogStore(folder_with(tmp_path, unborn=data))
    with pytest.raises(UnknownSession):
        logs.read("s")
    with pytest.raises(SessionExists):
        logs.create(Header.new("s", 1), ForkOrigin("p", 1, b""))
    writer = logs.create(Header.new("s", 1), ForkOrigin("p", boundary, b""))
    assert (tmp_path / ".turnlog" / "unborn" / "s.jsonl").read_bytes() == golden(name)
    writer.born()
    assert logs.read("s").rows == ()
    logs.close()


@pytest.mark.parametrize("later", [False, True])
def test_a_group_note_is_read_as_it_was(tmp_path: Path, later: bool) -> None:
    note = golden("folder-group.json")
    folder = folder_with(tmp_path, groups=with_another_key(note) if later else note)
    path = folder / "s.jsonl"
    whole = path.read_bytes()
    with FolderStore(folder) as store:
        assert store.read("s").next_seq == 2
        path.write_bytes(whole[:-1])
        assert store.read("s").next_seq == 0
        path.write_bytes(whole[: json.loads(note)["start"]])
        assert store.read("s").next_seq == 0


def test_a_group_note_is_written_as_it_was(tmp_path: Path) -> None:
    run_child(
        tmp_path,
        """
        from turnlog.events import Header, event_row
        from turnlog.session import FolderLogStore, Pending

        header = Header.new("s", 1700000000000)
        events = [
            {"type": "plan/mode", "seq": n, "time": 1700000000001, "data": {"n": n}}
            for n in range(2)
        ]
        writer = FolderLogStore(folder).create(header, None)
        arm("folder.noted", lambda: os.kill(os.getpid(), signal.SIGKILL))
        writer.send(Pending([event_row(event) for event in events], [(0, 2)]), timeout_s=9)
        """,
        store=False,
        expected=-9,
    )
    assert (tmp_path / ".turnlog" / "groups" / "s.jsonl").read_bytes() == golden(
        "folder-group.json"
    )
