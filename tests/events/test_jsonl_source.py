"""What the JSONL scanner reads from, and how it refuses what gives no bytes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from turnlog.events.errors import BadShape
from turnlog.events.jsonl import read_jsonl, scan_jsonl

FILE = b'{"type":"session","version":0,"id":"s","createdAt":5,"delegationDepth":0}\n'


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("session.jsonl", "'session.jsonl'"),
        (Path("session.jsonl"), "a value of type PosixPath"),
        (FILE, "a value of type bytes"),
        (bytearray(FILE), "a value of type bytearray"),
        (memoryview(FILE), "a value of type memoryview"),
        (None, "nothing"),
        (5, "5"),
        (io.StringIO(FILE.decode()), "a block of type str"),
        ([FILE.decode()], "a block of type str"),
        ([FILE, 5], "a block of type int"),
    ],
    ids=[
        "path text",
        "path",
        "content",
        "bytearray",
        "memoryview",
        "none",
        "number",
        "text file",
        "text blocks",
        "integers",
    ],
)
def test_a_source_without_blocks_of_bytes_is_refused(source: Any, found: str) -> None:
    for read in (lambda: list(scan_jsonl(source)), lambda: list(read_jsonl(source)[1])):
        with pytest.raises(BadShape) as refused:
            read()
        assert (refused.value.field, refused.value.found) == ("source", found)
        assert "binary mode" in refused.value.expected


def test_a_source_of_the_wrong_type_is_refused_before_anything_is_asked_for() -> None:
    source: Any = "session.jsonl"
    with pytest.raises(BadShape):
        scan_jsonl(source)
