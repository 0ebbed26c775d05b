"""The text that Kafka reads, and the texts that are read from it."""

from pathlib import Path

import pytest

from turnlog.broker.command import Tools, broker_command, format_command
from turnlog.broker.diagnosis import Cause, diagnose, read_end, tail
from turnlog.broker.home import home_of
from turnlog.broker.settings import (
    Ports,
    cluster_id_of,
    properties_text,
    server_settings,
)


def test_every_listener_is_on_this_machine_and_no_topic_makes_itself() -> None:
    settings = server_settings(Path("/h/data"), Ports(1111, 2222))
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:1111,CONTROLLER://127.0.0.1:2222"
    assert settings["advertised.listeners"] == "PLAINTEXT://127.0.0.1:1111"
    assert settings["controller.quorum.voters"] == "1@127.0.0.1:2222"
    assert settings["auto.create.topics.enable"] == "false"
    assert settings["unclean.leader.election.enable"] == "false"
    assert settings["message.max.bytes"] == "9437184"
    assert {v for k, v in settings.items() if k.endswith(("replication.factor", "min.isr"))} == {
        "1"
    }


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("/a b", "/a b"),
        (" x", "\\ x"),
        ("a\\b", "a\\\\b"),
        ("/grün/日", "/gr\\u00fcn/\\u65e5"),
        ("😀", "\\ud83d\\ude00"),
        ("a\nb", "a\\u000ab"),
    ],
)
def test_a_value_is_written_as_java_reads_it_back(value: str, written: str) -> None:
    assert properties_text({"k": value}) == f"k={written}\n"


def test_the_cluster_s_id_is_read_from_kafka_s_own_file() -> None:
    assert cluster_id_of("#\nversion=1\ncluster.id=abc-_1\n") == "abc-_1"
    assert cluster_id_of("version=1\n") is None


def test_both_commands_run_the_same_java_with_the_locked_jars_in_order() -> None:
    home = home_of({}, Path("/u"), Path("/h"))
    tools = Tools(Path("/jdk/bin/java"), (Path("/j/b.jar"), Path("/j/a.jar")))
    run, form = broker_command(tools, home), format_command(tools, home, "the-id")
    assert run[-2:] == ["kafka.Kafka", "/h/server.properties"]
    assert "kafka.tools.StorageTool" in form
    assert "the-id" in form
    for command in (run, form):
        assert command[0] == "/jdk/bin/java"
        assert command[command.index("-cp") + 1] == "/j/b.jar:/j/a.jar"
        assert "-Xmx384m" in command


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("java.net.BindException: Address already in use", Cause.PORT_TAKEN),
        ("java.io.IOException: No space left on device", Cause.DISK_FULL),
        ("Failed to acquire lock on file .lock in /h/data", Cause.DATA_IN_USE),
        ("Error: Could not create the Java Virtual Machine.", Cause.JAVA_REFUSED),
        ("something else", Cause.UNKNOWN),
        ("", Cause.UNKNOWN),
    ],
)
def test_a_cause_is_told_from_the_last_words(line: str, cause: Cause) -> None:
    assert diagnose(f"before\n{line}\nafter\n") is cause


def test_only_the_end_of_a_log_is_shown(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"line {n} {'x' * 500}\n" for n in range(1000)), "utf-8")
    shown = tail(read_end(log)).splitlines()
    assert len(shown) == 20
    assert shown[-1].startswith("line 999 ")
    assert max(map(len, shown)) == 400
    assert read_end(log, log.stat().st_size) == ""
    assert read_end(tmp_path / "none") == ""
