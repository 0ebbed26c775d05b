"""What is fuzzed: each target takes bytes and lets nothing out but its own assertions.

A new target is a function and an entry in TARGETS; `run.py` and the suite find it there.
"""

from __future__ import annotations

import io
import json
from collections.abc import Hashable, Sequence
from pathlib import Path

from tests.exactness import same
from tests.fuzz.mutate import Target
from tests.fuzz.values import OPCODES, draft_of, value_of
from tests.strategies import agent_log
from turnlog.events.admit import admit, admit_all
from turnlog.events.avro import decode_commit, encode_commit
from turnlog.events.body import check_body
from turnlog.events.errors import (
    BadRow,
    BadShape,
    BrokenLog,
    CallerError,
    DamagedFile,
    NewerThanReader,
    NotLossless,
    TooLarge,
)
from turnlog.events.event import Draft
from turnlog.events.gate import lossless_copy, snapshot
from turnlog.events.jsonl import Damage, FileHeader, FileRow, read_jsonl, scan_jsonl, write_jsonl
from turnlog.events.jsontext import deep_equal, dumps, loads
from turnlog.events.packed import quick_packed
from turnlog.events.rows import Row, expand, pack, parse_row, row_of_value, unpack_value
from turnlog.events.vocabulary import Registry
from turnlog.kernel.ledger import Ledger

__all__ = ["TARGETS", "fuzz_avro", "fuzz_gate", "fuzz_jsonl", "fuzz_packed_row"]


def fuzz_jsonl(data: bytes) -> Hashable:
    """Scan a file: ranges hold every byte, the strict reader agrees, what is read is written."""
    items = list(scan_jsonl(io.BytesIO(data)))
    end = 0
    for item in items:
        assert end <= item.start <= item.end <= len(data)
        assert not data[end : item.start].strip(b" \t\r\n")
        end = item.end
        if isinstance(item, FileRow):
            assert item.row.text == data[item.start : item.end]
            assert parse_row(item.row.text) == item.row
    assert not data[end:].strip(b" \t\r\n")
    at = len(data) // 3
    assert list(scan_jsonl([data[:at], data[at:]])) == items
    is_damaged = [isinstance(item, Damage) for item in items]
    rows: list[Row] = []
    try:
        header, strict = read_jsonl(io.BytesIO(data))
        for row in strict:
            rows.append(row)  # noqa: PERF402 - what came before the error counts
    except DamagedFile:
        assert any(is_damaged)
    else:
        assert not any(is_damaged)
        f = io.BytesIO()
        write_jsonl(f, header, rows)
        again, again_rows = read_jsonl(io.BytesIO(f.getvalue()))
        assert same(again.value, header.value)
        assert list(again_rows) == rows
    found = [item.row for item in items if isinstance(item, FileRow)]
    assert rows == found[: len(rows)]
    for row in found:
        assert sum(1 for _ in row.events()) == row.count
    headers = sum(isinstance(item, FileHeader) for item in items)
    reasons = {item.reason[:30] for item in items if isinstance(item, Damage)}
    return headers, min(len(found), 4), frozenset(reasons)


def fuzz_packed_row(data: bytes) -> Hashable:
    """Read a row: it is refused, or its events are stored again as they were read."""
    quick = quick_packed(data)
    try:
        row = parse_row(data)
    except BadRow as error:
        assert quick is None or b"\n" in data
        return error.reason[:40]
    value = loads(data)
    assert row_of_value(value, data) == row
    if quick is not None:
        assert (row.first_seq, row.count, row.packed) == (*quick, True)
    events = [event.to_json() for event in row.events()]
    assert len(events) == row.count
    if row.packed:
        assert deep_equal(unpack_value(loads(data)), events)
    stored = list(pack(expand([row])))
    assert deep_equal([event.to_json() for event in expand(stored)], events)
    assert [parse_row(again.text) for again in stored] == stored
    return row.packed, quick is None, min(row.count, 4)


