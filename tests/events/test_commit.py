"""The commit's own rules: what no instance can break, and what no caller can change."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.commits import make_commit
from turnlog.events.commit import Commit, Kind
from turnlog.events.errors import BadSessionId, BadShape
from turnlog.events.gate import MAX_SAFE_INTEGER

MARKS = [Kind.OPEN, Kind.CLAIM, Kind.RELEASE]


@pytest.mark.parametrize("kind", list(Kind))
def test_each_kind_can_be_made(kind: Kind) -> None:
    assert make_commit(kind).kind is kind


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("namespace", b"turnlog"),
        ("namespace", None),
        ("kind", "events"),
        ("format", 2),
        ("format", 0),
        ("format", True),
        ("semantics", -1),
        ("semantics", 2**53),
        ("first_seq", -1),
        ("first_seq", 1.0),
        ("first_seq", 2**53),
        ("event_count", 0),
        ("event_count", -1),
        ("event_count", True),
        ("event_count", MAX_SAFE_INTEGER),  # the last seq would be no safe integer
        ("first_time_ms", 2**53),
        ("last_time_ms", -(2**53)),
        ("last_time_ms", None),
        ("content_type", None),
        ("content_encoding", 5),
        ("writer", "\ud800"),
        ("nonce", b"n" * 16),
        ("key_id", b"k"),
        ("key_id", "k\udfff"),
        ("writer_info", {"host": "\ud83d"}),
        ("writer_info", {"\ud83d": "host"}),
        ("writer_info", {"host": None}),
        ("writer_info", {1: "host"}),
        ("actor", "a\ud800"),
        ("actor", 1),
        ("traceparent", "\udc00"),
        ("ext", {"x": "text"}),
        ("ext", {"\ud800": b""}),
        ("prev_hash", b"p" * 31),
        ("prev_hash", "p" * 32),
        ("hash", b"h" * 33),
        ("body", "[]"),
        ("body", bytearray(b"[]")),
    ],
)
def test_a_field_out_of_its_rule_is_named(field: str, value: Any) -> None:
    with pytest.raises(BadShape) as caught:
        msgspec.structs.replace(make_commit(), **{field: value})
    assert caught.value.field == field


@pytest.mark.parametrize("kind", MARKS)
@pytest.mark.parametrize(
    ("field", "value"),
    [("event_count", 1), ("nonce", b""), ("nonce", b"n" * 17), ("last_time_ms", 1)],
)
def test_a_commit_without_events_has_a_nonce_and_one_time(
    kind: Kind, field: str, value: Any
) -> None:
    with pytest.raises(BadShape) as caught:
        make_commit(kind, **{field: value})
    assert caught.value.field == field


@pytest.mark.parametrize("session_id", ["", "x" * 256, "a\nb", "\ud800", None])
def test_a_session_id_that_no_store_takes_is_refused(session_id: Any) -> None:
    with pytest.raises(BadSessionId):
        make_commit(session_id=session_id)


def test_the_edges_of_the_rules_are_legal() -> None:
    make_commit(first_seq=MAX_SAFE_INTEGER, event_count=1)
    make_commit(first_seq=0, event_count=MAX_SAFE_INTEGER)
    make_commit(first_time_ms=MAX_SAFE_INTEGER, last_time_ms=-MAX_SAFE_INTEGER)
    make_commit(session_id="\U0001f600" * 255, namespace="", writer="", body=b"", actor="")


def test_next_seq_is_the_seq_behind_the_events() -> None:
    assert make_commit(first_seq=7, event_count=3).next_seq == 10
    assert make_commit(Kind.CLAIM, first_seq=7).next_seq == 7


def test_the_caller_keeps_no_hand_on_the_maps() -> None:
    info, ext = {"host": "a"}, {"x": b"1"}
    commit = make_commit(writer_info=info, ext=ext)
    info["host"] = "b"
    ext.clear()
    assert commit.writer_info == {"host": "a"}
    assert commit.ext == {"x": b"1"}


@pytest.mark.parametrize("field", ["writer_info", "ext"])
def test_the_maps_can_not_be_changed(field: str) -> None:
    maps: Any = getattr(make_commit(), field)
    with pytest.raises(TypeError):
        maps["new"] = b""


@pytest.mark.parametrize("field", Commit.__struct_fields__)
def test_no_field_can_be_set(field: str) -> None:
    with pytest.raises(AttributeError):
        setattr(make_commit(), field, None)


def test_the_repr_shows_no_body() -> None:
    commit = make_commit(body=b"secret")
    assert "secret" not in repr(commit)
    assert "s1" in repr(commit)
