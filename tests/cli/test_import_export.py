"""`turnlog import` and `turnlog export` as a user meets them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import turnlog
from tests.cli.terminal import in_terminal
from tests.importers.files import compressed, event, header, lines, session_text, write

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def command(kafka: str, namespace: str) -> Command:
    """Runs the command on a log of its own."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return turnlog(*map(str, arguments), KAFKA_BOOTSTRAP=kafka, TURNLOG_NAMESPACE=namespace)

    return run


def objects(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_dry_run_imports_nothing_and_says_what_would_be(command: Command, tmp_path: Path) -> None:
    write(tmp_path, session_text(3, "a"), "a.jsonl")
    write(tmp_path, session_text(2, "b") + b"bad\n", "b.jsonl")
    dry = objects(command("import", tmp_path, "--dry-run", "--prefix", "--json"))
    assert {each["outcome"] for each in dry[:-1]} == {"imported", "prefix"}
    assert dry[-1]["eventsAdded"] == 5
    assert command("sessions").stdout == ""
    said = command("import", tmp_path, "--dry-run").stdout
    assert "1 sessions: 3 events to add, 0 there before" in said
    assert objects(command("import", tmp_path, "--prefix", "--json"))[-1]["eventsAdded"] == 5


def test_recovering_shows_both_rows_and_all_damage(command: Command, tmp_path: Path) -> None:
    text = session_text(3) + lines([event(2, "other")]) + b"bad\n" + lines([event(5)])
    write(tmp_path, compressed(text), "s.jsonl.zst")
    first, summary = objects(command("import", tmp_path, "--recover", "--json"))
    found = first["recovered"]
    assert (found["rows"], found["soundRows"], found["soundEvents"]) == (5, 3, 3)
    (double,) = found["doubles"]
    assert (double["first"], double["end"]) == (2, 3)
    assert (double["earlier"]["line"], double["later"]["line"]) == (4, 5)
    assert (double["earlier"]["frame"], double["later"]["frame"]) == (4, 5)
    assert [(each["line"], each["frame"]) for each in found["damage"]] == [(6, 6)]
    assert [(each["first"], each["end"]) for each in found["gaps"]] == [(3, 5)]
    assert (summary["refused"], summary["eventsAdded"]) == (1, 0)
    said = command("import", tmp_path, "--recover")
    assert said.returncode == 1
    assert "seqs 2 to 3 (exclusive) twice: line 4 of frame 4, bytes" in said.stdout
    assert "seqs 3 to 5 (exclusive) are not there, before line 7" in said.stdout
    assert "damage: line 6, bytes" in said.stdout


def test_a_file_that_differs_is_a_conflict_and_exits_with_1(
    command: Command, tmp_path: Path
) -> None:
    path = write(tmp_path, session_text(3))
    assert command("import", path).returncode == 0
    write(tmp_path, lines([header(), event(0), event(1, "\x1b[2Jother")]))
    done = command("import", path)
    assert done.returncode == 1
    assert done.stdout.startswith(f"conflict: {path}: session 's' is stored already")
    assert "at seq 1" in done.stdout


def test_the_same_file_named_twice_is_one(command: Command, tmp_path: Path) -> None:
    path = write(tmp_path, session_text(3))
    assert objects(command("import", path, tmp_path, path, "--json"))[-1]["files"] == 1


def test_a_pipe_gets_no_progress_bar(command: Command, tmp_path: Path) -> None:
    write(tmp_path, session_text(3))
    assert command("import", tmp_path).stderr == ""
    assert command("export", "--all", "--to", tmp_path / "out").stderr == ""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)
def test_an_import_that_is_stopped_says_what_was_done_and_goes_on_later(
    command: Command, kafka: str, namespace: str, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    count = 800
    for each in range(count):
        write(tmp_path, session_text(10, f"s{each}"), f"s{each:04}.jsonl")
    shown = in_terminal(
        "import",
        str(tmp_path),
        interrupt_at=f"/{count}",
        signal_number=number,
        KAFKA_BOOTSTRAP=kafka,
        TURNLOG_NAMESPACE=namespace,
    )
    assert shown.code == code, shown.text
    assert "Traceback" not in shown.text
    said = re.search(r"(\d+) files were not imported", shown.text)
    assert said is not None, shown.text
    done = count - int(said[1])
    listed = objects(command("sessions", "--json"))
    assert len(listed) == done
    assert all(each["released"] and each["nextSeq"] == 10 for each in listed)
    summary = objects(command("import", tmp_path, "--json"))[-1]
    assert (summary["imported"], summary["present"]) == (count - done, done)


def test_a_tree_with_a_damaged_child_exports_nothing(command: Command, tmp_path: Path) -> None:
    child = lines([header("c", parentSession="s", seedLength=1), event(0)])
    write(tmp_path, session_text(1), "s.jsonl")
    path = write(tmp_path, child + b"bad\n", "c.jsonl")
    out = tmp_path / "out"
    done = command("export", "s", "--tree", "--from", tmp_path, "--to", out)
    assert done.returncode == 3
    assert done.stderr.startswith("turnlog: the tree of 's' is not whole: 'c'")
    assert not out.exists()
    path.write_bytes(child)
    assert command("export", "s", "--tree", "--from", tmp_path, "--to", out).returncode == 0
    assert sorted(each.name for each in out.iterdir()) == ["c.jsonl", "s.jsonl"]
    assert command("export", "--all", "--tree", "--from", path, "--to", out).returncode == 3


def test_files_leave_in_any_form_without_a_broker(command: Command, tmp_path: Path) -> None:
    source = write(tmp_path, session_text(3))
    (plain,) = objects(
        turnlog("export", "s", "--from", str(source), "--to", str(tmp_path / "a"), "--json")
    )
    assert plain == {"session": "s", "file": str(tmp_path / "a" / "s.jsonl"), "events": 3}
    out = str(tmp_path / "b")
    done = turnlog("export", "--all", "--from", str(source), "--to", out, "--zstd", "--unpacked")
    assert done.stdout == f"s\t{out}/s.jsonl.zst\t3 events\n"
    assert turnlog("export", "s", "--all", "--to", out).returncode == 2
