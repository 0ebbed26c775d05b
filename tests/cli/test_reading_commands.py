"""The commands that read, over files and in terminals: what a person sees and a program gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tests.cli.command import turnlog
from tests.cli.sessions import HOSTILE, ODD_ID, fill, fill_hostile
from tests.cli.terminal import in_terminal
from turnlog.importers import export_log
from turnlog.session import FolderStore


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder of three sessions: s, its fork, and a hostile one."""
    folder = tmp_path_factory.mktemp("sessions")
    with FolderStore(tmp_path_factory.mktemp("store")) as store:
        with store.create("s") as session:
            fill(session)
        with store.fork("s", boundary="last-closed-turn", child_id="s-fork"):
            pass
        odd = fill_hostile(store)
        for id in ("s", "s-fork", odd):
            export_log(store.read(id), folder)
    return str(folder)


def values(*arguments: str) -> list[Any]:
    done = turnlog(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    return [json.loads(line) for line in done.stdout.splitlines()]


def text(*arguments: str) -> str:
    done = turnlog(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


EVERY = [
    ("sessions",),
    ("show", "SESSION"),
    ("show", "SESSION", "--as", "events"),
    ("show", "SESSION", "--as", "todo"),
    ("show", "SESSION", "--as", "statistics"),
    ("messages", "SESSION"),
    ("messages", "SESSION", "--turn", "1", "--step", "1", "--as", "request"),
    ("diff", "SESSION", "1:1", "1:1"),
    ("trace", "SESSION", "2"),
    ("lineage", "SESSION"),
    ("replay", "SESSION"),
    ("verify", "SESSION"),
]


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
@pytest.mark.parametrize("columns", [40, 200])
def test_nothing_in_a_log_acts_on_a_terminal(
    command: tuple[str, ...], columns: int, files: str
) -> None:
    arguments = [ODD_ID if each == "SESSION" else each for each in command]
    shown = in_terminal(*arguments, "--from", files, columns=columns)
    assert shown.code in (0, 1), shown.text
    for line in shown.text.split("\n"):
        plain = line.replace("\x1b[1m", "").replace("\x1b[0m", "")
        plain = plain.replace("\x1b[31m", "").replace("\x1b[33m", "")
        assert plain.isprintable() or "\t" in plain, ascii(line)


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_json_is_one_object_a_line_and_says_the_text_as_it_is(
    command: tuple[str, ...], files: str
) -> None:
    arguments = [ODD_ID if each == "SESSION" else each for each in command]
    done = turnlog(*arguments, "--from", files, "--json")
    assert done.returncode in (0, 1)
    assert done.stdout.isascii()
    for line in done.stdout.splitlines():
        assert isinstance(json.loads(line), dict)


@pytest.mark.parametrize("columns", [40, 200])
def test_a_table_keeps_to_the_terminals_width(columns: int, files: str) -> None:
    shown = in_terminal("sessions", "--from", files, columns=columns)
    lines = [line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in shown.text.split("\n")]
    assert max(map(cell_len, lines)) <= columns
    assert lines[0].split()[:2] == ["SESSION", "EVENTS"]


def test_colours_are_for_terminals_that_want_them(files: str) -> None:
    assert "\x1b[1m" in in_terminal("sessions", "--from", files).text
    assert "\x1b" not in in_terminal("sessions", "--from", files, NO_COLOR="1").text
    assert "\x1b" not in text("sessions", "--from", files)


def test_sessions_are_listed_with_title_and_parent(files: str) -> None:
    found = {value["session"]: value for value in values("sessions", "--from", files)}
    assert set(found) == {"s", "s-fork", ODD_ID}
    assert found["s"]["title"] == "What is due?"
    assert found[ODD_ID]["title"] == HOSTILE
    assert found["s-fork"]["header"]["parentSession"] == "s"
    assert len(values("sessions", "--from", files, "--limit", "1")) == 1
    assert [v["session"] for v in values("sessions", "--from", files, "--title", "EVIL")] == [
        ODD_ID
    ]


def test_the_transcript_shows_each_attempt_the_card_and_the_compaction(files: str) -> None:
    lines = text("show", "s", "--from", files).splitlines()
    cells = [line.split("\t")[1:] for line in lines]
    assert ["user", "What is due?"] in cells
    assert ["stream", "3 chunks, ended by its retry"] in cells
    assert ["stream", "3 chunks, ended by its message"] in cells
    assert ["tool", 'look {"at":"notes"} -> result: milk'] in cells
    assert ["compaction", "3 messages -> So far: milk."] in cells
    items = [value["item"] for value in values("show", "s", "--from", files)]
    assert items.count("StreamAttempt") == 3
    assert {"MessageItem", "ToolCard", "ReplaceMarker", "TurnEnd"} <= set(items)


def test_events_are_shown_as_they_are_stored(files: str) -> None:
    events = values("show", "s", "--as", "events", "--from", files, "--start", "1", "--end", "3")
    assert [event["seq"] for event in events] == [1, 2]
    assert events[0]["data"]["content"][0]["text"] == "What is due?"
    (todo,) = values("show", "s", "--as", "todo", "--from", files)
    assert todo["todos"] == [{"content": "buy milk", "status": "pending"}]
    assert "buy milk" in text("show", "s", "--as", "todo", "--from", files)
    (statistics,) = values("show", "s", "--as", "statistics", "--from", files)
    assert statistics["turns"] == 1


def test_messages_are_what_the_model_saw(files: str) -> None:
    now = values("messages", "s", "--from", files)
    assert [message["id"] for message in now] == ["s1", "u2"]
    then = values("messages", "s", "--turn", "1", "--step", "1", "--from", files)
    assert [message["id"] for message in then] == ["u1"]
    (request,) = values("messages", "s", "--seq", "3", "--as", "request", "--from", files)
    assert request["seq"] == 3
    assert request["header"]["system"] == "be brief"


def test_two_requests_share_what_stands_before_their_first_difference(files: str) -> None:
    (difference,) = values("diff", "s", "1:1.1", "2:1", "--from", files)
    assert (difference["shared"], difference["header"]) == (0, [])
    assert [message["id"] for message in difference["before"]] == ["u1"]
    assert [message["id"] for message in difference["after"]] == ["s1", "u2"]
    shown = text("diff", "s", "1:1.1", "1:1.2", "--from", files)
    assert "the first 1 messages are equal" in shown


def test_a_stream_that_was_tried_again_starts_anew_in_a_replay(files: str) -> None:
    lines = text("replay", "s", "--from", files).splitlines()
    streams = [line for line in lines if "1:1 text: " in line]
    assert [line.partition("text: ")[2] for line in streams] == [
        "Here is the plan",
        "Here is the plan: look",
    ]
    said = next(n for n, line in enumerate(lines) if "assistant   Here is the plan: look" in line)
    assert said > lines.index(streams[1])
    assert len(values("replay", "s", "--from", files, "--seq", "5")) > 5


def test_a_trace_and_a_lineage_are_the_kernels(files: str) -> None:
    (trace,) = values("trace", "s", "1", "--from", files)
    assert trace["surface"] == "shadowed"
    (family,) = values("lineage", "s-fork", "--from", files)
    assert (family["root"], family["ancestors"]) == ("s", ["s"])
    assert text("lineage", "s", "--from", files).splitlines()[1].startswith("  s-fork")


def test_files_are_verified_by_their_events_and_the_lack_of_a_chain_is_said(
    files: str, tmp_path: Path
) -> None:
    proof = values("verify", "--from", files)[-1]
    assert (proof["ok"], proof["sessions"]) == (True, 3)
    assert "no chain" in proof["unseen"][0]
    (tmp_path / "bad.jsonl").write_bytes(b"{}\n")
    done = turnlog("verify", "--from", str(tmp_path))
    assert done.returncode == 1
    assert "bad.jsonl" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["show", "nobody"], 2, "no session 'nobody'"),
        (["trace", "s", "999"], 2, "below"),
        (["messages", "s", "--turn", "9", "--step", "9"], 2, "no model call in step 9:9"),
        (["messages", "s", "--turn", "9"], 2, "--turn and --step"),
        (["diff", "s", "1", "2:1"], 2, "TURN:STEP"),
        (["lineage", "nobody"], 2, "nobody"),
        (["verify", "nobody"], 2, "nobody"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(
    arguments: list[str], code: int, said: str, files: str
) -> None:
    done = turnlog(*arguments, "--from", files)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_recorded_answers_are_what_the_commands_print(shared_dir: Path) -> None:
    folder = shared_dir / "recorded"
    lines = (folder / "expect.jsonl").read_text(encoding="utf-8").splitlines()
    compared = 0
    for line in lines[:6]:
        case = json.loads(line)
        expected, name = case["expect"], folder / case["file"]
        if not expected["restore"]["ok"]:
            continue
        (info,) = values("sessions", "--from", str(name))
        messages = values("messages", info["session"], "--from", str(name))
        assert messages == expected["restore"]["value"]["messages"]
        compared += 1
    assert compared
