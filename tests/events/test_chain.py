"""The hash of a commit: over every field, in an encoding that can be read in one way only."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.commits import commits, make_commit
from turnlog.events.chain import attested_bytes, commit_hash, hash_fits
from turnlog.events.commit import NO_HASH, Commit, Kind
from turnlog.events.errors import BadShape

CHANGES: dict[str, Any] = {
    "namespace": "other",
    "session_id": "s2",
    "kind": Kind.RELEASE,
    "first_seq": 8,
    "event_count": 3,
    "first_time_ms": 1,
    "last_time_ms": 1,
    "content_type": "text/plain",
    "content_encoding": "zstd",
    "writer": "w2",
    "prev_hash": b"q" * 32,
    "body": b"[ ]",
    "nonce": b"m" * 16,
    "key_id": "",
    "writer_info": {"host": "a"},
    "actor": "",
    "traceparent": "",
    "ext": {"": b""},
    "semantics": 1,
}
# Only commits without events have a nonce, and they have one time.
OF_MARKS = {"kind", "nonce"}


def test_each_field_but_the_hash_itself_is_tried() -> None:
    # Of the format there is only one value; a golden file holds it.
    assert CHANGES.keys() | {"hash", "format"} == set(Commit.__struct_fields__)


@pytest.mark.parametrize("field", CHANGES)
def test_a_change_of_any_field_changes_the_hash(field: str) -> None:
    commit = make_commit(Kind.CLAIM if field in OF_MARKS else Kind.EVENTS)
    changed = msgspec.structs.replace(commit, **{field: CHANGES[field]})
    assert hash_fits(commit)
    assert not hash_fits(changed)


def test_the_hash_does_not_depend_on_the_hash_that_stands_there() -> None:
    commit = make_commit()
    assert commit_hash(msgspec.structs.replace(commit, hash=NO_HASH)) == commit.hash


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"actor": None, "traceparent": ""}, {"actor": "", "traceparent": None}),
        ({"key_id": None}, {"key_id": ""}),
        ({"namespace": "a", "session_id": "bc"}, {"namespace": "ab", "session_id": "c"}),
        ({"writer_info": {"a": "bc"}}, {"writer_info": {"ab": "c"}}),
        ({"writer_info": {"a": "", "b": ""}}, {"writer_info": {"a": "b"}}),
        ({"writer_info": {"a": "1"}}, {"ext": {"a": b"1"}}),
        ({"ext": {"a": b"1", "b": b"2"}}, {"ext": {"a": b"2", "b": b"1"}}),
    ],
)  # fmt: skip
def test_what_lies_next_to_each_other_is_kept_apart(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert make_commit(**one).hash != make_commit(**other).hash


def test_the_order_in_which_a_map_was_filled_does_not_matter() -> None:
    # U+E000 stands before U+1F600 as code points and as UTF-8, and behind it as UTF-16.
    pairs = [("\U0001f600", "1"), ("\ue000", "2"), ("", "3")]
    one, other = make_commit(writer_info=dict(pairs)), make_commit(writer_info=dict(pairs[::-1]))
    assert one.hash == other.hash
    attested = attested_bytes(one)
    assert attested.index("\ue000".encode()) < attested.index("\U0001f600".encode())


def test_of_the_body_only_its_digest_is_needed() -> None:
    commit = make_commit(body=b"withheld")
    head, digest = attested_bytes(commit)[:-32], attested_bytes(commit)[-32:]
    assert digest == sha256(b"withheld").digest()
    assert b"withheld" not in head
    assert commit.hash == sha256(head + sha256(b"withheld").digest()).digest()


@given(commits(), commits())
def test_each_field_of_another_commit_is_told_apart(one: Commit, other: Commit) -> None:
    for field in CHANGES:
        try:
            mixed = msgspec.structs.replace(one, **{field: getattr(other, field)})
        except BadShape:  # a rule that binds two fields
            continue
        assert (mixed == one) is hash_fits(mixed)


@given(commits(), st.data())
def test_a_hash_with_any_bit_flipped_does_not_fit(commit: Commit, data: st.DataObject) -> None:
    bit = data.draw(st.integers(0, 255))
    flipped = (int.from_bytes(commit.hash, "big") ^ 1 << bit).to_bytes(32, "big")
    assert not hash_fits(msgspec.structs.replace(commit, hash=flipped))
