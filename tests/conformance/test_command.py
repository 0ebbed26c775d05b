"""The runner as a command: its options, its report and its exit code, on answers of our own."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shared import REPO

SAMPLE = Path(__file__).parent / "sample"


def test_given_files_are_run_instead_of_the_shared_ones(tmp_path: Path) -> None:
    wrong = json.loads((SAMPLE / "logs.jsonl").read_text().splitlines()[0])
    wrong["expect"]["restore"]["value"]["nodes"][0] = 11
    (tmp_path / "wrong.jsonl.gz").write_bytes(gzip.compress(json.dumps(wrong).encode()))
    run = _pytest(
        *("tests/conformance/test_answers.py", "--logs", SAMPLE / "logs.jsonl"),
        *("--logs", tmp_path / "wrong.jsonl.gz", "--chunk-rows", SAMPLE / "chunk-rows.jsonl"),
        *("--recorded", SAMPLE / "recorded"),
    )
    assert run.returncode == 1, run.stdout
    assert "wrong.jsonl.gz, line 1: case sample-1 (sample/log), restore" in run.stdout
    assert "by the kernel: $.value.nodes[0]: expected 11, found 10" in run.stdout
    assert "logs.jsonl: 43 answers checked, 0 cases wrong" in run.stdout
    assert "wrong.jsonl.gz: 29 answers checked, 1 cases wrong" in run.stdout
    assert "recorded: 16 answers checked, 0 cases wrong" in run.stdout
    assert "1 failed" in run.stdout


def test_a_given_file_that_is_not_there_is_a_usage_error() -> None:
    run = _pytest("tests/conformance/test_answers.py", "--logs", "no/such/file")
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "no file" in run.stderr


def test_the_options_are_known_at_the_top_of_the_repository() -> None:
    run = _pytest("--help")
    assert "--logs=FILE" in run.stdout
    assert "--chunk-rows=FILE" in run.stdout
    assert "--recorded=DIR" in run.stdout


@pytest.mark.parametrize(("ci", "outcomes"), [("", "3 skipped"), ("true", "3 failed")])
def test_absent_shared_data_skips_and_fails_in_ci(tmp_path: Path, ci: str, outcomes: str) -> None:
    run = _pytest("tests/conformance/test_answers.py", TURNLOG_SHARED=str(tmp_path), CI=ci)
    assert outcomes in run.stdout
    assert "set TURNLOG_SHARED" in run.stdout


def _pytest(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *map(str, arguments)]
    return subprocess.run(
        command,
        cwd=REPO,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
