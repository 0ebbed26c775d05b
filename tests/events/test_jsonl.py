"""The JSONL form: one scanner for whole and damaged files, the strict reader, the writer."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.events.samples import DROP, changed
from tests.exactness import nested
from tests.strategies import AgentLog, agent_log, agent_logs, headers, splits
from turnlog.events.errors import BadRow, BadShape, BrokenLog, DamagedFile
from turnlog.events.header import Header
from turnlog.events.jsonl import (
    MAX_LINE_BYTES,
    Damage,
    FileHeader,
    FileRow,
    Item,
    header_line,
    read_jsonl,
    scan_jsonl,
    write_jsonl,
)
from turnlog.events.jsontext import dumps
from turnlog.events.rows import Row

HEADER = b'{"type":"session","version":0,"id":"s","createdAt":5,"delegationDepth":0}'
ROWS = [
    b'{"type":"turn/start","seq":0,"time":9,"data":{"turn":1}}',
    b'{"type":"text-chunks","seq0":1,"time0":9,"data":{"turn":1,"step":1,"index":0,'
    b'"dt":[0,1],"texts":["{\\"a\\":","}{","\xc3\xa9"]}}',
    b'{"type":"tool/call","seq":4,"time":9,"data":{"arguments":"{\\"cut\\":\\"in a"}}',
    b'{"type":"x","seq":5,"time":9,"data":[{"a":{}},[],"",null,-1.5e3]}',
]


def file_of(*lines: bytes, end: bytes = b"\n") -> bytes:
    """A file: the header line and these lines."""
    return b"".join(line + end for line in (HEADER, *lines))


def scan(data: bytes, **more: Any) -> list[Item]:
    return list(scan_jsonl(io.BytesIO(data), **more))


def rows_in(items: Iterable[Item]) -> list[bytes]:
    return [item.row.text for item in items if isinstance(item, FileRow)]


def damage_in(items: Iterable[Item]) -> list[Damage]:
    return [item for item in items if isinstance(item, Damage)]


def bytes_of(data: bytes, item: Item) -> bytes:
    return data[item.start : item.end]


def written(header: Header, rows: Iterable[Row]) -> bytes:
    f = io.BytesIO()
    write_jsonl(f, header, rows)
    return f.getvalue()


def check_ranges(data: bytes, items: list[Item]) -> None:
    """All but white space is in one range each, ranges are in order, a row's text is its bytes."""
    end = 0
    for item in items:
        assert end <= item.start <= item.end
        assert not data[end : item.start].strip(b" \t\r\n")
        assert b"\n" not in bytes_of(data, item)
        assert item.line == data.count(b"\n", 0, item.start) + 1
        if isinstance(item, FileRow):
            assert item.row.text == bytes_of(data, item)
        if isinstance(item, Damage):
            assert item.reason
        end = item.end
    assert not data[end:].strip(b" \t\r\n")


# --- whole files ---------------------------------------------------------------------------------


@given(headers(), agent_logs())
def test_what_is_written_is_read(header: Header, log: AgentLog) -> None:
    rows = log.rows
    read_header, read_rows = read_jsonl(io.BytesIO(written(header, rows)))
    assert read_header.value == {"delegationDepth": 0, **header.value}
    assert list(read_rows) == rows


@given(headers(), agent_logs(30))
def test_what_is_read_is_written_byte_for_byte(header: Header, log: AgentLog) -> None:
    data = written(header, log.rows)
    again, rows = read_jsonl(io.BytesIO(data))
    assert written(again, rows) == data


@given(st.data(), agent_logs(30))
def test_the_cuts_between_blocks_do_not_matter(data: st.DataObject, log: AgentLog) -> None:
    text = written(log.header, log.rows)[: data.draw(st.integers(0, 4_000))]
    cuts = data.draw(splits(len(text)))
    assert list(scan_jsonl(text[start:end] for start, end in cuts)) == scan(text)
    assert list(scan_jsonl(text[at : at + 1] for at in range(len(text)))) == scan(text)


