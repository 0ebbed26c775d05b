"""Commit records as they were published: read, written and hashed as ever.

A failure here is a change of the stored format: docs/format.md, "Raising a version". The files are
provisional until the log on Kafka is done; then none is ever changed.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from turnlog.events.avro import decode_commit, encode_commit
from turnlog.events.body import check_body, read_claim, read_open
from turnlog.events.chain import attested_bytes, commit_hash, make_commit
from turnlog.events.commit import Commit, Kind
from turnlog.events.published import PUBLISHED_SCHEMAS

_FOLDER = Path(__file__).parent.parent / "golden"
_FILES = sorted(_FOLDER.glob("commit-*.json"))


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _fields(golden: Any) -> dict[str, Any]:
    fields = dict(golden["fields"])
    body = fields["body"]
    fields["body"] = body["text"].encode() if "text" in body else bytes.fromhex(body["hex"])
    for name in ("prev_hash", "hash", "nonce"):
        fields[name] = bytes.fromhex(fields[name])
    fields["kind"] = Kind(fields["kind"])
    fields["ext"] = {key: bytes.fromhex(value) for key, value in fields["ext"].items()}
    return fields


def test_there_is_a_golden_record_of_each_kind() -> None:
    assert {_read(path)["fields"]["kind"] for path in _FILES} == set(Kind)


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_a_golden_record_is_read_as_it_was(path: Path) -> None:
    golden = _read(path)
    commit = decode_commit(bytes.fromhex(golden["value"]))
    assert commit == Commit(**_fields(golden))
    assert commit.session_id.encode() == bytes.fromhex(golden["key"])


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_a_golden_record_is_made_and_written_as_it_was(path: Path) -> None:
    golden = _read(path)
    fields = _fields(golden)
    expected_hash = fields.pop("hash")
    assert (fields.pop("format"), fields.pop("semantics")) == (1, 0)
    commit = make_commit(**fields)
    assert commit.hash == expected_hash
    assert encode_commit(commit).hex() == golden["value"]


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_a_golden_record_attests_the_bytes_that_it_did(path: Path) -> None:
    golden = _read(path)
    commit = Commit(**_fields(golden))
    assert attested_bytes(commit).hex() == golden["attested"]
    assert commit_hash(commit) == commit.hash == sha256(bytes.fromhex(golden["attested"])).digest()


@pytest.mark.parametrize("name", ["events", "events-zstd"])
def test_golden_rows_are_read_as_they_were(name: str) -> None:
    golden = _read(_FOLDER / f"commit-1-{name}.json")
    rows = check_body(decode_commit(bytes.fromhex(golden["value"])))
    assert [row.text.decode() for row in rows] == golden["rows"]


def test_golden_facts_are_read_as_they_were() -> None:
    def commit(name: str) -> Commit:
        return decode_commit(bytes.fromhex(_read(_FOLDER / f"commit-1-{name}.json")["value"]))

    opened = read_open(commit("open"))
    assert (opened.header.cwd, opened.fork) == ("/work", None)
    fork = read_open(commit("open-fork")).fork
    assert fork == ("parent", 2, bytes(range(32)))
    assert read_claim(commit("claim")) == ("take-over", "w-5b1f", False)


def test_every_published_schema_is_as_it_was() -> None:
    texts = {
        fingerprint.hex(): sha256(text.encode()).hexdigest()
        for fingerprint, text in PUBLISHED_SCHEMAS.items()
    }
    assert texts == _read(_FOLDER / "schemas.json")
