"""Processes known by more than their number, and the record that names them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnlog.broker import HomeUnusable, Running
from turnlog.broker.process import end, identity, is_alive, parse_ps, parse_stat, wait_gone
from turnlog.broker.state import decode_state, encode_state, read_state, write_state

STUBBORN = (
    "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(600)"
)
WILLING = "import time; print(flush=True); time.sleep(600)"


def sleeper(program: str) -> "subprocess.Popen[bytes]":
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    return child


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    with sleeper(WILLING) as made:
        yield made
        made.kill()


def known(pid: int) -> str:
    found = identity(pid)
    assert found is not None
    return found


def test_a_process_has_one_identity_and_another_process_another(
    child: "subprocess.Popen[bytes]",
) -> None:
    assert known(child.pid) == known(child.pid)
    assert known(child.pid) != known(os.getpid())


def test_a_dead_process_is_gone_before_it_is_reaped(child: "subprocess.Popen[bytes]") -> None:
    mark = known(child.pid)
    assert not wait_gone(child.pid, mark, 0.0)
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert identity(child.pid) is None
    assert not is_alive(child.pid, mark)


def test_ending_asks_first_and_leaves_a_stranger_alone(child: "subprocess.Popen[bytes]") -> None:
    mark = known(child.pid)
    assert end(child.pid, "someone before", 0.0)
    assert is_alive(child.pid, mark)
    assert end(child.pid, mark, 30.0)
    assert child.wait() == -signal.SIGTERM
    assert end(child.pid, mark, 0.0)


def test_a_process_that_does_not_listen_is_killed() -> None:
    with sleeper(STUBBORN) as child:
        assert not end(child.pid, known(child.pid), 0.5)
        assert child.wait() == -signal.SIGKILL


def test_a_name_with_parentheses_does_not_shift_the_fields() -> None:
    rest = " ".join(str(n) for n in range(4, 53))
    assert parse_stat(f"7 (a) b (c)) S {rest}\n") == ("S", "22")


def test_the_answer_of_ps_is_read_elsewhere() -> None:
    assert parse_ps("Ss   Mon Sep 22 04:52:01 2026\n") == ("S", "Mon Sep 22 04:52:01 2026")
    assert parse_ps("") is None


def record(**changed: object) -> Running:
    fields: dict[str, object] = {
        "bootstrap": "127.0.0.1:1",
        "pid": os.getpid(),
        "process": known(os.getpid()),
        "client_port": 1,
        "controller_port": 2,
        "cluster_id": "c",
        "kafka": "4.4.0",
        "owner_pid": None,
        "owner_process": None,
    }
    return Running(**{**fields, **changed})  # type: ignore[arg-type]


def test_a_record_is_read_back_and_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "broker.json"
    assert read_state(path) is None
    write_state(path, record())
    write_state(path, record(client_port=7))
    assert read_state(path) == record(client_port=7)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{}", '{"format": 1}', '{"format": 2}', encode_state(record(pid="1"))],
)
def test_a_record_that_is_not_whole_counts_as_none(text: str) -> None:
    assert decode_state(text) is None


def test_a_broker_is_doomed_when_its_owner_is_gone() -> None:
    assert record().alive
    assert not record().doomed
    assert not record(owner_pid=os.getpid(), owner_process=known(os.getpid())).doomed
    assert record(owner_pid=os.getpid(), owner_process="someone before").doomed
    assert not record(process="someone before").alive


def test_a_record_that_cannot_be_written_is_an_error_of_the_home(tmp_path: Path) -> None:
    with pytest.raises(HomeUnusable):
        write_state(tmp_path / "none" / "broker.json", record())
