"""The Avro codec of commits: an identity for what it writes, a typed error for all else."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.commits import commits, forged, make_commit
from turnlog.events.avro import (
    MAX_ENVELOPE_BYTES,
    MAX_RECORD_BYTES,
    SCHEMAS,
    decode_commit,
    encode_commit,
)
from turnlog.events.commit import NO_HASH, Commit, Kind
from turnlog.events.errors import BrokenLog, NewerThanReader, TooLarge
from turnlog.events.gate import MAX_EVENT_BYTES

((FINGERPRINT, SCHEMA_TEXT),) = SCHEMAS.items()
PREFIX = b"\xc3\x01" + FINGERPRINT
EMPTY_MAP, NULL = b"\x00", b"\x00"


def long(value: int) -> bytes:
    """An Avro long, written on a path of its own."""
    zigzag = 2 * value if value >= 0 else -2 * value - 1
    groups = [zigzag & 0x7F]
    while zigzag := zigzag >> 7:
        groups.append(zigzag & 0x7F)
    return bytes(group | 0x80 for group in groups[:-1]) + bytes(groups[-1:])


def text(value: bytes) -> bytes:
    return long(len(value)) + value


# The pieces of a sound record, by field, so that a test can put another piece in.
PIECES = {
    "body": text(b"[]"),
    "format": long(1),
    "semantics": long(0),
    "namespace": text(b"turnlog"),
    "session_id": text(b"s1"),
    "kind": text(b"events"),
    "first_seq": long(7),
    "event_count": long(2),
    "first_time": long(1_700_000_000_000),
    "last_time": long(1_700_000_000_000),
    "content_type": text(b"application/json"),
    "content_encoding": text(b"identity"),
    "key_id": NULL,
    "writer": text(b"w1"),
    "nonce": text(b""),
    "writer_info": EMPTY_MAP,
    "actor": NULL,
    "traceparent": NULL,
    "ext": EMPTY_MAP,
    "prev_hash": b"p" * 32,
    "hash": make_commit().hash,
}


def pieced(**pieces: bytes) -> bytes:
    return PREFIX + b"".join((PIECES | pieces).values())


def decoded(data: bytes) -> Commit | None:
    """The commit, or None for a typed error; a test fails by any other."""
    try:
        return decode_commit(data)
    except (BrokenLog, NewerThanReader):
        return None


# --- what is written -----------------------------------------------------------------------------


@given(commits())
def test_a_decoded_commit_is_the_one_that_was_encoded(commit: Commit) -> None:
    assert decode_commit(encode_commit(commit)) == commit


@given(commits())
def test_the_codec_library_reads_and_writes_the_same_by_the_published_schema(
    commit: Commit,
) -> None:
    data = encode_commit(commit)
    schema = fastavro.parse_schema(json.loads(SCHEMA_TEXT))
    stream = BytesIO(data[10:])
    record: Any = fastavro.schemaless_reader(stream, schema)
    assert stream.read() == b""
    assert (record["body"], record["hash"]) == (commit.body, commit.hash)
    # The library keeps a map's order, the format wants its keys ascending.
    maps = {name: dict(sorted(record[name].items())) for name in ("writer_info", "ext")}
    assert forged(commit, **maps) == data


def test_a_record_is_the_pieces_that_the_format_names() -> None:
    assert encode_commit(make_commit()) == pieced()


def test_the_fingerprint_is_that_of_the_canonical_schema() -> None:
    # Bit by bit, as the Avro specification has it; the canonical form written by hand.
    def field(name: str, kind: str) -> str:
        return f'{{"name":"{name}","type":{kind}}}'

    string, integer, optional = '"string"', '"long"', '["null","string"]'
    fields = [
        field("body", '"bytes"'),
        *(field(name, integer) for name in ("format", "semantics")),
        *(field(name, string) for name in ("namespace", "session_id", "kind")),
        *(field(n, integer) for n in ("first_seq", "event_count", "first_time", "last_time")),
        *(field(name, string) for name in ("content_type", "content_encoding")),
        field("key_id", optional),
        field("writer", string),
        field("nonce", '"bytes"'),
        field("writer_info", '{"type":"map","values":"string"}'),
        *(field(name, optional) for name in ("actor", "traceparent")),
        field("ext", '{"type":"map","values":"bytes"}'),
        field("prev_hash", '{"name":"turnlog.Sha256","type":"fixed","size":32}'),
        field("hash", '"turnlog.Sha256"'),
    ]
    form = f'{{"name":"turnlog.Commit","type":"record","fields":[{",".join(fields)}]}}'
    empty = 0xC15D213AA4D7A795
    crc = empty
    for byte in form.encode():
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (empty if crc & 1 else 0)
    assert crc.to_bytes(8, "little") == FINGERPRINT


def test_no_type_of_the_schema_contains_itself() -> None:
    names = {"null", "long", "string", "bytes"}

    def leaf(kind: Any) -> bool:
        if isinstance(kind, dict) and kind["type"] == "fixed":
            names.add(kind["name"])
            return True
        return kind in names

    for field in json.loads(SCHEMA_TEXT)["fields"]:
        kind = field["type"]
        parts: Sequence[Any] = kind if isinstance(kind, list) else [kind]
        parts = [p["values"] if isinstance(p, dict) and p["type"] == "map" else p for p in parts]
        assert all(map(leaf, parts)), field["name"]


def test_the_largest_body_fits() -> None:
    body = b"x" * (MAX_EVENT_BYTES + 1024 * 3)
    commit = make_commit(body=body, writer_info={"x": "y" * (MAX_ENVELOPE_BYTES - 1000)})
    assert decode_commit(encode_commit(commit)) == commit


@pytest.mark.parametrize(
    ("limit", "fields"),
    [
        (MAX_ENVELOPE_BYTES, {"writer_info": {"x": "y" * MAX_ENVELOPE_BYTES}}),
        (MAX_RECORD_BYTES, {"body": bytes(MAX_RECORD_BYTES)}),
    ],
)
def test_what_no_reader_would_take_is_not_written(limit: int, fields: dict[str, Any]) -> None:
    with pytest.raises(TooLarge) as caught:
        encode_commit(make_commit(**fields))
    assert caught.value.limit == limit


# --- what is read --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(Kind))
def test_a_record_cut_at_any_byte_is_broken(kind: Kind) -> None:
    data = encode_commit(make_commit(kind, writer_info={"host": "h"}, ext={"x": b"y"}, actor="a"))
    for length in range(len(data)):
        with pytest.raises(BrokenLog):
            decode_commit(data[:length])


@pytest.mark.parametrize("size", [4, 2**20])
def test_a_body_that_goes_beyond_the_end_is_named(size: int) -> None:
    with pytest.raises(BrokenLog, match="inside the body"):
        decode_commit(PREFIX + long(size) + b"[]")


@pytest.mark.parametrize("more", [b"\x00", b"x" * 40, PREFIX])
def test_bytes_behind_the_end_are_broken(more: bytes) -> None:
    with pytest.raises(BrokenLog, match="behind its end"):
        decode_commit(encode_commit(make_commit()) + more)


@pytest.mark.parametrize("data", [b"", b"\xc3", b"\xc3\x02" + pieced()[2:], b"{}", b"Obj\x01"])
def test_what_is_no_single_object_is_broken(data: bytes) -> None:
    with pytest.raises(BrokenLog, match="marker"):
        decode_commit(data)


def test_an_unknown_schema_is_newer() -> None:
    with pytest.raises(NewerThanReader, match="0001020304050607"):
        decode_commit(b"\xc3\x01" + bytes(range(8)) + b"anything")


@pytest.mark.parametrize("number", [2, 3, 2**62])
def test_an_unknown_format_is_newer_whatever_else_it_breaks(number: int) -> None:
    with pytest.raises(NewerThanReader, match=str(number)):
        decode_commit(pieced(format=long(number), nonce=text(b"odd"), session_id=text(b"")))


@pytest.mark.parametrize("kind", ["erase", "", "Events", "ünbekannt", "x" * 1_000])
def test_an_unknown_kind_is_newer(kind: str) -> None:
    with pytest.raises(NewerThanReader) as caught:
        decode_commit(pieced(kind=text(kind.encode())))
    assert len(str(caught.value)) < 200


NOT_LONGEST = 2**63 - 1
HOSTILE = {
    "a body of negative length": {"body": long(-1) + b"x"},
    "a body longer than the record": {"body": long(2**20) + b"x"},
    "a body of a huge length": {"body": b"\xfe" + b"\xff" * 8 + b"\x01"},
    "a body's length without an end": {"body": b"\xff" * 30},
    "a body's length not in its shortest form": {"body": b"\x84\x00[]"},
    "a text of negative length": {"namespace": long(-1)},
    "a text of the most negative length": {"namespace": long(-(2**63))},
    "a text of a huge length": {"namespace": long(NOT_LONGEST) + b"turnlog"},
    "a text that is no UTF-8": {"namespace": text(b"\xff")},
    "a text with a surrogate": {"namespace": text(b"\xed\xa0\x80")},
    "a text in an overlong form": {"namespace": text(b"\xc0\x80")},
    "a nonce of a huge length": {"nonce": long(2**40)},
    "an integer without an end": {"first_seq": b"\xff" * 40},
    "an integer beyond 64 bits": {"semantics": b"\x80" * 9 + b"\x02"},
    "an integer not in its shortest form": {"semantics": b"\x80\x00"},
    "format 0": {"format": long(0)},
    "a negative format": {"format": long(-1)},
    "negative semantics": {"semantics": long(-1)},
    "a union's index of 2": {"key_id": long(2) + text(b"k")},
    "a union's index of -1, which counts from the end": {"key_id": long(-1) + text(b"k")},
    "a union's huge index": {"actor": long(2**62)},
    "a map with a huge count": {"writer_info": long(2**60) + text(b"k") + text(b"v")},
    "a map with the most negative count": {"ext": long(-(2**63)) + long(1)},
    "a map in a block of negative count": {
        "ext": long(-1) + long(4) + text(b"k") + text(b"v") + EMPTY_MAP
    },
    "a map in two blocks": {
        "ext": (long(1) + text(b"a") + text(b"1")) + (long(1) + text(b"b") + text(b"2")) + b"\x00"
    },
    "a map that names a key twice": {
        "ext": long(2) + (text(b"a") + text(b"1")) + (text(b"a") + text(b"2")) + b"\x00"
    },
    "a map with its keys out of order": {
        "ext": long(2) + (text(b"b") + text(b"1")) + (text(b"a") + text(b"2")) + b"\x00"
    },
    "a map without its end": {"ext": long(1) + text(b"a") + text(b"1")},
    "a map's key that is no UTF-8": {"ext": long(1) + text(b"\x80") + text(b"") + b"\x00"},
    "a session id that no store takes": {"session_id": text(b"a\x1fb")},
    "an empty session id": {"session_id": text(b"")},
    "no event": {"event_count": long(0)},
    "a negative number of events": {"event_count": long(-2)},
    "more events than seqs": {"event_count": long(2**53)},
    "a negative seq": {"first_seq": long(-1)},
    "a time beyond a safe integer": {"first_time": long(2**53)},
    "a nonce among events": {"nonce": text(b"n" * 16)},
    "a claim without nonce": {"kind": text(b"claim"), "event_count": long(0)},
    "a claim with events": {"kind": text(b"claim"), "nonce": text(b"n" * 16)},
    "a hash of 31 bytes": {"hash": b"h" * 31},
    "a hash of 33 bytes": {"hash": b"h" * 33},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_piece_is_broken(name: str) -> None:
    with pytest.raises(BrokenLog):
        decode_commit(pieced(**HOSTILE[name]))


def test_the_pieces_of_a_map_that_is_as_it_must_be_are_read() -> None:
    ext = long(2) + (text(b"a") + text(b"1")) + (text(b"b") + text(b"2")) + EMPTY_MAP
    assert decode_commit(pieced(ext=ext)).ext == {"a": b"1", "b": b"2"}


def _edits(draw: st.DrawFn, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(changed)))
        stop = min(len(changed), start + draw(st.integers(0, 4)))
        changed[start:stop] = draw(st.binary(max_size=10))
    return bytes(changed)


@st.composite
def changed_records(draw: st.DrawFn) -> bytes:
    return _edits(draw, encode_commit(draw(commits())))


@given(changed_records())
def test_whatever_is_read_from_changed_bytes_is_written_as_the_same_bytes(data: bytes) -> None:
    commit = decoded(data)
    assert commit is None or encode_commit(commit) == data


@given(st.binary(max_size=200))
def test_any_bytes_behind_a_sound_prefix_are_a_commit_or_a_typed_error(rest: bytes) -> None:
    decoded(PREFIX + rest)
    decoded(PREFIX + b"\x00\x02\x00" + rest)


MIB = 1024 * 1024


def map_of(count: int) -> bytes:
    """A map whose keys are all different."""
    return long(count) + b"".join(b"\x0c%06d\x00" % n for n in range(count)) + EMPTY_MAP


GREEDY = {
    "a map that fills the envelope": lambda: pieced(ext=map_of(MAX_ENVELOPE_BYTES // 8 - 40)),
    "seven mebibytes of map": lambda: pieced(ext=map_of(900_000)),
    "nine mebibytes of one integer": lambda: pieced(semantics=b"\xff" * (9 * MIB - 300)),
    "more than a record may have": lambda: pieced(body=text(bytes(10 * MIB))),
    "a huge length": lambda: pieced(body=long(2**27), writer=long(2**62)),
    "a huge count": lambda: pieced(ext=long(2**62) + bytes(1_000)),
}


@pytest.mark.parametrize("name", GREEDY)
def test_the_memory_that_a_record_takes_is_bounded(name: str) -> None:
    data = GREEDY[name]()
    tracemalloc.start()
    try:
        decoded(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * MIB


def test_a_large_record_is_held_at_most_twice_beside_its_bytes() -> None:
    data = encode_commit(make_commit(body=bytes(8 * MIB)))
    tracemalloc.start()
    try:
        commit = decode_commit(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert commit.prev_hash != NO_HASH
    assert peak < 17 * MIB
