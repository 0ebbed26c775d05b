"""The commands that write, on Kafka: append, fork, repair, import, export; and how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import turnlog
from tests.cli.sessions import ODD_ID, fill, fill_hostile
from tests.cli.terminal import in_terminal
from tests.importers.files import session_text, write
from turnlog.broker import ensure_topics
from turnlog.log import LOG_START, KafkaSettings, KafkaStore, PartitionLog
from turnlog.session import SessionStore

Command = Callable[..., subprocess.CompletedProcess[str]]
TITLE = {"title": "t", "sourceSeqs": [], "source": {"kind": "user"}}


@pytest.fixture
def command(kafka: str, namespace: str) -> Command:
    """Runs the command in a namespace of the test's own; `stdin` is what it reads."""

    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "turnlog.cli", *arguments, "--namespace", namespace],
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, "KAFKA_BOOTSTRAP": kafka},
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def store(kafka: str, namespace: str) -> Iterator[SessionStore]:
    ensure_topics(kafka, namespace, partitions=4)
    with KafkaStore(KafkaSettings(bootstrap=kafka, namespace=namespace)) as store:
        yield store


def draft(**more: Any) -> str:
    return json.dumps({"type": "session/title", "data": TITLE, **more}) + "\n"


def objects(done: subprocess.CompletedProcess[str]) -> list[Any]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


# --- append -------------------------------------------------------------------------------------


def test_lines_become_durable_events(command: Command) -> None:
    done = command("append", "s", "--create", "--json", stdin=draft() + "\n" + draft(time=7))
    assert [(each["seq"], each["type"]) for each in objects(done)] == [
        (0, "session/title"),
        (1, "session/title"),
    ]
    events = objects(command("show", "s", "--as", "events", "--json"))
    assert events[1]["time"] == 7
    (info,) = objects(command("sessions", "--json"))
    assert (info["session"], info["released"], info["title"]) == ("s", True, "t")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("garbage", "line 2"),
        ('{"type":"x"}', "line 2: draft.data"),
        ('{"type":"x","data":{},"more":1}', "line 2: draft"),
        ('{"type":"turn/start","data":{}}', "line 2"),
        ('{"type":"x","data":NaN}', "line 2"),
        ("[]", "line 2: draft: expected an object"),
    ],
)
def test_a_bad_line_is_named_and_what_stands_before_it_is_durable(
    command: Command, line: str, said: str
) -> None:
    done = command(
        "append", "s", "--create", "--batch", "50", stdin=draft() + line + "\n" + draft()
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout.splitlines() == ["0\tsession/title"]
    assert len(objects(command("show", "s", "--as", "events", "--json"))) == 1


def test_an_expected_seq_that_is_not_next_appends_nothing(command: Command) -> None:
    command("append", "s", "--create", stdin=draft())
    again = command("append", "s", "--expected-seq", "0", stdin=draft())
    assert (again.returncode, again.stdout) == (0, "0\tsession/title\n")  # it stands there
    other = draft(data={**TITLE, "title": "other"})
    done = command("append", "s", "--expected-seq", "0", stdin=other)
    assert (done.returncode, done.stdout) == (4, "")
    events = objects(command("show", "s", "--as", "events", "--json"))
    assert [each["data"] for each in events if each["type"] == "session/title"] == [TITLE]


def test_a_session_that_another_holds_is_refused_and_may_be_taken(
    command: Command, store: SessionStore
) -> None:
    held = store.create("s")
    done = command("append", "s", stdin=draft())
    assert done.returncode == 4
    assert held.head is not None
    assert held.head.writer in done.stderr
    assert command("append", "s", "--take-over", stdin=draft()).returncode == 0
    assert command("append", "nobody", stdin=draft()).returncode == 2


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "term"]
)
def test_a_signal_drains_and_names_how_far_it_is_durable(
    kafka: str, namespace: str, command: Command, number: signal.Signals, code: int
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "turnlog.cli", "append", "s", "--create", "--batch", "1000"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "KAFKA_BOOTSTRAP": kafka, "TURNLOG_NAMESPACE": namespace},
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(draft() * 1500)
        process.stdin.flush()
        printed = [process.stdout.readline()]  # the first batch is durable
        time.sleep(0.5)
        process.send_signal(number)
        printed += process.stdout.readlines()
        errors = process.stderr.read()
    assert process.returncode == code, errors
    assert len(printed) == 1500
    assert "durable below seq 1500" in errors
    (info,) = objects(command("sessions", "--json"))
    assert (info["nextSeq"], info["released"]) == (1500, True)


# --- fork, repair, verify -----------------------------------------------------------------------


def test_a_fork_and_its_lineage(command: Command, store: SessionStore) -> None:
    with store.create("s") as session:
        fill(session)
    (made,) = objects(command("fork", "s", "--at", "last-closed-turn", "--id", "f", "--json"))
    assert (made["session"], made["parent"]) == ("f", "s")
    assert command("lineage", "f").stdout.splitlines()[0].startswith("s  ")
    assert command("fork", "s", "--at", "999").returncode == 2
    done = command("verify")
    assert done.returncode == 0, done.stdout
    assert "all is well" in done.stdout


