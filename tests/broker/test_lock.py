"""The committed lock and its form."""

from importlib.resources import files

import pytest

from turnlog.broker.lock import Jar, Lock, committed_lock, lock_text, parse_lock


def test_the_committed_lock_has_kafka_4_4_and_a_log_binding_for_its_slf4j() -> None:
    lock = committed_lock()
    assert lock.kafka == "4.4.0"
    assert len(lock.jars) == 45
    versions = {jar.artifact: jar.version for jar in lock.jars}
    assert versions["kafka_2.13"] == versions["kafka-clients"] == "4.4.0"
    assert versions["slf4j-simple"] == versions["slf4j-api"]


def test_the_committed_lock_names_no_address() -> None:
    text = files("turnlog.broker").joinpath("kafka.lock.toml").read_text("utf-8")
    assert "://" not in text
    assert parse_lock(lock_text("4.4.0", parse_lock(text).jars)) == committed_lock()
    assert lock_text("4.4.0", committed_lock().jars) == text


@pytest.mark.parametrize(
    "jars",
    [
        [],
        [Jar("g:a:1", "0" * 63)],
        [Jar("g:a", "0" * 64)],
        [Jar("../x:a:1", "0" * 64)],
        [Jar("g:a:1", "0" * 64), Jar("g:a:1", "1" * 64)],
    ],
    ids=["none", "short hash", "no version", "a path", "twice"],
)
def test_a_damaged_lock_is_refused(jars: list[Jar]) -> None:
    with pytest.raises((ValueError, KeyError)):
        parse_lock(lock_text("1", jars))


def test_a_lock_is_written_sorted_and_read_back() -> None:
    jars = (Jar("g:b:1", "b" * 64), Jar("g:a:2", "a" * 64))
    assert parse_lock(lock_text("1.2", jars)) == Lock("1.2", jars[::-1])
