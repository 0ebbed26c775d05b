"""Every recorded answer, found again by turnlog; a test is one op over one family of cases of a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.shared import shared_path

from .cases import BadFile, Case, read_cases, read_chunk_rows, read_recorded
from .groups import Group, check, groups_of
from .ops import OPS
from .options import TALLY, given_paths


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "group" not in metafunc.fixturenames:
        return
    try:
        groups = groups_of(_cases(metafunc.config))
    except BadFile as error:
        raise pytest.UsageError(str(error)) from None
    metafunc.parametrize("group", groups or [None], ids=[group.id for group in groups] or ["none"])


def test_answers_of_turnlog_are_those_recorded(
    group: Group | None, pytestconfig: pytest.Config
) -> None:
    if group is None:
        _no_data()
        return
    result = check(group, OPS)
    pytestconfig.stash[TALLY].add(group.file, group.op, result.answers, result.wrong_cases)
    if result.report:
        pytest.fail(result.report, pytrace=False)


def _cases(config: pytest.Config) -> list[Case]:
    given = given_paths(config)
    if not any(given.values()):
        given = _shared()
    cases = [case for path in given["logs"] for case in read_cases(path)]
    cases += [case for path in given["chunk_rows"] for case in read_chunk_rows(path)]
    cases += [case for path in given["recorded"] for case in read_recorded(path)]
    return cases


def _shared() -> dict[str, list[Path]]:
    folder = shared_path() / "conformance"
    files = sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])
    recorded = shared_path() / "recorded"
    return {
        "logs": [path for path in files if not path.name.startswith("chunk-rows")],
        "chunk_rows": [path for path in files if path.name.startswith("chunk-rows")],
        "recorded": [recorded] if (recorded / "expect.jsonl").is_file() else [],
    }


def _no_data() -> None:
    reason = f"no recorded answers at {shared_path()}: set TURNLOG_SHARED to the folder of them"
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
