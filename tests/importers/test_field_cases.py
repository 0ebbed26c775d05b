"""Files as they were found in the field: whole kinds of damage, of ids and of titles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.importers.files import compressed, event, header, lines, session_text, write
from tests.session.talk import run_turn, say
from turnlog.events import BadSessionId, UnknownSession
from turnlog.importers import (
    FileRefused,
    FileSessions,
    OutcomeKind,
    export_log,
    import_file,
    records,
    recover,
)
from turnlog.session import FolderStore, MemoryLogs, MemoryStore, SessionStore

HEAD = lines([header()])


@pytest.fixture
def store() -> Iterator[SessionStore]:
    with MemoryStore(MemoryLogs()) as store:
        yield store


def row(seq: int, text: str = "t") -> bytes:
    return lines([event(seq, text)])[:-1]


# --- D1: cut, joined, zeroed ----------------------------------------------------------------------

DAMAGE = st.sampled_from(["cut", "joined", "zeros", "zeros inside a line", "half and the next"])


@given(damage=DAMAGE, at=st.integers(1, 4), size=st.integers(1, 700), kept=st.integers(1, 90))
def test_every_whole_record_is_readable_and_all_else_is_named_by_its_bytes(
    damage: str, at: int, size: int, kept: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [row(seq) + b"\n" for seq in range(6)]
    whole = list(range(6))
    if damage == "cut":
        rows[at] = rows[at][: kept % (len(rows[at]) - 2) + 1]  # the next stands on its line
        whole.remove(at)
    elif damage == "joined":
        rows[at] = rows[at][:-1]
    elif damage == "zeros":
        rows[at] += bytes(size)
    elif damage == "zeros inside a line":
        rows[at] = rows[at][:-1] + bytes(size) + b"\n"
    else:
        rows[at] = rows[at][: kept % (len(rows[at]) - 2) + 1] + b"\n"
        whole.remove(at)
    data = HEAD + b"".join(rows)
    path = write(tmp_path_factory.mktemp("d1"), data)
    found = recover(path)
    got = list(records(path))
    assert [each.row.first_seq for each in got] == whole
    assert [json.loads(data[each.start : each.end])["seq"] for each in got] == whole
    # What is neither a record nor damage is white space.
    covered = bytearray(data[len(HEAD) :])
    places = [(each.start, each.end) for each in got]
    for start, end in [*places, *((each.start, each.end) for each in found.damage)]:
        covered[start - len(HEAD) : end - len(HEAD)] = b" " * (end - start)
    assert not covered.strip()
    assert found.damage
    with MemoryStore(MemoryLogs()) as store:
        outcome = import_file(store, path)
        assert (outcome.kind, outcome.reason) == (OutcomeKind.REFUSED, found.stop)
        assert "bytes" in outcome.reason
        with pytest.raises(UnknownSession):
            store.read("s")
        imported = import_file(store, path, store)
        assert imported.kind is OutcomeKind.PREFIX
        assert store.read("s").next_seq == found.sound_events == imported.added


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("padding", [10, 5_000_000])
def test_a_number_that_is_none_is_refused_by_line_at_every_size(
    store: SessionStore, tmp_path: Path, value: str, padding: int
) -> None:
    bad = lines([event(1, "x" * padding)]).replace(b'"sourceSeqs": []', b'"sourceSeqs": [%s]')
    path = write(tmp_path, HEAD + row(0) + b"\n" + bad % value.encode() + row(2))
    outcome = import_file(store, path)
    assert outcome.kind is OutcomeKind.REFUSED
    assert outcome.reason.startswith("row 1, line 3, bytes")


# --- B1, B3: two writers in one file --------------------------------------------------------------


@given(
    restart=st.integers(0, 5),
    length=st.integers(6, 9),
    second=st.integers(1, 8),
    form=st.sampled_from([".jsonl", ".jsonl.zst"]),
)
def test_of_a_tail_that_restarts_lower_both_branches_are_kept(
    restart: int, length: int, second: int, form: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first = [event(seq, "first") for seq in range(length)]
    other = [event(seq, "second") for seq in range(restart, restart + second)]
    text = HEAD + lines(first) + lines(other)
    path = write(
        tmp_path_factory.mktemp("b3"),
        text if form == ".jsonl" else compressed(text),
        f"s{form}",
    )
    found = recover(path)
    both = range(restart, min(length, restart + second))
    assert [each.first_seq for each in found.doubles] == list(both)
    for double in found.doubles:
        earlier, later = double.earlier, double.later
        assert json.loads(text[earlier.start : earlier.end])["data"]["title"] == "first"
        assert json.loads(text[later.start : later.end])["data"]["title"] == "second"
    assert [each.row.first_seq for each in records(path)] == [
        each["seq"] for each in (*first, *other)
    ]
    assert (found.sound_rows, found.sound_events) == (length, length)
    assert found.stop is not None
    assert found.stop.startswith(f"row {length}, line {length + 2}, bytes")
    with pytest.raises(FileRefused, match=f"row {length}"):
        FileSessions(path).read("s")


# --- H1: lines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85", "\x0c", "\x0b", "\x1c"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("length", [1, 300_000, 3_000_000])
def test_lines_end_at_0x0a_only_and_may_be_long(
    store: SessionStore, tmp_path: Path, char: str, end: str, length: int
) -> None:
    texts = [f"a{char}b" * (length // 3 + 1), f"{char}last"]
    # Unescaped where JSON lets it be.
    raw = char >= " "
    text = end.join(
        json.dumps(value, ensure_ascii=not raw)
        for value in (header(), *(event(seq, each) for seq, each in enumerate(texts)))
    )
    for data, name in ((text.encode(), "s.jsonl"), (compressed(text.encode()), "s.jsonl.zst")):
        path = write(tmp_path, data, name)
        assert import_file(store, path).ok
        found: list[Any] = [each.data["title"] for each in store.read("s")]
        assert found == texts


# --- H6: one's own export -------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("zstd", [True, False])
def test_ones_own_export_adds_nothing_twice_and_new_events_once(
    tmp_path: Path, packed: bool, zstd: bool
) -> None:
    with FolderStore(tmp_path / "store") as store:
        with store.create("s") as session:
            run_turn(session)
        old = export_log(store.read("s"), tmp_path / "old", compressed=zstd, packed=packed)
        for _ in range(2):
            outcome = import_file(store, old)
            assert (outcome.kind, outcome.added) == (OutcomeKind.PRESENT, 0)
        with store.open("s") as session:
            run_turn(session, 2)
        before = [each.to_json() for each in store.read("s")]
        assert import_file(store, old).kind is OutcomeKind.PRESENT
        new = export_log(store.read("s"), tmp_path / "new", compressed=zstd, packed=packed)
        with MemoryStore(MemoryLogs()) as other:
            first = import_file(other, old).added
            assert import_file(other, new).added == len(before) - first > 0
            assert import_file(other, old).kind is OutcomeKind.PRESENT
            assert [each.to_json() for each in other.read("s")] == before
            with other.open("s") as session:
                say(session, "elsewhere")
        with store.open("s") as session:
            say(session, "here")
        outcome = import_file(store, export_log(other.read("s"), tmp_path / "other"))
        assert outcome.kind is OutcomeKind.CONFLICT
        assert f"at seq {len(before)}" in outcome.reason


# --- M4: ids --------------------------------------------------------------------------------------

SAFE = [
    "../../etc/x",
    "a/b",
    "a\\b",
    ".",
    "..",
    "CON",
    "Ab",
    "aB",
    "ab",
    "é",
    "x" * 255,
    "🦊" * 255,
]
SAFE += [" ", "a\x7f", "\u202eid", "%2e", "=", "-n", "~", "a:b", "a.jsonl"]
BAD = ["", "a\0b", "\x01", "a\nb", "x" * 256, "x" * 300, "a\ud800"]


@pytest.mark.parametrize("zstd", [True, False])
def test_any_sound_id_goes_to_a_file_of_its_own_and_back(tmp_path: Path, zstd: bool) -> None:
    logs, out = MemoryLogs(), tmp_path / "out"
    with MemoryStore(logs) as store:
        for number, id in enumerate(SAFE):
            file = write(tmp_path, lines([header(id), event(0, f"{number}")]), "in.jsonl")
            assert import_file(store, file).added == 1
        paths = [export_log(store.read(id), out, compressed=zstd) for id in SAFE]
        assert {path.parent for path in paths} == {out}
        names = {path.name.casefold() for path in paths}
        assert len(names) == len(SAFE)
        assert sorted(out.iterdir()) == sorted(paths)
    back = FileSessions(out)
    assert {info.id: info.title for info in back.sessions()} == {
        id: f"{number}" for number, id in enumerate(SAFE)
    }
    assert back.faults == []
    assert [back.read(id).header.id for id in SAFE] == SAFE


@pytest.mark.parametrize("id", BAD, ids=ascii)
def test_an_id_that_is_none_is_refused_and_the_others_go_on(
    store: SessionStore, tmp_path: Path, id: str
) -> None:
    bad = write(tmp_path, lines([header(id), event(0)]), "bad.jsonl")
    good = write(tmp_path, session_text(2), "good.jsonl")
    for taker in (None, store):
        outcome = import_file(store, bad, taker)
        assert outcome.kind is OutcomeKind.REFUSED
        assert "code points" in outcome.reason
    assert import_file(store, good).ok
    files = FileSessions(tmp_path)
    assert [info.id for info in files.sessions()] == ["s"]
    assert [fault.path.name for fault in files.faults] == ["bad.jsonl"]
    with pytest.raises(BadSessionId):
        files.read(id)


# --- N2: titles -----------------------------------------------------------------------------------


def message(seq: int, text: str, kind: str = "user") -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    data = {"id": f"u{seq}", "role": "user", "source": {"kind": kind}, "content": content}
    return {
        "type": "user/message",
        "seq": seq,
        "time": seq,
        "data": data,
        "surfaceOp": "append",
    }


def escaped(value: dict[str, Any]) -> bytes:
    """The same value with every letter of its type as an escape."""
    name = "".join(f"\\u{ord(char):04x}" for char in value["type"])
    return lines([value]).replace(f'"{value["type"]}"'.encode(), f'"{name}"'.encode())


@pytest.mark.parametrize("zstd", [True, False])
def test_every_session_is_listed_with_its_title(tmp_path: Path, zstd: bool) -> None:
    long = "long " * 4000
    filler = [event(seq, "x" * 1000) for seq in range(500)]
    named = [*filler, event(500, "in the middle")]
    after = [message(seq, "y" * 1000) for seq in range(501, 1000)]
    injected = [message(seq, f"injected {seq}", "context") for seq in range(25)]
    sessions: dict[str, bytes] = {
        "long": lines([message(0, long)]),
        "middle": lines([*named, *after]),
        "injected": lines([*injected, message(25, "the person's")]),
        "none": b"",
        "nobody": lines(injected),
        "escaped": escaped(message(0, "by escapes")),
    }
    for id, text in sessions.items():
        data = lines([header(id)]) + text
        write(tmp_path, compressed(data) if zstd else data, f"{id}.jsonl{'.zst' if zstd else ''}")
    found = {info.id: info.title for info in FileSessions(tmp_path).sessions()}
    assert found == {
        "long": long,
        "middle": "in the middle",
        "injected": "the person's",
        "none": None,
        "nobody": None,
        "escaped": "by escapes",
    }