def test_the_bytes_of_the_plain_form() -> None:  # golden: stored for ever
    header = Header.new("é", 5, cwd="/w", parentSession="p", seedLength=0, more=[1.0])
    rows = [Row(text, 0) for text in ROWS]
    assert written(header, rows) == (
        b'{"type":"session","version":0,"id":"\xc3\xa9","createdAt":5,"cwd":"/w",'
        b'"parentSession":"p","seedLength":0,"more":[1.0],"delegationDepth":0}\n'
        b'{"type":"turn/start","seq":0,"time":9,"data":{"turn":1}}\n'
        b'{"type":"text-chunks","seq0":1,"time0":9,"data":{"turn":1,"step":1,"index":0,'
        b'"dt":[0,1],"texts":["{\\"a\\":","}{","\xc3\xa9"]}}\n'
        b'{"type":"tool/call","seq":4,"time":9,"data":{"arguments":"{\\"cut\\":\\"in a"}}\n'
        b'{"type":"x","seq":5,"time":9,"data":[{"a":{}},[],"",null,-1.5e3]}\n'
    )


def test_the_ranges_of_a_whole_file() -> None:
    data = file_of(*ROWS)
    items = scan(data)
    check_ranges(data, items)
    assert [type(item) for item in items] == [FileHeader] + [FileRow] * 4
    assert [bytes_of(data, item) for item in items] == [HEADER, *ROWS]
    assert [item.line for item in items] == [1, 2, 3, 4, 5]
    first = items[0]
    assert isinstance(first, FileHeader)
    assert first.header.value == {"version": 0, "id": "s", "createdAt": 5, "delegationDepth": 0}


def test_what_is_found_can_not_be_changed() -> None:
    for item in scan(file_of(ROWS[0], b"junk")):
        for name in ("start", "end", "line"):
            with pytest.raises(AttributeError):
                setattr(item, name, 0)


def test_every_recorded_file_is_whole(shared_dir: Path) -> None:
    files = [path for path in (shared_dir / "recorded").iterdir() if path.name != "expect.jsonl"]
    assert len(files) == 81
    for path in files:
        data = path.read_bytes()
        items = scan(data)
        check_ranges(data, items)
        assert not damage_in(items)
        header, rows = read_jsonl(io.BytesIO(data))
        assert written(header, rows) == data


def test_overlapping_spans_are_not_the_scanners_business() -> None:  # field case B3
    items = scan(file_of(ROWS[1], ROWS[0], ROWS[1]))
    assert rows_in(items) == [ROWS[1], ROWS[0], ROWS[1]]
    assert not damage_in(items)


# --- lines (field case H1) -----------------------------------------------------------------------

SEPARATORS = "\u2028\u2029\u0085\x0b\x0c\x1c\x1d\x1e"


def test_lines_end_at_a_line_feed_alone() -> None:
    text = "".join(char for char in SEPARATORS if char > " ")
    row = f'{{"type":"a{text}b","seq":0,"time":0,"data":"{text}"}}'.encode()
    (_, item) = scan(file_of(row))
    assert isinstance(item, FileRow)
    assert item.row.events()[0].data == text


def test_other_separators_in_a_text_are_no_json_and_no_line_ends() -> None:
    for char in "\x0b\x0c\x1c\x1d\x1e\r":
        row = f'{{"type":"a{char}b","seq":0,"time":0,"data":1}}'.encode()
        items = scan(file_of(row, ROWS[0]))
        (damage,) = damage_in(items)
        assert bytes_of(file_of(row, ROWS[0]), damage) == row
        assert rows_in(items) == [ROWS[0]]


def test_a_carriage_return_before_the_line_end_is_white_space() -> None:
    data = file_of(*ROWS, end=b"\r\n")
    items = scan(data)
    check_ranges(data, items)
    assert rows_in(items) == ROWS
    assert not damage_in(items)


@pytest.mark.parametrize("blank", [b"", b" ", b"\r", b"\t \r"])
def test_blank_lines_are_passed_over(blank: bytes) -> None:
    data = blank + b"\n" + file_of(blank, *ROWS[:2], blank, blank, *ROWS[2:], blank) + blank
    items = scan(data)
    check_ranges(data, items)
    assert rows_in(items) == ROWS
    assert not damage_in(items)
    assert [item.line for item in items] == [2, 4, 5, 8, 9]


