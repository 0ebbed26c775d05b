"""Every recorded answer, found again; a test is one op over one family of cases of a file."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.conformance.cases import BadFile, Case, read_cases, read_chunk_rows, read_recorded
from tests.conformance.groups import Group, check, groups_of
from tests.conformance.ops import OPS
from tests.conformance.options import TALLY, given_paths
from tests.support.shared import shared_path

_READERS = {"logs": read_cases, "chunk_rows": read_chunk_rows, "recorded": read_recorded}


class Absent:
    """Shared data that is not there: a test of its own, which skips, or fails in CI."""

    def __init__(self, what: str) -> None:
        self.id = f"no-{what}"
        self.reason = f"no {what} at {shared_path()}: set TURNLOG_SHARED to the folder of it"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "group" not in metafunc.fixturenames:
        return
    given = given_paths(metafunc.config)
    paths = {name: found for name, found in given.items() if found} or _shared()
    try:
        # The cases live as long as the run: else each collection of garbage walks them all.
        gc.disable()
        groups = groups_of(list(_cases(paths)))
        gc.freeze()
    except BadFile as error:
        raise pytest.UsageError(str(error)) from None
    finally:
        gc.enable()
    absent = [Absent(name.replace("_", "-")) for name, found in paths.items() if not found]
    metafunc.parametrize("group", [*groups, *absent], ids=lambda group: group.id)


def test_answers_of_turnlog_are_those_recorded(
    group: Group | Absent, pytestconfig: pytest.Config
) -> None:
    if isinstance(group, Absent):
        if os.environ.get("CI"):
            pytest.fail(group.reason, pytrace=False)
        pytest.skip(group.reason)
    result = check(group, OPS)
    pytestconfig.stash[TALLY].add(group.file, group.op, result.answers, result.wrong_cases)
    if result.report:
        pytest.fail(result.report, pytrace=False)


def _cases(paths: dict[str, list[Path]]) -> Iterator[Case]:
    for name, found in paths.items():
        for path, label in _labelled(found):
            yield from _READERS[name](path, label)


def _labelled(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Name each file by its name, and by its whole path where two bear the same name."""
    distinct = list(dict.fromkeys(paths))
    names = Counter(path.name for path in distinct)
    for path in distinct:
        yield path, path.name if names[path.name] == 1 else str(path)


def _shared() -> dict[str, list[Path]]:
    folder, recorded = shared_path() / "conformance", shared_path() / "recorded"
    files = sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])
    return {
        "logs": [path for path in files if not path.name.startswith("chunk-rows")],
        "chunk_rows": [path for path in files if path.name.startswith("chunk-rows")],
        "recorded": [recorded] if (recorded / "expect.jsonl").is_file() else [],
    }
