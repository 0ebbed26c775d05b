"""The hint: its golden bytes, and that nothing but them is read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.events import BrokenLog, NewerThanReader
from turnlog.events.hint import HINT, Hint, decode_hint, encode_hint

UNBORN = Hint(cluster_id="c", layout=0, partition=3, offset=7)
BORN = Hint(
    cluster_id="cluster",
    layout=0,
    partition=11,
    open_offset=5,
    offset=260,
    hash=bytes(range(32)),
    next_seq=70,
    writer="w",
    released=True,
    complete=True,
    title="Tidy é",
    header=b'{"version":0,"id":"s","createdAt":0}',
)
GOLDEN = {
    "unborn": (
        UNBORN,
        "c3012140d2c863f2bbd602630006000e00000000000000",
    ),
    "born": (
        BORN,
        "c3012140d2c863f2bbd60e636c75737465720016020a880402000102030405060708090a0b0c0d0e"
        "0f101112131415161718191a1b1c1d1e1f8c0102770101020e5469647920c3a902487b2276657273"
        "696f6e223a302c226964223a2273222c22637265617465644174223a307d",
    ),
}

hints = st.builds(
    Hint,
    cluster_id=st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    layout=st.integers(0, 2**31 - 1),
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**63 - 1),
    open_offset=st.none() | st.integers(0, 2**63 - 1),
    hash=st.none() | st.binary(min_size=32, max_size=32),
    next_seq=st.integers(0, 2**53),
    writer=st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    released=st.booleans(),
    complete=st.booleans(),
    title=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    header=st.none() | st.binary(max_size=16),
)


@given(hints)
def test_a_hint_is_read_as_it_was_written(hint: Hint) -> None:
    assert decode_hint(encode_hint(hint)) == hint


@given(hints, st.data())
def test_only_what_was_written_is_a_hint(hint: Hint, data: Any) -> None:
    value = encode_hint(hint)
    cut = data.draw(st.integers(0, len(value) - 1))
    with pytest.raises(BrokenLog):
        decode_hint(value[:cut])
    with pytest.raises(BrokenLog):
        decode_hint(value + b"\0")


@given(st.binary(max_size=64))
def test_no_bytes_end_in_another_error(junk: bytes) -> None:
    for value in (junk, b"\xc3\x01" + HINT.fingerprint + junk):
        try:
            hint = decode_hint(value)
        except (BrokenLog, NewerThanReader):
            continue
        assert encode_hint(hint) == value


def test_an_unknown_schema_is_newer() -> None:
    with pytest.raises(NewerThanReader):
        decode_hint(b"\xc3\x01" + bytes(8) + encode_hint(UNBORN)[10:])


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_bytes(name: str) -> None:
    hint, value = GOLDEN[name]
    assert encode_hint(hint).hex() == value
    assert decode_hint(bytes.fromhex(value)) == hint


def test_where_reading_starts() -> None:
    assert (UNBORN.first_offset, BORN.first_offset) == (7, 5)