def test_white_space_around_a_record_is_not_part_of_it() -> None:
    row = b'{ "type" :\r"x" , "seq":0,\t"time":0 }'
    data = b" \t" + file_of(b"  " + row + b" \r")
    items = scan(data)
    check_ranges(data, items)
    assert rows_in(items) == [row]
    assert not damage_in(items)


@pytest.mark.parametrize("size", [2**18 - 1, 2**18, 2**18 + 1, 3 * 2**18, 5_000_000])
def test_a_line_may_be_longer_than_what_is_read_at_once(size: int) -> None:
    row = dumps({"type": "x", "seq": 0, "time": 0, "data": ""})[:-2] + b"x" * size + b'"}'
    items = scan(file_of(ROWS[0], row, ROWS[0]))
    assert rows_in(items) == [ROWS[0], row, ROWS[0]]


def test_a_last_line_without_an_end_is_a_row_if_it_is_whole() -> None:
    data = file_of(*ROWS)[:-1]
    items = scan(data)
    check_ranges(data, items)
    assert rows_in(items) == ROWS
    assert not damage_in(items)


def check_beginning(data: bytes, items: list[Item], end: int) -> None:
    """The first `end` bytes hold what ends there, and at most one torn tail."""
    whole = [item for item in items if item.end <= end]
    beginning = scan(data[:end])
    assert beginning[: len(whole)] == whole
    rest = data[whole[-1].end if whole else 0 : end].strip(b"\n")
    if not rest and whole:
        assert len(beginning) == len(whole)
    else:
        (tail,) = beginning[len(whole) :]
        assert isinstance(tail, Damage)
        assert tail.torn_tail
        assert bytes_of(data, tail) == rest
        assert tail.end == end


@given(st.data(), agent_logs(30))
def test_every_beginning_of_a_file_is_whole_but_for_a_torn_tail(
    data: st.DataObject, log: AgentLog
) -> None:
    text = written(log.header, log.rows)
    items = scan(text)
    for end in data.draw(st.lists(st.integers(0, len(text)), min_size=1, max_size=8)):
        check_beginning(text, items, end)


def test_every_beginning_of_one_file() -> None:
    text = file_of(*ROWS, b'{"type":"x","seq":6,"time":0,"data":"\\u00e9 \xe2\x82\xac\\\\ \\" t "}')
    items = scan(text)
    for end in range(len(text) + 1):
        check_beginning(text, items, end)


@pytest.mark.parametrize("tail", [b"{}", b"[]", b"7", b'"text"', b'{"type":"x","time":0}', HEADER])
def test_a_last_line_of_whole_json_that_is_no_row_is_no_torn_tail(tail: bytes) -> None:
    (damage,) = damage_in(scan(file_of() + tail))
    assert not damage.torn_tail


@pytest.mark.parametrize("tail", [b"\x00" * 9, b"[", b"[" * 9_999, b"junk", b'"', b"\xff", b"{} {"])
def test_a_last_line_of_no_json_is_a_torn_tail(tail: bytes) -> None:
    (damage,) = damage_in(scan(file_of() + tail))
    assert damage.torn_tail


# --- damage (field case D1) ----------------------------------------------------------------------

rows_of_logs = st.integers(0, 2**32 - 1).map(lambda seed: [r.text for r in agent_log(9, seed).rows])


