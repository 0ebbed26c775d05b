"""The `turnlog` command as a user meets it: version, help, and one line for what went wrong."""

from __future__ import annotations

import importlib.metadata
import os
import socket
import subprocess
import sys
from itertools import pairwise, takewhile

import pytest

from turnlog.broker import DEFAULT_NAMESPACE
from turnlog.cli.cluster import reach
from turnlog.cli.main import EXIT_CODES
from turnlog.events import BrokerError, BrokerUnavailable

COMMANDS = [[], ["demo"], ["demo-reader"]]
PATIENCE_S = 120.0  # far above what a run here takes


def turnlog(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "turnlog.cli", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **env},
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.fixture
def dead_address() -> str:
    """An address where nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{held.getsockname()[1]}"


def test_the_version_is_the_distributions() -> None:
    done = turnlog("--version")
    version = importlib.metadata.version("turnlog")
    assert (done.stdout, done.stderr, done.returncode) == (f"turnlog {version}\n", "", 0)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_is_asked_for_in_short_and_in_long(command: list[str]) -> None:
    short, long = turnlog(*command, "-h"), turnlog(*command, "--help")
    assert short.returncode == long.returncode == 0
    assert short.stdout == long.stdout
    assert short.stdout.startswith(" ".join(["Usage: turnlog", *command]))


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_fills_the_terminals_lines_and_overflows_none(
    command: list[str], columns: int
) -> None:
    lines = turnlog(*command, "--help", COLUMNS=str(columns)).stdout.splitlines()
    widest = max(map(len, lines))
    assert widest <= min(columns, 80)
    prose = takewhile(lambda line: line not in {"Options:", "Arguments:"}, lines)
    for line, following in pairwise(prose):
        if line and following:
            assert len(f"{line} {following.split()[0]}") > min(columns, 80) - 2, line


def test_the_demos_help_names_the_variable_and_an_example() -> None:
    said = turnlog("demo", "--help").stdout
    assert "KAFKA_BOOTSTRAP" in said
    assert "\n  Example: turnlog demo\n" in said


def test_a_wrong_option_is_said_in_plain_text() -> None:
    done = turnlog("-x")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "Error: No such option: -x"


def test_an_unreachable_cluster_is_one_line_with_address_and_variable(dead_address: str) -> None:
    done = turnlog("demo", KAFKA_BOOTSTRAP=dead_address)
    assert done.returncode == EXIT_CODES[BrokerError] == 5
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"turnlog: no Kafka answered at {dead_address} within 10 s")
    assert "KAFKA_BOOTSTRAP" in line


@pytest.mark.parametrize("address", ["no.such.host.invalid:9092", "a b", ":", "127.0.0.1:99999"])
def test_an_address_that_is_none_is_unavailable(address: str) -> None:
    with pytest.raises(BrokerUnavailable, match="KAFKA_BOOTSTRAP"):
        reach({"KAFKA_BOOTSTRAP": f" {address} "}, timeout_s=0.2)


def test_a_cluster_that_answers_is_taken_as_it_was_named(kafka: str) -> None:
    assert reach({"KAFKA_BOOTSTRAP": kafka}) == kafka


def test_the_demo_shows_the_session_that_it_wrote(kafka: str) -> None:
    if os.environ.get("KAFKA_BOOTSTRAP", "").strip():
        pytest.skip(f"it would write to the namespace {DEFAULT_NAMESPACE} of your cluster")
    done = turnlog("demo", KAFKA_BOOTSTRAP=kafka)
    assert (done.returncode, done.stderr) == (0, "")
    assert "A second process, which shares nothing with this one" in done.stdout
    assert "assistant It says that you should buy milk." in done.stdout
    assert "breaches: 0" in done.stdout
