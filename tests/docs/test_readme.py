"""What the README shows runs and prints what it says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import turnlog.cli
from tests.docs.markdown import Block, code_in, page, sections
from tests.support.shared import REPO
from turnlog.session import Session

README = page("README.md")
SECTIONS = sections(README)
PATIENCE_S = 120.0  # far above what a run here takes
SOURCES = ("schemas", "producers", "infra", "tests")


def blocks(section: str, info: str) -> list[str]:
    return [block.text for block in SECTIONS[section].blocks if block.info == info]


def run(*command: str | Path, cwd: Path = REPO, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def script(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# --- its programs --------------------------------------------------------------------------------


def test_every_block_is_of_a_kind_that_is_run_here() -> None:
    shown: list[tuple[str, Block]] = [
        (section.title, block) for section in SECTIONS.values() for block in section.blocks
    ]
    assert [(title, block.info) for title, block in shown] == [
        ("turnlog", ""),  # the picture
        ("Install and run", "sh"),
        ("Fifteen lines", "python"),
        ("Fifteen lines", ""),
        ("Kill and resume", "python"),
        ("Kill and resume", "python"),
        ("Kill and resume", ""),
        ("On Kafka", "python"),
    ]


def test_the_example_prints_what_the_readme_says_once(tmp_path: Path) -> None:
    (example,), (printed,) = blocks("Fifteen lines", "python"), blocks("Fifteen lines", "")
    hello = script(tmp_path, "hello.py", example)
    done = run(sys.executable, hello, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (printed, "")
    again = run(sys.executable, hello, cwd=tmp_path)
    assert again.returncode == 1
    assert "SessionExists" in again.stderr


def test_a_killed_session_is_resumed_as_the_readme_says(tmp_path: Path) -> None:
    killed, resumed = blocks("Kill and resume", "python")
    (printed,) = blocks("Kill and resume", "")
    died = run(sys.executable, script(tmp_path, "killed.py", killed), cwd=tmp_path)
    assert (died.returncode, died.stdout, died.stderr) == (-signal.SIGKILL, "", "")
    resume = script(tmp_path, "resume.py", resumed)
    for attempt in ("the first", "a second, which has nothing to repair"):
        done = run(sys.executable, resume, cwd=tmp_path)
        assert (done.stdout, done.stderr) == (printed, ""), attempt


def test_a_folder_needs_no_take_over_from_the_dead(tmp_path: Path) -> None:
    killed, resumed = blocks("Kill and resume", "python")
    run(sys.executable, script(tmp_path, "killed.py", killed), cwd=tmp_path)
    assert ", take_over=True" in resumed
    polite = script(tmp_path, "resume.py", resumed.replace(", take_over=True", ""))
    assert run(sys.executable, polite, cwd=tmp_path).returncode == 0


def test_the_example_on_kafka_runs(kafka: str, tmp_path: Path) -> None:
    if os.environ.get("KAFKA_BOOTSTRAP", "").strip():
        pytest.skip("it would write to the namespace turnlog of your cluster")
    (example,) = blocks("On Kafka", "python")
    path = script(tmp_path, "kafka.py", example)
    done = run(sys.executable, path, cwd=tmp_path, KAFKA_BOOTSTRAP=kafka)
    assert (done.stdout, done.stderr) == ("1 event is durable on Kafka\n", "")


# --- its commands --------------------------------------------------------------------------------


def test_every_line_for_the_shell_is_a_make_target_or_the_command() -> None:
    (lines,) = blocks("Install and run", "sh")
    commands = [line.partition("#")[0].split() for line in lines.splitlines()]
    assert commands == [["make", "demo"], ["make", "test"], [".venv/bin/turnlog", "--help"]]
    done = run(sys.executable, "-m", turnlog.cli.__name__, *commands[-1][1:])
    assert done.returncode == 0


def test_every_make_command_that_it_names_can_be_made() -> None:
    named = set(re.findall(r"make ([a-z-]+)", README))
    assert {"demo", "test", "test-all", "bench", "soak", "venv"} <= named
    makefile = page("Makefile")
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
        done = run("make", "--dry-run", target)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("target", "setting", "command"),
    [
        ("bench", "ONLY=append", "-m bench.run append"),
        ("soak", "N=2", "-m bench.soak 2"),
    ],
)
def test_the_settings_of_a_target_reach_its_command(
    target: str, setting: str, command: str
) -> None:
    assert f"`{setting}`" in README
    assert command in run("make", "--dry-run", target, setting).stdout
    assert (REPO / "bench/append.py").is_file()


def test_the_conformance_command_takes_other_files() -> None:
    rows = SECTIONS["Development"].table("command", "does")
    (command,) = (row["command"] for row in rows if "conformance" in row["command"])
    (line,) = code_in(command)
    sample = REPO / "tests/conformance/sample"
    for shown, file in (
        ("--logs FILE", f"--logs {sample}/logs.jsonl"),
        ("--chunk-rows FILE", f"--chunk-rows {sample}/chunk-rows.jsonl"),
        ("--recorded DIR", f"--recorded {sample}/recorded"),
    ):
        assert shown in line
        line = line.replace(shown, file)
    program, *arguments = line.split()
    assert program == ".venv/bin/pytest"
    pytest_only = ("-m", "pytest", "-p", "no:cacheprovider", "--collect-only")
    done = run(sys.executable, *pytest_only, *arguments)
    assert done.returncode == 0, done.stdout


# --- its names -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\b(?:KAFKA|TURNLOG)_[A-Z]+\b", README))))
def test_every_variable_that_it_names_is_read(name: str) -> None:
    files = (path for root in SOURCES for path in (REPO / root).rglob("*.py"))
    readers = [
        p for p in files if f'"{name}"' in p.read_text(encoding="utf-8") and p != Path(__file__)
    ]
    assert readers


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\bsession\.(\w+)\(", README))))
def test_every_method_of_a_session_that_it_calls_exists(name: str) -> None:
    assert callable(getattr(Session, name))


def test_every_package_lies_in_the_folder_that_the_table_says() -> None:
    rows = SECTIONS["Packages"].table("import", "folder", "owns")
    assert rows
    for row in rows:
        (package,), (folder,) = code_in(row["import"]), code_in(row["folder"])
        assert (REPO / folder / package.replace(".", "/") / "__init__.py").is_file(), package


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", README))
def test_every_file_that_it_links_to_exists(link: str) -> None:
    assert (REPO / link).is_file()
