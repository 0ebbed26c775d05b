"""The options and the summary of the conformance runner; a plugin, loaded by tests/conftest.py."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

__all__ = ["TALLY", "Tally", "given_paths"]

_OPTIONS = ("logs", "chunk_rows", "recorded")


class Tally:
    """Counts of compared answers by file and op, and of wrong cases by file."""

    def __init__(self) -> None:
        self.answers: dict[str, Counter[str]] = {}
        self.wrong_cases: Counter[str] = Counter()

    def add(self, file: str, op: str, answers: int, wrong_cases: int) -> None:
        """Count one checked group."""
        self.answers.setdefault(file, Counter())[op] += answers
        self.wrong_cases[file] += wrong_cases


TALLY: pytest.StashKey[Tally] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "recorded answers for tests/conformance")
    for name, what in (
        ("--logs", "a file of logs or targeted cases"),
        ("--chunk-rows", "a file of packed chunk rows"),
        ("--recorded", "a folder of recorded sessions with its expect.jsonl"),
    ):
        group.addoption(
            name,
            action="append",
            default=[],
            type=Path,
            metavar="DIR" if name == "--recorded" else "FILE",
            help=f"{what}, plain or gzip, instead of the shared data; may be repeated",
        )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TALLY] = Tally()
    for name, paths in given_paths(config).items():
        for path in paths:
            wanted = path / "expect.jsonl" if name == "recorded" else path
            if not wanted.is_file():
                raise pytest.UsageError(f"--{name.replace('_', '-')}: no file {wanted}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    tally = terminalreporter.config.stash[TALLY]
    if not tally.answers:
        return
    terminalreporter.section("recorded answers")
    for file, ops in tally.answers.items():
        by_op = ", ".join(f"{op} {count}" for op, count in sorted(ops.items()))
        terminalreporter.line(
            f"{file}: {ops.total()} answers checked, "
            f"{tally.wrong_cases[file]} cases wrong ({by_op})"
        )


def given_paths(config: pytest.Config) -> dict[str, list[Path]]:
    """The paths that were given, by option, from where pytest was started; empty lists for none."""
    base = config.invocation_params.dir
    return {name: [base / path for path in config.getoption(name)] for name in _OPTIONS}