@st.composite
def damaged_lines(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """A line of whole records, cut ones, zero bytes and junk; and the whole ones in it."""
    texts = draw(rows_of_logs)
    line, whole = b"", []
    for _ in range(draw(st.integers(1, 6))):
        text = draw(st.sampled_from(texts))
        match draw(st.integers(0, 5)):
            case 0 | 1:
                line += text
                whole.append(text)
            case 2 | 3:
                line += text[: draw(st.integers(1, len(text) - 1))]
            case 4:
                line += b"\x00" * draw(st.sampled_from([1, 200, 700]))
            case _:
                # No closing bracket: behind a cut record it would make the whole one its content.
                line += draw(st.sampled_from([b"junk", b"\xff\xfe", b" ", b"0", b'"', b"\\"]))
    return line, whole


@given(damaged_lines())
def test_every_whole_record_of_a_damaged_line_is_read(case: tuple[bytes, list[bytes]]) -> None:
    line, whole = case
    data = file_of(ROWS[0], line, ROWS[1])
    items = scan(data)
    check_ranges(data, items)
    assert rows_in(items) == [ROWS[0], *whole, ROWS[1]]
    assert bool(damage_in(items)) == (line.strip() not in (b"", *whole))


@pytest.mark.parametrize("cut", range(1, len(ROWS[3])))
@pytest.mark.parametrize("follower", [0, 1, 2, 3])
def test_a_record_behind_a_cut_one_is_read(cut: int, follower: int) -> None:
    line = ROWS[3][:cut] + ROWS[follower]
    data = file_of(line)
    items = scan(data)
    assert rows_in(items) == [ROWS[follower]]
    (damage,) = damage_in(items)
    assert bytes_of(data, damage) == ROWS[3][:cut]
    assert not damage.torn_tail


def test_two_records_on_one_line_lack_a_line_end() -> None:
    for between in (b"", b" ", b"\t\r"):
        data = file_of(ROWS[0] + between + ROWS[1] + between + ROWS[2])
        items = scan(data)
        check_ranges(data, items)
        assert rows_in(items) == ROWS[:3]
        assert [bytes_of(data, damage) for damage in damage_in(items)] == [between] * 2
        assert all("line end" in damage.reason for damage in damage_in(items))


@pytest.mark.parametrize("count", [1, 200, 700, 300_000])
def test_zero_bytes_are_reported_as_a_range(count: int) -> None:
    zeros = b"\x00" * count
    for data, line in (
        (file_of(ROWS[0], zeros, ROWS[1]), 3),
        (file_of(ROWS[0], zeros + ROWS[1]), 3),
        (file_of(ROWS[0] + zeros, ROWS[1]), 2),
        (file_of(ROWS[0] + zeros + ROWS[1]), 2),
    ):
        items = scan(data)
        check_ranges(data, items)
        assert rows_in(items) == ROWS[:2]
        (damage,) = damage_in(items)
        assert bytes_of(data, damage) == zeros
        assert damage.line == line
        assert damage.reason == f"{count} zero bytes"


def test_zero_bytes_before_the_header() -> None:
    for zeros in (b"\x00" * 9, b"\x00" * 9 + b"\n"):
        data = zeros + file_of(*ROWS)
        items = scan(data)
        check_ranges(data, items)
        assert [type(item) for item in items] == [Damage, FileHeader] + [FileRow] * 4


BROKEN_LINES: dict[str, bytes] = {
    "NaN": b'{"type":"x","seq":0,"time":0,"data":NaN}',
    "Infinity": b'{"type":"x","seq":0,"time":0,"data":[Infinity]}',
    "-Infinity": b'{"type":"x","seq":0,"time":0,"data":{"a":-Infinity}}',
    "NaN in a large row": b'{"type":"x","seq":0,"time":0,"data":["' + b"x" * 400_000 + b'",NaN]}',
    "a number beyond a double": b'{"type":"x","seq":0,"time":0,"data":1e999}',
    "invalid UTF-8": b'{"type":"x","seq":0,"time":0,"data":"\xff"}',
    "half a character": b'{"type":"x","seq":0,"time":0,"data":"\xc3"}',
    "a surrogate in UTF-8": b'{"type":"x","seq":0,"time":0,"data":"\xed\xa0\x80"}',
    "an overlong form": b'{"type":"x","seq":0,"time":0,"data":"\xc0\xaf"}',
    "beyond Unicode": b'{"type":"x","seq":0,"time":0,"data":"\xf4\x90\x80\x80"}',
    "a tab in a text": b'{"type":"x","seq":0,"time":0,"data":"\t"}',
    "a bad escape": b'{"type":"x","seq":0,"time":0,"data":"\\x"}',
    "single quotes": b"{'type':'x','seq':0,'time':0}",
    "a comma too many": b'{"type":"x","seq":0,"time":0,}',
    "a malformed packed row": ROWS[1].replace(b'"dt":[0,1]', b'"dt":[0]'),
    "no seq": b'{"type":"x","time":0,"data":1}',
    "a seq of a half": b'{"type":"x","seq":0.5,"time":0}',
    "an empty object": b"{}",
    "a list": b"[]",
    "a list of rows": b"[" + ROWS[0] + b"," + ROWS[1] + b"]",
    "a row in an object": b'{"row":' + ROWS[0] + b"}",
    "a number": b"7",
    "a text": b'"text"',
    "null": b"null",
    "no JSON": b"Traceback (most recent call last):",
    "a second header": HEADER,
    "a byte order mark": b"\xef\xbb\xbf",
    "a quote": b'"',
    "an opening brace": b"{",
    "a closing brace": b"}",
}


@pytest.mark.parametrize("name", BROKEN_LINES)
def test_a_line_that_holds_no_record_is_damage(name: str) -> None:
    line = BROKEN_LINES[name]
    data = file_of(ROWS[0], line, ROWS[1])
    items = scan(data)
    check_ranges(data, items)
    assert rows_in(items) == [ROWS[0], ROWS[1]]
    (damage,) = damage_in(items)
    assert bytes_of(data, damage) == line
    assert damage.line == 3
    assert not damage.torn_tail


def test_damage_says_why_a_whole_object_is_no_row() -> None:
    for name, reason in (("no seq", "seq"), ("a malformed packed row", "time gap")):
        (damage,) = damage_in(scan(file_of(BROKEN_LINES[name])))
        assert reason in damage.reason


def test_records_beside_a_refused_one_are_read() -> None:
    for name in ("NaN", "no seq", "a malformed packed row", "invalid UTF-8", "a tab in a text"):
        line = ROWS[0] + BROKEN_LINES[name] + ROWS[1]
        data = file_of(line)
        items = scan(data)
        check_ranges(data, items)
        assert rows_in(items) == [ROWS[0], ROWS[1]]
        (damage,) = damage_in(items)
        assert bytes_of(data, damage) == BROKEN_LINES[name]


@pytest.mark.parametrize("spoil", [b"", b"\x00", b"\xff", b"x"], ids=ascii)
def test_a_row_inside_a_spoilt_record_is_its_content(spoil: bytes) -> None:
    inner = b'{"type":"y","seq":7,"time":0}'
    start = b'{"type":"x","seq":0,"time":0,"data":'
    for line in (
        start + b"[" + inner + b"]" + spoil,
        start + b'{"a":' + inner + b"}" + spoil,
        start + inner + b',"ignorable":' + spoil,
        start + inner + b" , " + spoil,
        start + b'"\xff","a":' + inner + b"}" + spoil,
        start + b'"\xff","a":[' + inner + b"," + inner + b"]}" + spoil,
    ):
        items = scan(file_of(line, ROWS[0]))
        assert rows_in(items) == [ROWS[0]]
        assert len(damage_in(items)) == 1


def test_a_record_before_remains_of_another_is_read() -> None:
    remains = b'"text","seq":3},"ignorable":true}'
    for line in (ROWS[0] + remains, ROWS[0] + b"," + remains, ROWS[0] + b"}"):
        assert rows_in(scan(file_of(line))) == [ROWS[0]]


def test_a_record_behind_zero_bytes_or_another_record_is_read_whatever_follows() -> None:
    remains = b',"text":"x"}'
    for before in (b"\x00" * 200, b" \x00 ", ROWS[1], ROWS[1] + b"\x00"):
        items = scan(file_of(before + ROWS[0] + remains))
        assert rows_in(items)[-1] == ROWS[0]
    assert rows_in(scan(file_of(b"x" + ROWS[0] + remains))) == []


def test_a_torn_write_is_not_taken_for_the_row_inside_it() -> None:
    torn = b'{"type":"x","seq":0,"time":0,"data":' + ROWS[0]
    items = scan(file_of(ROWS[0]) + torn)
    assert rows_in(items) == [ROWS[0]]
    (damage,) = damage_in(items)
    assert damage.torn_tail
    # With its line end, it is a cut record and a whole one behind it.
    assert rows_in(scan(file_of(ROWS[0], torn))) == [ROWS[0], ROWS[0]]


def test_a_last_line_with_a_whole_record_in_it_is_no_torn_tail() -> None:
    for tail in (ROWS[0] + ROWS[1][:9], ROWS[1][:9] + ROWS[0], ROWS[0] + ROWS[1]):
        damage = damage_in(scan(file_of() + tail))
        assert damage
        assert not any(item.torn_tail for item in damage)


# --- the header line -----------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["version", "id", "createdAt", "delegationDepth"])
@pytest.mark.parametrize("value", [DROP, None, [], -1], ids=repr)
def test_a_malformed_header_is_damage(key: str, value: Any) -> None:
    header = {"type": "session", "version": 0, "id": "s", "createdAt": 5, "delegationDepth": 0}
    line = dumps(changed(header, (key,), value))
    data = line + b"\n" + ROWS[0] + b"\n"
    items = scan(data)
    assert bytes_of(data, damage_in(items)[0]) == line
    assert f"header.{key}" in damage_in(items)[0].reason
    assert rows_in(items) == [ROWS[0]]
    assert not any(isinstance(item, FileHeader) for item in items)


@pytest.mark.parametrize("value", [DROP, None, "Session", "turn/start", ["session"]], ids=repr)
def test_a_first_line_of_another_type_is_no_header(value: Any) -> None:
    header = {"type": "session", "version": 0, "id": "s", "createdAt": 5, "delegationDepth": 0}
    line = dumps(changed(header, ("type",), value))
    items = scan(line + b"\n" + ROWS[0] + b"\n")
    assert isinstance(items[0], Damage)
    assert not any(isinstance(item, FileHeader) for item in items)


def test_a_missing_header_is_damage_without_bytes() -> None:
    data = b"\n".join(ROWS)
    items = scan(data)
    check_ranges(data, items)
    (damage,) = damage_in(items)
    assert items[0] == damage
    assert (damage.start, damage.end, damage.line) == (0, 0, 1)
    assert "header" in damage.reason
    assert rows_in(items) == ROWS


def test_the_missing_header_is_named_where_the_first_row_stands() -> None:
    data = b"\n junk" + ROWS[0]
    junk, missing, row = scan(data)
    assert isinstance(junk, Damage)
    assert isinstance(missing, Damage)
    assert (junk.start, junk.end, junk.line) == (2, 6, 2)
    assert (missing.start, missing.end, missing.line) == (6, 6, 2)
    assert (row.start, row.line) == (6, 2)


def test_an_event_of_type_session_is_a_row() -> None:
    row = b'{"type":"session","seq":0,"time":0,"data":1}'
    items = scan(row + b"\n")
    assert rows_in(items) == [row]
    assert len(damage_in(items)) == 1
    assert rows_in(scan(file_of(row))) == [row]


def test_a_header_behind_damage_is_read() -> None:
    for before in (b"junk\n", b"junk", b"\x00\n\x00", HEADER[:20], b"{}\n", HEADER[:20] + b"\n"):
        items = scan(before + file_of(ROWS[0]))
        headers = [item for item in items if isinstance(item, FileHeader)]
        assert [header.header.id for header in headers] == ["s"]
        assert rows_in(items) == [ROWS[0]]
        assert isinstance(items[0], Damage)


def test_a_header_and_a_row_on_one_line_are_both_read() -> None:
    items = scan(HEADER + ROWS[0])
    assert [type(item) for item in items] == [FileHeader, Damage, FileRow]


def test_an_empty_file_is_a_torn_tail() -> None:
    assert scan(b"") == [Damage(0, 0, 1, "no header line", torn_tail=True)]


@pytest.mark.parametrize("data", [b"\n", b" ", b"\r\n\n"])
def test_a_blank_file_has_no_header(data: bytes) -> None:
    (damage,) = scan(data)
    assert isinstance(damage, Damage)
    assert damage.start == damage.end
    assert not damage.torn_tail


def test_further_keys_of_the_header_are_kept_and_its_type_is_not() -> None:
    line = HEADER[:-1] + b',"x":{"type":"y"},"n":1.0}\n'
    header, _ = read_jsonl(io.BytesIO(line))
    assert header.text == (
        b'{"version":0,"id":"s","createdAt":5,"delegationDepth":0,"x":{"type":"y"},"n":1.0}'
    )


# --- the strict reader ---------------------------------------------------------------------------


def test_the_strict_reader_stops_at_the_first_damage() -> None:
    data = file_of(ROWS[0], ROWS[1], ROWS[2][:30] + ROWS[3], ROWS[0])
    header, rows = read_jsonl(io.BytesIO(data))
    assert header.id == "s"
    assert [next(rows).text, next(rows).text] == ROWS[:2]
    with pytest.raises(DamagedFile) as damaged:
        next(rows)
    error = damaged.value
    assert data[error.start : error.end] == ROWS[2][:30]
    assert (error.line, error.torn_tail) == (4, False)
    assert error.reason in str(error)
    assert isinstance(error, BrokenLog)
    assert list(rows) == []


def test_the_strict_reader_names_a_torn_tail() -> None:
    _, rows = read_jsonl(io.BytesIO(file_of(ROWS[0])[:-5]))
    with pytest.raises(DamagedFile) as damaged:
        list(rows)
    assert damaged.value.torn_tail


@pytest.mark.parametrize("data", [b"", b"\n", b"junk", HEADER[:-1], ROWS[0], b"\x00" + HEADER])
def test_the_strict_reader_wants_a_header_first(data: bytes) -> None:
    with pytest.raises(DamagedFile):
        read_jsonl(io.BytesIO(data))


@given(damaged_lines())
def test_the_strict_reader_is_the_scanner_up_to_the_first_damage(
    case: tuple[bytes, list[bytes]],
) -> None:
    data = file_of(ROWS[0], case[0], ROWS[1])
    items = scan(data)
    first = next((at for at, item in enumerate(items) if isinstance(item, Damage)), None)
    _, rows = read_jsonl(io.BytesIO(data))
    before = rows_in(items[:first])
    assert [next(rows).text for _ in before] == before
    if first is None:
        assert next(rows, None) is None
    else:
        with pytest.raises(DamagedFile) as damaged:
            next(rows)
        assert damaged.value.start == items[first].start
        assert damaged.value.end == items[first].end


# --- streaming, limits, hostile files ------------------------------------------------------------


def test_a_scan_reads_no_further_than_it_must() -> None:
    taken = []

    def blocks() -> Iterator[bytes]:
        for line in (HEADER, *ROWS):
            taken.append(line)
            yield line + b"\n"

    items = scan_jsonl(blocks())
    for count in range(1, 6):
        next(items)
        assert len(taken) == count


def test_a_write_takes_rows_as_it_goes() -> None:
    f = io.BytesIO()

    def rows() -> Iterator[Row]:
        for count, text in enumerate(ROWS, start=1):
            assert f.getvalue().count(b"\n") == count
            yield Row(text, 0)

    write_jsonl(f, Header.new("s", 5), rows())
    assert f.getvalue() == file_of(*ROWS)


@pytest.mark.parametrize("limit", [len(HEADER), len(HEADER) + 9, 100])
def test_a_line_above_the_limit_is_damage(limit: int) -> None:
    def row(size: int) -> bytes:
        empty = b'{"type":"x","seq":0,"time":0,"data":""}'
        return empty[:-2] + b"x" * (size - len(empty)) + empty[-2:]

    fits, above = row(limit), row(limit + 1)
    data = file_of(fits, above, fits, above * 1_000, fits) + above
    for blocks in ([data], [data[at : at + 7] for at in range(0, len(data), 7)]):
        items = list(scan_jsonl(blocks, max_line_bytes=limit))
        check_ranges(data, items)
        assert rows_in(items) == [fits] * 3
        assert [bytes_of(data, damage) for damage in damage_in(items)] == [
            above,
            above * 1_000,
            above,
        ]
        assert not any(damage.torn_tail for damage in damage_in(items))
        assert all(str(limit) in damage.reason for damage in damage_in(items))


def test_the_limit_of_a_line_is_above_that_of_an_event() -> None:
    assert MAX_LINE_BYTES == 32 * 1024 * 1024


def test_a_line_without_end_takes_bounded_memory() -> None:
    limit = 2**16

    def blocks() -> Iterator[bytes]:
        yield HEADER + b"\n"
        for _ in range(400):
            yield bytes(2**16)

    tracemalloc.start()
    try:
        items = list(scan_jsonl(blocks(), max_line_bytes=limit))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * limit  # of 400 that were read
    assert items[-1].end - items[-1].start == 400 * 2**16


def test_a_row_of_any_depth_is_read() -> None:  # field case A5
    for objects in (False, True):
        row = dumps({"type": "x", "seq": 0, "time": 0, "data": nested(30_000, objects=objects)})
        assert rows_in(scan(file_of(row, row[:-1] + row))) == [row, row]


HOSTILE: dict[str, bytes] = {
    "{": b"{" * 1_000_000,
    "[": b"[" * 1_000_000,
    '{"a":': b'{"a":' * 200_000,
    '{"': b'{"' * 100_000,
    "{ ": b"{ " * 500_000,
    '{"a":1}': b'{"a":1}' * 30_000,
    '{"a":[{},': b'{"a":[{},' * 50_000,
    "quotes in both parities": b'"{"\\' * 100_000,
    "escaped quotes": b'\\"{"\\' * 100_000,
    "quotes": b'"' * 1_000_000,
    "backslashes": b'{"' + b"\\" * 1_000_000,
    "a row in a row in a row": b'{"type":"x","seq":0,"time":0,"data":' * 20_000,
    "objects that fail late": b'{"a":' + b'{"b":1},' * 100_000,
    "spaces": b'{"a"' + b" " * 1_000_000 + b"{",
    "digits": b'{"a":' + b"1" * 1_000_000 + b"x",
    "zeros": bytes(1_000_000),
    "half characters": b'{"a":"\xe2\x82' * 50_000,
    "names with braces": b'{"x{":1' * 50_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_line_is_searched_to_its_end(name: str) -> None:
    """Quadratic time would be hours here; the record at the end shows that all was looked at."""
    hostile = HOSTILE[name] + b'"'
    for line in (hostile, hostile + b"\x00" + ROWS[0]):
        data = file_of(line, ROWS[1])
        items = scan(data)
        check_ranges(data, items)
        expected = [ROWS[0], ROWS[1]] if line is not hostile else [ROWS[1]]
        assert rows_in(items) == expected
    assert damage_in(scan(file_of() + hostile))[-1].torn_tail


@given(st.lists(st.sampled_from([*ROWS, HEADER, *BROKEN_LINES.values()]), max_size=4), st.data())
def test_any_bytes_are_read_or_reported(lines: list[bytes], data: st.DataObject) -> None:
    text = bytearray(b"\n".join([HEADER, *lines]))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=4))
    items = scan(bytes(text))
    check_ranges(bytes(text), items)


# --- the writer ----------------------------------------------------------------------------------


def test_a_header_line_keeps_the_depth_that_the_header_has() -> None:
    assert header_line(Header.new("s", 5, delegationDepth=2)).endswith(b'"delegationDepth":2}\n')
    assert header_line(Header.new("s", 5)) == HEADER + b"\n"


def test_a_header_with_a_type_of_its_own_has_no_plain_form() -> None:
    with pytest.raises(BadShape) as refused:
        header_line(Header.new("s", 5, type="mine"))
    assert refused.value.field == "header.type"


def test_a_row_of_two_lines_is_not_written() -> None:
    with pytest.raises(BadRow, match="seq 7"):
        written(Header.new("s", 5), [Row(b'{"type":"x",\n"seq":7,"time":0}', 7)])
