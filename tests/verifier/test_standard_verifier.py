"""A second opinion: standard-library Python, made from docs/format.md, agrees on each record."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.commits import Record, SessionLine, commits, forged, record_of
from tests.contended_logs import FAULTS, NEWER, contended_log, contended_logs
from turnlog.events.commit import Commit
from turnlog.kernel.ledger import Ledger

VERIFIER = Path(__file__).with_name("standard_verifier.py")
GOLDEN = Path(__file__).parent.parent / "golden"


def by_verifier(records: Sequence[Record], namespace: str = "turnlog") -> list[Any]:
    """What the verifier prints, in a process that can import the standard library only."""
    lines = [json.dumps([part if part is None else part.hex() for part in r]) for r in records]
    run = subprocess.run(
        [sys.executable, "-I", "-S", str(VERIFIER), namespace],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


def by_ledger(records: Sequence[Record], namespace: str = "turnlog") -> list[Any]:
    """What the ledger says, in the verifier's words."""
    ledger = Ledger(namespace)
    verdicts: list[Any] = []
    for record in records:
        verdict = ledger.fold(*record)
        verdicts.append([verdict.kind.value, verdict.session_id])
    heads = {
        session: head._asdict() | {"hash": head.hash.hex()}
        for session, head in ledger.heads.items()
    }
    return [*verdicts, {"heads": heads, "stopped": sorted(ledger.stopped)}]


def test_the_verifier_imports_nothing_but_the_standard_library() -> None:
    tree = ast.parse(VERIFIER.read_text(encoding="utf-8"))
    names = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    names += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert names
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_the_verifier_accepts_a_sound_session() -> None:
    line = SessionLine(writer_info={"host": "h", "a": ""}, actor="someone", ext={"x": b"\xff"})
    commits = [line.open(), line.events(2), line.claim(), line.events(100), line.release()]
    said = by_verifier([record_of(commit) for commit in commits])
    assert said[:-1] == [["accepted", "s1"]] * 5
    assert said[-1]["heads"]["s1"] == line.head._asdict() | {"hash": line.head.hash.hex()}


def test_the_verifier_agrees_on_the_golden_records() -> None:
    names = ["open", "events", "events-zstd", "claim", "release"]
    golden = [
        json.loads((GOLDEN / f"commit-1-{n}.json").read_text(encoding="utf-8")) for n in names
    ]
    records = [(bytes.fromhex(g["key"]), bytes.fromhex(g["value"])) for g in golden]
    said = by_verifier(records)
    assert [verdict for verdict, _ in said[:-1]] == ["accepted"] * 5
    assert said == by_ledger(records)


def test_the_verifier_agrees_on_a_long_log_with_every_fault() -> None:
    records = contended_log(2_000, seed=3)
    assert by_verifier(records) == by_ledger(records)


@settings(max_examples=15)
@given(contended_logs(max_records=60))
def test_the_verifier_agrees_on_any_log(records: list[Record]) -> None:
    assert by_verifier(records) == by_ledger(records)


@pytest.mark.parametrize("namespace", ["other", ""])
def test_the_verifier_agrees_on_another_namespace(namespace: str) -> None:
    records = contended_log(60, seed=4)
    assert by_verifier(records, namespace) == by_ledger(records, namespace)


@settings(max_examples=15)
@given(st.lists(commits(), max_size=5), st.randoms(use_true_random=False))
def test_the_verifier_agrees_on_any_record_and_any_fault_of_it(
    each: list[Commit], random: Any
) -> None:
    records = [record_of(commit) for commit in each]
    faults = [*FAULTS.values(), *NEWER.values()]
    for commit in each:
        records += [fault(commit, random) for fault in faults if _can_bear(commit)]
        records += [FAULTS["other bytes inside"](commit, random) for _ in range(20)]
        records += [FAULTS["a flipped bit"](commit, random) for _ in range(20)]
    assert by_verifier(records) == by_ledger(records)


def _can_bear(commit: Commit) -> bool:
    """Whether the seq after this commit is one."""
    return commit.next_seq < 2**53 - 1


@pytest.mark.parametrize(("size", "verdict"), [(64 * 1024, "accepted"), (64 * 1024 + 1, "broken")])
def test_the_verifier_agrees_on_the_limit_of_the_envelope(size: int, verdict: str) -> None:
    def opened(filler: int) -> tuple[Commit, int]:
        commit = SessionLine(writer_info={"k": "x" * filler}).open()
        start = 10 + 1  # marker, fingerprint, and the length of a body below 64 bytes
        return commit, len(forged(commit)) - start - len(commit.body)

    commit, envelope = opened(60_000)
    commit, envelope = opened(60_000 + size - envelope)
    assert envelope == size
    records = [(b"s1", forged(commit))]
    assert by_verifier(records) == by_ledger(records)
    assert by_ledger(records)[0] == [verdict, "s1"]
