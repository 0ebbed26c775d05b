"""The bodies of commits: rows and facts, and what a body is refused for."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import zstandard
from hypothesis import given

from tests.commits import make_commit, plain_rows
from tests.strategies import AgentLog, agent_logs, event_values, events_of, headers
from turnlog.events.body import (
    MAX_BODY_BYTES,
    ClaimBody,
    ClaimReason,
    Fork,
    body_text,
    check_body,
    claim_body,
    open_body,
    read_claim,
    read_open,
    release_body,
    rows_body,
)
from turnlog.events.commit import Commit, Kind
from turnlog.events.errors import (
    BadSessionId,
    BrokenLog,
    NewerThanReader,
    TooLarge,
)
from turnlog.events.gate import MAX_EVENT_BYTES
from turnlog.events.header import Header, check_session_id
from turnlog.events.jsontext import dumps
from turnlog.events.rows import Row, pack, parse_row

DEEP = 100_000
PACKED = (
    '{"type":"text-chunks","seq0":8,"time0":1005,"data":'
    '{"turn":1,"step":1,"index":0,"dt":[7,-20],"texts":["a",",\\n","b"]}}'
)


def commit_of(rows: list[Row], **fields: Any) -> Commit:
    """The commit of rows, with the envelope that they ask for unless told."""
    events = [event for row in rows for event in row.events()]
    body = rows_body(rows)
    defaults: dict[str, Any] = {
        "first_seq": events[0].seq,
        "event_count": len(events),
        "first_time_ms": events[0].time_ms,
        "last_time_ms": events[-1].time_ms,
        "content_encoding": body.encoding,
        "body": body.data,
    }
    return make_commit(**(defaults | fields))


def sound(**fields: Any) -> Commit:
    """A commit of one event, a packed row of three, and one event more."""
    rows = [*plain_rows(7, 1), parse_row(PACKED.encode()), *plain_rows(11, 1, time_ms=50)]
    return commit_of(rows, **fields)


# --- rows ----------------------------------------------------------------------------------------


@given(event_values())
def test_rows_come_back_bit_by_bit(values: list[Any]) -> None:
    rows = list(pack(events_of(values)))
    if rows:
        assert check_body(commit_of(rows)) == rows


@given(agent_logs(max_events=30))
def test_rows_in_any_layout_are_read(log: AgentLog) -> None:
    if log.rows:
        commit = commit_of(log.rows)
        value = json.loads(body_text(commit))
        for text in (json.dumps(value, indent=1), json.dumps(value, separators=(",\n", ":"))):
            laid_out = msgspec.structs.replace(
                commit, content_encoding="identity", body=text.encode()
            )
            assert check_body(laid_out) == [parse_row(dumps(item)) for item in value]


def test_a_packed_row_counts_as_its_events() -> None:
    rows = check_body(sound())
    assert [(row.first_seq, row.count) for row in rows] == [(7, 1), (8, 3), (11, 1)]


def test_a_packed_row_at_an_end_has_the_time_of_its_own_member_there() -> None:
    commit = commit_of([parse_row(PACKED.encode())])
    assert (commit.first_time_ms, commit.last_time_ms) == (1_005, 992)
    assert len(check_body(commit)) == 1
    with pytest.raises(BrokenLog):
        check_body(msgspec.structs.replace(commit, last_time_ms=1_005))


def test_what_json_text_can_not_hold_twice_is_kept() -> None:
    text = b'{"type":"x","seq":7,"time":1.0,"data":{"a":1.0,"b":"\\ud83d","a":-0.0}}'
    assert check_body(commit_of([parse_row(text)]))[0].text == text


def test_a_body_of_one_line_is_stored_as_it_is_where_a_frame_would_be_longer() -> None:
    short = rows_body(plain_rows(0, 1))
    assert short.encoding == "identity"
    long = rows_body(plain_rows(0, 100))
    assert long.encoding == "zstd"
    assert len(long.data) < 1_000
    assert zstandard.ZstdDecompressor().decompress(long.data)[:10] == b'[{"type":"'


@pytest.mark.parametrize(
    "fields",
    [
        {"first_seq": 6},
        {"first_seq": 8},
        {"event_count": 4},
        {"event_count": 6},
        {"first_time_ms": 999},
        {"last_time_ms": 51},
        {"last_time_ms": 1_000},
    ],
)
def test_an_envelope_that_says_otherwise_is_broken(fields: dict[str, Any]) -> None:
    assert len(check_body(sound())) == 3
    with pytest.raises(BrokenLog):
        check_body(sound(**fields))


EVENT = '{"type":"x","seq":7,"time":1000,"data":0}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "]",
        "[]",
        "{}",
        "null",
        EVENT,
        f"[{EVENT}",
        f"{EVENT}]",
        f"x{EVENT}]",
        f"[{EVENT}x",
        f"[{EVENT},]",
        f"[,{EVENT}]",
        f"[{EVENT}] []",
        f"[{EVENT},\n{EVENT}]",
        f"[[{EVENT}]]",
        "[0]",
        "[null]",
        '["text"]',
        '[{"type":"x","seq":7,"time":1000,"data":0],\n[}]',
        '[{"type":"x","seq":7,"data":0}]',
        '[{"type":"x","seq":"7","time":1000,"data":0}]',
        '[{"type":"x","seq":7,"time":1000.5,"data":0}]',
        '[{"type":"text-chunks","seq0":7,"time0":1000,"data":{"texts":["a"]}}]',
        '[{"type":"x","seq":7,"time":1000,"data":NaN}]',
        '[{"type":"x","seq":7,"time":1000,"data":"\x01"}]',
    ],
)
def test_a_body_that_is_no_array_of_dense_rows_is_broken(text: str) -> None:
    sound = make_commit(event_count=1, first_time_ms=1_000, last_time_ms=1_000)
    assert check_body(msgspec.structs.replace(sound, body=f"[{EVENT}]".encode()))
    with pytest.raises(BrokenLog):
        check_body(msgspec.structs.replace(sound, body=text.encode()))


def test_a_body_that_is_no_utf8_is_broken() -> None:
    with pytest.raises(BrokenLog):
        check_body(make_commit(event_count=1, body=b'["\xff"]'))


@pytest.mark.parametrize(
    "seqs", [[7, 7], [7, 9], [8, 7], [7], [7, 8, 9]], ids=["twice", "hole", "back", "few", "many"]
)
def test_rows_that_are_not_dense_are_broken(seqs: list[int]) -> None:
    rows = [plain_rows(seq, 1)[0] for seq in seqs]
    body = rows_body(rows)
    commit = make_commit(
        event_count=2,
        first_time_ms=1_000,
        last_time_ms=1_000,
        body=body.data,
        content_encoding=body.encoding,
    )
    with pytest.raises(BrokenLog):
        check_body(commit)


@pytest.mark.parametrize("nest", ["[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "0" + "}" * DEEP])
@pytest.mark.parametrize("indent", [",\n", ", "])
def test_a_body_of_any_depth_is_read(nest: str, indent: str) -> None:
    row = f'{{"type":"x","seq":7,"time":1,"data":{nest}}}'
    other = row.replace('"seq":7', '"seq":8')
    commit = make_commit(
        event_count=2, first_time_ms=1, last_time_ms=1, body=f"[{row}{indent}{other}]".encode()
    )
    assert [row.first_seq for row in check_body(commit)] == [7, 8]


@pytest.mark.parametrize("text", ["[" * 200_000, '[{"a":' * 100_000, "[0" + ",0" * 200_000])
def test_a_large_body_that_is_broken_is_a_typed_error(text: str) -> None:
    with pytest.raises(BrokenLog):
        check_body(make_commit(body=text.encode()))


@pytest.mark.parametrize("kind", [Kind.OPEN, Kind.CLAIM, Kind.RELEASE])
def test_a_commit_without_events_has_no_rows(kind: Kind) -> None:
    with pytest.raises(BrokenLog, match=kind.value):
        check_body(make_commit(kind, body=b"[]"))


# --- what this version can't read, and sizes -----------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"key_id": "k"},
        {"content_type": "application/cbor"},
        {"content_encoding": "br"},
        {"semantics": 1},
    ],
)
def test_a_body_of_a_later_version_is_newer(fields: dict[str, Any]) -> None:
    with pytest.raises(NewerThanReader):
        check_body(msgspec.structs.replace(sound(), **fields))


def test_later_event_rules_do_not_hide_the_header() -> None:
    body = open_body(Header.new("s1", 1))
    commit = make_commit(Kind.OPEN, body=body.data, content_encoding=body.encoding)
    assert read_open(msgspec.structs.replace(commit, semantics=1)).header.id == "s1"


def test_the_largest_event_and_the_largest_group_fit() -> None:
    text = "x" * (MAX_EVENT_BYTES - len(plain_rows(0, 1)[0].text))
    (row,) = plain_rows(0, 1, text=text)
    assert len(row.text) == MAX_EVENT_BYTES
    assert check_body(commit_of([row])) == [row]
    group = plain_rows(0, 1_024, text="x" * (MAX_EVENT_BYTES // 1_024 - 60))
    assert check_body(commit_of(group)) == group


def test_a_larger_body_is_not_made() -> None:
    with pytest.raises(TooLarge) as caught:
        rows_body(plain_rows(0, 1, text="x" * MAX_BODY_BYTES))
    assert caught.value.limit == MAX_BODY_BYTES


@pytest.mark.parametrize("encoding", ["identity", "zstd"])
def test_a_larger_body_is_broken(encoding: str) -> None:
    data = b'["' + b"x" * MAX_BODY_BYTES + b'"]'
    if encoding == "zstd":
        data = zstandard.compress(data)
    with pytest.raises(BrokenLog, match=str(MAX_BODY_BYTES)):
        body_text(make_commit(body=data, content_encoding=encoding))


def test_a_body_that_is_no_frame_is_broken() -> None:
    with pytest.raises(BrokenLog, match="Zstandard"):
        check_body(make_commit(body=b"[]", content_encoding="zstd"))


# --- facts ---------------------------------------------------------------------------------------


@given(headers())
def test_a_header_comes_back_as_it_was(header: Header) -> None:
    try:
        check_session_id(header.id)
    except BadSessionId:
        return
    fork = Fork("parent", 4, b"h" * 32)
    for origin in (None, fork):
        body = open_body(header, origin)
        commit = make_commit(
            Kind.OPEN, session_id=header.id, body=body.data, content_encoding=body.encoding
        )
        assert read_open(commit) == (header, origin)


def test_a_fork_of_an_empty_log_has_no_boundary() -> None:
    fork = Fork("parent", None, b"h" * 32)
    body = open_body(Header.new("s1", 1), fork)
    assert b'"seq":null' in (
        zstandard.decompress(body.data) if body.encoding == "zstd" else body.data
    )
    commit = make_commit(Kind.OPEN, body=body.data, content_encoding=body.encoding)
    assert read_open(commit).fork == fork


HEADER = {"version": 0, "id": "s1", "createdAt": 1}
FORK = {"session": "p", "seq": 1, "hash": "ab" * 32}


@pytest.mark.parametrize(
    "value",
    [
        [],
        None,
        {},
        {"header": None},
        {"header": HEADER | {"id": "s2"}},
        {"header": HEADER | {"createdAt": -1}},
        {"header": HEADER, "fork": None},
        {"header": HEADER, "fork": []},
        {"header": HEADER, "fork": {"seq": 1, "hash": "ab" * 32}},
        {"header": HEADER, "fork": FORK | {"session": ""}},
        {"header": HEADER, "fork": FORK | {"seq": -1}},
        {"header": HEADER, "fork": FORK | {"seq": 1.5}},
        {"header": HEADER, "fork": FORK | {"seq": 2**53}},
        {"header": HEADER, "fork": FORK | {"seq": True}},
        {"header": HEADER, "fork": FORK | {"hash": "AB" * 32}},
        {"header": HEADER, "fork": FORK | {"hash": "ab" * 31}},
        {"header": HEADER, "fork": FORK | {"hash": "ab" * 32 + "\n"}},
        {"header": HEADER, "fork": FORK | {"hash": None}},
    ],
)
def test_an_open_that_says_something_else_is_broken(value: Any) -> None:
    fork = FORK | {"more": [1]}
    sound = {"header": HEADER | {"more": 1}, "fork": fork, "more": {}}
    assert read_open(make_commit(Kind.OPEN, body=json.dumps(sound).encode())).fork == (
        "p",
        1,
        b"\xab" * 32,
    )
    with pytest.raises(BrokenLog):
        read_open(make_commit(Kind.OPEN, body=json.dumps(value).encode()))


@pytest.mark.parametrize("reason", list(ClaimReason))
@pytest.mark.parametrize("released", [False, True])
def test_a_claim_says_why_and_what_was_seen(reason: ClaimReason, released: bool) -> None:
    fact = ClaimBody(reason, "writer \u00e9", released)
    body = claim_body(fact)
    commit = make_commit(Kind.CLAIM, body=body.data, content_encoding=body.encoding)
    assert read_claim(commit) == fact


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"reason": "take-over"},
        {"reason": "other", "seen": {"writer": "w", "released": False}},
        {"reason": None, "seen": {"writer": "w", "released": False}},
        {"reason": ["seal"], "seen": {"writer": "w", "released": False}},
        {"reason": "seal", "seen": {"writer": None, "released": False}},
        {"reason": "seal", "seen": {"writer": "w", "released": 0}},
        {"reason": "seal", "seen": {"writer": "w"}},
        {"reason": "seal", "seen": ["w", False]},
    ],
)
def test_a_claim_that_says_something_else_is_broken(value: Any) -> None:
    with pytest.raises(BrokenLog):
        read_claim(make_commit(Kind.CLAIM, body=json.dumps(value).encode()))


def test_facts_of_any_depth_are_read() -> None:
    deep = b'{"header":{"version":0,"id":"s1","createdAt":1,"x":%s},"y":%s}'
    nest = b"[" * DEEP + b"]" * DEEP
    header = read_open(make_commit(Kind.OPEN, body=deep % (nest, nest))).header
    assert nest in header.text


def test_facts_are_asked_of_their_own_kind_only() -> None:
    release = release_body()
    commit = make_commit(Kind.RELEASE, body=release.data, content_encoding=release.encoding)
    assert body_text(commit) == b"{}"
    with pytest.raises(BrokenLog, match="release"):
        read_open(commit)
    with pytest.raises(BrokenLog, match="release"):
        read_claim(commit)