def fuzz_gate(data: bytes) -> Hashable:
    """Build a value, hostile ones included: the gate refuses it by name, or keeps it exactly."""
    value = value_of(data)
    outcome: list[Hashable] = []
    try:
        taken = snapshot(value)
    except NotLossless as error:
        outcome.append(("lossy", error.found[:40], min(len(error.path), 3)))
    except TooLarge:
        outcome.append("large")
    else:
        assert same(taken.value, value)
        assert same(lossless_copy(value), value)
        assert same(loads(dumps(value)), value)
        outcome.append(type(value).__name__)
    registry = Registry()
    for drafts in ([draft_of(data)], [Draft("turn/start", {"turn": 1}), draft_of(data)]):
        try:
            events = admit_all(drafts, 0, 0, registry)
        except CallerError as error:
            field = error.field if isinstance(error, BadShape) else ""
            outcome.append((type(error).__name__, field[:30]))
        else:
            again = [admit(draft, seq, 0, registry) for seq, draft in enumerate(drafts)]
            assert [event.text for event in again] == [event.text for event in events]
            assert deep_equal(loads(events[-1].text)["data"], drafts[-1].data)
            outcome.append("event")
    return tuple(outcome)


def _file(events: int, seed: int) -> bytes:
    log = agent_log(events, seed)
    f = io.BytesIO()
    write_jsonl(f, log.header, log.rows)
    return f.getvalue()


def _seeds() -> tuple[Sequence[bytes], Sequence[bytes]]:
    files = [_file(events, seed) for seed, events in enumerate((0, 3, 9, 30))]
    damaged = [
        files[1].replace(b"\n", b""),
        files[1].replace(b"\n", b"\r\n\n"),
        files[2].replace(b"\n", bytes(200), 4),
        files[2][:-9],
    ]
    rows = sorted({row.text for row in agent_log(400, 5).rows}, key=len)[::9]
    rows += [row.text for row in agent_log(400, 6).rows if row.packed][:20]
    return [*files, *damaged], rows


def _is_json(data: bytes) -> bool:
    try:
        loads(data)
    except BrokenLog:
        return False
    return True


_FILES, _ROWS = _seeds()
_JSON_TOKENS = [
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\n", b"\r\n", b"\x00", b"}{", b"\xff"),
    *(b"\\ud800", b"\\u0000", b"\xe2\x80\xa8", b"NaN", b"1e999", b"-0.0", b"1.0", b"true", b"null"),
    *(b"9007199254740991", b"9007199254740992", b"18446744073709551616", b"1e2"),
    *(b'"seq":0,', b'"seq0":1,', b'"time0":0,', b'"dt":[],', b'"texts":["a"],', b'"args":[""],'),
    *(b'"type":"session",', b'"type":"text-chunks",', b'"name":"",', b'"id":"c",', b'"data":'),
    *(b"[" * 1_100, b'{"a":' * 1_100, b'{"type":"x","seq":0,"time":0}'),
]


def fuzz_avro(data: bytes) -> Hashable:
    """Decode a record: what decodes has one encoding, and neither body nor ledger lets more out."""
    verdict = Ledger("turnlog").fold(b"s", data)
    try:
        commit = decode_commit(data)
    except (BrokenLog, NewerThanReader) as error:
        return type(error).__name__, verdict.kind, str(error)[:20]
    assert encode_commit(commit) == data
    try:
        rows = check_body(commit)
    except (BrokenLog, NewerThanReader) as error:
        return commit.kind, verdict.kind, type(error).__name__, str(error)[:20]
    assert sum(row.count for row in rows) == commit.event_count
    return commit.kind, verdict.kind, len(rows)


_RECORDS = [
    bytes.fromhex(json.loads(path.read_text(encoding="utf-8"))["value"])
    for path in sorted((Path(__file__).parents[1] / "golden").glob("commit-*.json"))
]

TARGETS: dict[str, Target] = {
    "fuzz_avro": Target(fuzz_avro, _RECORDS, [b"\xc3\x01", b"\x00", b"\x80", b"\xff", b"zstd"]),
    "fuzz_jsonl": Target(fuzz_jsonl, _FILES, _JSON_TOKENS),
    "fuzz_packed_row": Target(
        fuzz_packed_row, [row for row in _ROWS if _is_json(row)], _JSON_TOKENS
    ),
    "fuzz_gate": Target(fuzz_gate, [bytes(range(64)), bytes(OPCODES), b""], [bytes(OPCODES)]),
}
"""Every target by name."""
