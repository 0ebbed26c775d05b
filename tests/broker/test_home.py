"""Where a broker lives, and homes that can't be lived in."""

import errno
import threading
from pathlib import Path

import pytest

from turnlog.broker import EmbeddedBroker, HomeUnusable
from turnlog.broker.errors import BrokerUnavailable
from turnlog.broker.home import MIN_FREE_BYTES, exclusive, home_of, prepare, refuse_full, writing

USER = Path("/home/ada")


@pytest.mark.parametrize(
    ("env", "path"),
    [
        ({}, "/home/ada/.local/share/turnlog"),
        ({"XDG_DATA_HOME": "/data"}, "/data/turnlog"),
        ({"XDG_DATA_HOME": "relative"}, "/home/ada/.local/share/turnlog"),
        ({"XDG_DATA_HOME": "/data", "TURNLOG_HOME": "/srv/log"}, "/srv/log"),
        ({"TURNLOG_HOME": ""}, "/home/ada/.local/share/turnlog"),
    ],
)
def test_the_home_is_named_or_lies_with_the_user_s_data(env: dict[str, str], path: str) -> None:
    home = home_of(env, USER)
    assert home.path == Path(path)
    assert home.jars == Path(path) / "jars"
    assert {home.settings.parent, home.data.parent, home.log.parent, home.state.parent} == {
        home.path
    }


def test_paths_given_win_and_jars_may_lie_elsewhere() -> None:
    env = {"TURNLOG_HOME": "/srv/log", "TURNLOG_JARS": "/opt/jars"}
    assert home_of(env, USER).jars == Path("/opt/jars")
    given = home_of(env, USER, Path("/a"), Path("/b"))
    assert (given.path, given.jars) == (Path("/a"), Path("/b"))


def test_a_home_where_a_file_stands_is_refused_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HomeUnusable, match="TURNLOG_HOME") as caught:
        EmbeddedBroker(tmp_path / "file" / "home").start()
    assert caught.value.path == tmp_path / "file" / "home"


@pytest.mark.parametrize(
    ("home", "jars", "variable"),
    [
        ("a,b", None, "TURNLOG_HOME"),
        ("a:b", None, "TURNLOG_HOME"),
        ("a", "b:c", "TURNLOG_JARS"),
    ],
)
def test_a_path_that_kafka_would_read_as_two_is_refused_by_the_name_of_its_variable(
    tmp_path: Path, home: str, jars: str | None, variable: str
) -> None:
    place = home_of({}, USER, tmp_path / home, None if jars is None else tmp_path / jars)
    with pytest.raises(HomeUnusable, match=f"a path without .*set {variable} to") as caught:
        prepare(place)
    assert caught.value.variable == variable


def test_a_disk_that_is_nearly_full_is_refused_with_what_is_needed() -> None:
    refuse_full(USER, MIN_FREE_BYTES)
    with pytest.raises(HomeUnusable, match="expected 256 MiB free on its disk, found 255 MiB"):
        refuse_full(USER, MIN_FREE_BYTES - 1)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named_as_one(number: int) -> None:
    with pytest.raises(HomeUnusable, match="the disk is full"), writing(USER):
        raise OSError(number, "no")


def test_a_lock_that_is_held_is_waited_for_and_then_given_up(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    entered = threading.Event()
    with exclusive(lock, None):
        held = pytest.raises(BrokerUnavailable, match="another start or stop")
        with held, exclusive(lock, 0.0):
            pass

        def wait() -> None:
            with exclusive(lock, None):
                entered.set()

        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not entered.is_set()
    waiting.join()
    assert entered.is_set()
