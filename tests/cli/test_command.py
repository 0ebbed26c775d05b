"""The `turnlog` command as a user meets it: version, help, and one line for what went wrong."""

from __future__ import annotations

import importlib.metadata
from itertools import pairwise, takewhile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.command import turnlog
from turnlog.cli import commands as _commands  # noqa: F401 - adds the commands
from turnlog.cli.app import app
from turnlog.cli.cluster import reach
from turnlog.cli.exit_codes import EXIT_CODES
from turnlog.events import BrokerError, BrokerUnavailable, CallerError

NAMES = sorted(
    each.name or (each.callback.__name__ if each.callback else "")
    for each in app.registered_commands
)
COMMANDS = [[], *([name.replace("_", "-")] for name in NAMES)]


def help_of(command: list[str], option: str = "--help") -> str:
    """What a command says of itself, run in this process: there are many."""
    arguments = [*command, option]
    done = CliRunner().invoke(app, arguments, prog_name="turnlog", env={"COLUMNS": "80"})
    assert done.exit_code == 0
    return done.stdout


def test_the_version_is_the_distributions() -> None:
    done = turnlog("--version")
    version = importlib.metadata.version("turnlog")
    assert (done.stdout, done.stderr, done.returncode) == (f"turnlog {version}\n", "", 0)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_is_asked_for_in_short_and_in_long(command: list[str]) -> None:
    short, long = help_of(command, "-h"), help_of(command)
    assert short == long
    assert short.startswith(" ".join(["Usage: turnlog", *command]))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_overflows_no_line(command: list[str]) -> None:
    assert max(map(len, help_of(command).splitlines())) <= 80


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("command", [[], ["demo"], ["append"]], ids=" ".join)
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


@pytest.mark.parametrize("command", COMMANDS[1:], ids=" ".join)
def test_each_help_ends_with_an_example(command: list[str]) -> None:
    (name,) = command
    if name == "demo-process":  # no command of a user's
        return
    said = help_of(command)
    prose = said.partition("\n\nOptions:")[0].partition("\n\nArguments:")[0]
    assert prose.splitlines()[-1].startswith(f"  Example: turnlog {name}")


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


def test_an_address_that_is_no_text_is_one_line() -> None:
    done = turnlog("demo", KAFKA_BOOTSTRAP="\udcff")
    assert (done.stdout, done.returncode) == ("", 5)
    (line,) = done.stderr.splitlines()
    assert line == r"turnlog: KAFKA_BOOTSTRAP: expected host:port in UTF-8, found b'\xff'"


@pytest.mark.parametrize("name", ["é", "\udcff"])
def test_a_home_that_java_would_not_find_is_one_line(tmp_path: Path, name: str) -> None:
    home = tmp_path / name
    done = turnlog("demo", KAFKA_BOOTSTRAP="", TURNLOG_HOME=str(home), LC_ALL="C")
    assert done.returncode == 5
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"turnlog: {tmp_path}")
    assert line.endswith("; set TURNLOG_HOME to another folder")
    assert not home.exists()


def test_jars_that_java_would_not_find_are_said_to_be_the_jars(tmp_path: Path) -> None:
    env = {"TURNLOG_HOME": str(tmp_path / "home"), "TURNLOG_JARS": str(tmp_path / "é")}
    done = turnlog("demo", KAFKA_BOOTSTRAP="", LC_ALL="C", **env)
    assert done.returncode == 5
    (line,) = done.stderr.splitlines()
    assert line.endswith("; set TURNLOG_JARS to another folder")


def test_a_namespace_that_no_topic_can_bear_is_the_callers_fault(kafka: str) -> None:
    done = turnlog("demo", "--namespace", "a b", KAFKA_BOOTSTRAP=kafka)
    assert done.returncode == EXIT_CODES[CallerError] == 2
    (line,) = done.stderr.splitlines()
    assert "a b" in line


def test_an_unknown_role_is_a_usage_error() -> None:
    done = turnlog("demo-process", "dance", "h:1", "ns", "s")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("expected one of begin, intrude, go-on")
