"""The two readings of a damaged file: where strict stops, and all that can be had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.importers.files import event, header, lines, session_text, write
from turnlog.importers import FileRefused, FileUnreadable, recover
from turnlog.importers.recovering import prefix, records
from turnlog.importers.strict import open_strict

HEAD = lines([header()])


def row(seq: int, text: str = "t") -> bytes:
    return lines([event(seq, text)])


def chunks(seq0: int, count: int) -> bytes:
    data = {"turn": 1, "step": 1, "index": 0, "dt": [1] * (count - 1), "texts": ["x"] * count}
    return lines([{"type": "text-chunks", "seq0": seq0, "time0": 0, "data": data}])


def seqs(path: Path) -> list[int]:
    return [record.row.first_seq for record in records(path)]


def refused(path: Path) -> str:
    with pytest.raises(FileRefused) as caught, open_strict(path) as (_, rows):
        list(rows)
    return str(caught.value)


def test_a_whole_file_is_sound_to_both(tmp_path: Path) -> None:
    found = recover(write(tmp_path, session_text(4)))
    assert (found.stop, found.sound_rows, found.sound_events, found.row_count) == (None, 4, 4, 4)
    assert (found.damage, found.frames, found.doubles, found.gaps) == ((), (), (), ())
    assert found.header is not None
    assert found.header.id == "s"


@pytest.mark.parametrize(
    ("name", "damage", "whole"),
    [
        ("a cut record with the next on its line", row(1)[:40] + row(2), [0, 2]),
        ("two records joined", row(1)[:-1] + row(2), [0, 1, 2]),
        ("zero bytes between rows", row(1) + b"\0" * 300 + row(2), [0, 1, 2]),
        ("a line that is no JSON", b"garbage\n" + row(1), [0, 1]),
        ("a row of another form", b'{"type":5}\n' + row(1), [0, 1]),
    ],
)
def test_of_a_damaged_file_every_whole_record_is_there_and_the_damage_by_bytes(
    tmp_path: Path, name: str, damage: bytes, whole: list[int]
) -> None:
    path = write(tmp_path, HEAD + row(0) + damage)
    found = recover(path)
    assert seqs(path) == whole
    assert found.damage_count == len(found.damage) > 0
    for each in found.damage:
        assert len(HEAD + row(0)) <= each.start <= each.end <= path.stat().st_size
    assert found.stop is not None
    assert found.stop in refused(path)
    assert "bytes" in found.stop
    assert found.sound_rows >= 1
    assert [each.first_seq for each in prefix(found)] == whole[: found.sound_rows]


def test_a_second_writers_rows_are_doubles_with_both_places(tmp_path: Path) -> None:
    first, second = row(0) + row(1, "mine") + row(2), row(1, "other") + row(2) + row(3)
    path = write(tmp_path, HEAD + first + second)
    found = recover(path)
    assert found.double_count == 2
    double = found.doubles[0]
    assert (double.first_seq, double.end_seq) == (1, 2)
    data = path.read_bytes()
    texts = [json.loads(data[one.start : one.end])["data"]["title"] for one in double[2:]]
    assert texts == ["mine", "other"]
    assert found.stop is not None
    assert "row 3, line 5" in found.stop
    assert (found.row_count, found.sound_events) == (6, 3)


def test_a_packed_row_is_checked_over_its_whole_span(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + row(0) + chunks(1, 5) + chunks(4, 4))
    (double,) = recover(path).doubles
    assert (double.first_seq, double.end_seq) == (4, 6)


def test_missing_seqs_are_named(tmp_path: Path) -> None:
    (gap,) = recover(write(tmp_path, HEAD + row(0) + row(3))).gaps
    assert (gap.first_seq, gap.end_seq, gap.line) == (1, 3, 3)


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85"])
def test_lines_end_at_0x0a_only(tmp_path: Path, char: str) -> None:
    raw = json.dumps(event(0, f"a{char}b"), ensure_ascii=False).encode() + b"\n"
    path = write(tmp_path, HEAD.replace(b"\n", b"\r\n") + raw.replace(b"\n", b"\r\n") + row(1)[:-1])
    found = recover(path)
    assert (found.stop, found.sound_events) == (None, 2)
    (first, _) = records(path)
    assert first.row.events()[0].data["title"] == f"a{char}b"


def test_an_infinite_number_names_its_line(tmp_path: Path) -> None:
    bad = row(1).replace(b'"time": 1', b'"time": NaN')
    assert "line 3" in refused(write(tmp_path, HEAD + row(0) + bad + row(2)))


def test_without_a_file_the_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="No such file"):
        recover(tmp_path / "nothing.jsonl")
    with pytest.raises(FileUnreadable, match=str(tmp_path)):
        recover(tmp_path)


PIECES: list[Any] = [row(n) for n in range(4)] + [b"\0\0", b"{", b"\n", b"}{", HEAD, chunks(2, 3)]


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=12))
def test_both_readings_agree_where_strict_stops(
    pieces: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write(tmp_path_factory.mktemp("f"), HEAD + b"".join(pieces))
    found = recover(path)
    taken, stop = 0, ""
    try:
        with open_strict(path) as (_, rows):
            for _ in rows:
                taken += 1
    except FileRefused as error:
        stop = str(error)
    assert taken >= found.sound_rows
    if not stop:
        assert (taken, found.damage) == (found.row_count, ())
    elif taken == found.sound_rows:
        assert found.stop is not None
        assert found.stop in stop