def test_a_repair_is_shown_before_it_is_made_and_made_once(
    command: Command, store: SessionStore
) -> None:
    session = store.create("s")
    fill(session)
    session.detach()
    before = len(objects(command("show", "s", "--as", "events", "--json")))
    planned = objects(command("repair", "s", "--dry-run", "--json"))
    assert [each["type"] for each in planned] == ["step/end", "turn/end"]
    assert len(objects(command("show", "s", "--as", "events", "--json"))) == before
    made = objects(command("repair", "s", "--json"))
    assert [each["type"] for each in made] == ["step/end", "turn/end", "session/end-seed"]
    assert objects(command("repair", "s", "--json")) == []
    assert "nothing is open" in command("repair", "s", "--dry-run").stderr


def test_what_a_log_holds_is_replayed_from_a_time_and_an_offset(
    command: Command, store: SessionStore
) -> None:
    with store.create("s") as session:
        session.append("session/title", TITLE)
    everything = objects(command("replay", "--time", "2020-01-01", "--json"))
    assert [each["kind"] for each in everything] == ["open", "events", "release"]
    partition = everything[0]["partition"]
    later = objects(command("replay", "--offset", f"{partition}:1", "--json"))
    assert [each["verdict"] for each in later] == ["accepted", "accepted"]
    assert later[0]["events"][0]["data"] == TITLE
    assert command("replay", "--offset", f"{partition}:99").returncode == 3
    assert command("replay", "--time", "yesterday").returncode == 2
    assert command("replay").returncode == 2


def test_a_session_is_followed_until_ctrl_c(
    kafka: str, namespace: str, store: SessionStore
) -> None:
    session = store.create("s")
    session.append("session/title", TITLE)
    session.append("turn/start", {"turn": 1})
    session.append(
        "user/message",
        {
            "id": "u",
            "role": "user",
            "source": {"kind": "user"},
            "content": [{"type": "text", "text": "hello there"}],
        },
        surface="append",
    )
    session.flush()
    shown = in_terminal(
        "replay",
        "s",
        "--follow",
        interrupt_at="hello there",
        KAFKA_BOOTSTRAP=kafka,
        TURNLOG_NAMESPACE=namespace,
    )
    assert shown.code == 130, shown.text
    assert "Traceback" not in shown.text


# --- files --------------------------------------------------------------------------------------


def test_files_come_in_once_and_a_bad_one_stops_no_other(command: Command, tmp_path: Path) -> None:
    write(tmp_path, session_text(3, "a"), "a.jsonl")
    write(tmp_path, session_text(2, "b") + b"garbage\n", "b.jsonl")
    done = command("import", str(tmp_path), "--json")
    assert done.returncode == 1
    *files, summary = map(json.loads, done.stdout.splitlines())
    assert {each["outcome"] for each in files} == {"imported", "refused"}
    assert (summary["files"], summary["sessions"], summary["eventsAdded"]) == (2, 1, 3)
    (bad,) = (each for each in files if each["outcome"] == "refused")
    assert "line 4, bytes" in bad["reason"]

    again = command("import", str(tmp_path), "--prefix", "--json")
    *files, summary = map(json.loads, again.stdout.splitlines())
    assert {each["outcome"] for each in files} == {"present", "prefix"}
    assert (summary["eventsAdded"], summary["eventsPresent"]) == (2, 3)
    (first, *_) = objects(command("replay", "--time", "2020-01-01", "--json"))
    assert first["kind"] == "open"
    assert command("import", str(tmp_path), "--check").returncode == 1
    assert command("import", str(tmp_path / "nothing")).returncode == 2


def test_a_prefix_is_marked_in_the_records_themselves(
    command: Command, kafka: str, namespace: str, tmp_path: Path
) -> None:
    path = write(tmp_path, session_text(2, "b") + b"garbage\n", "b.jsonl")
    command("import", str(path), "--prefix")
    settings = KafkaSettings(bootstrap=kafka, namespace=namespace)
    marks = []
    for partition in range(12):
        with PartitionLog(settings, partition, LOG_START) as log:
            commits = [record.verdict.commit for record in log.records()]
        marks += [each.writer_info.get("import") for each in commits if each and each.writer]
    assert marks == ["prefix", "prefix"]  # its open and its release


def test_a_whole_tree_leaves_and_comes_back(
    command: Command, store: SessionStore, tmp_path: Path
) -> None:
    with store.create("s") as session:
        fill(session)
    with store.fork("s", boundary="last-closed-turn", child_id="f"):
        pass
    fill_hostile(store)
    out = tmp_path / "out"
    exported = objects(command("export", "f", "--tree", "--zstd", "--to", str(out), "--json"))
    assert [each["session"] for each in exported] == ["s", "f"]
    assert command("export", ODD_ID, "--to", str(out)).returncode == 0
    assert command("export", "f", "--to", str(out), "--zstd").returncode == 2  # it exists
    assert command("export", "--to", str(out)).returncode == 2
    summary = objects(command("import", str(out), "--json"))[-1]
    assert (summary["present"], summary["eventsAdded"], summary["conflict"]) == (3, 0, 0)
    assert not list(out.glob(".*"))


# --- no broker ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["sessions"],
        ["show", "s"],
        ["append", "s"],
        ["import", "."],
        ["verify"],
        ["status"],
        ["topics"],
        ["up"],
    ],
    ids=lambda arguments: str(arguments[0]),
)
def test_without_a_kafka_each_says_so_in_one_line(
    arguments: list[str], dead_address: str, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_bytes(session_text())
    done = turnlog(*arguments, "--bootstrap", dead_address)
    assert (done.returncode, done.stdout) == (5, "")
    assert dead_address in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_namespace_without_topics_is_said_to_be_empty(command: Command) -> None:
    done = command("sessions")
    assert done.returncode == 5
    assert "turnlog up" in done.stderr
