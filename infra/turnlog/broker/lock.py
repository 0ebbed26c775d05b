"""The committed lock: which jars are Apache Kafka, byte for byte."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

_SHA256 = re.compile(r"[0-9a-f]{64}")
_COORDINATE = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+")

_HEAD = """\
# Apache Kafka and a log binding for it: what the embedded broker's class path is made of.
# Written by `python -m turnlog.broker.relock VERSION`; coordinates and SHA-256 only, so that
# any Maven repository or mirror can serve the files and none has to be trusted.
"""


@dataclass(frozen=True)
class Jar:
    """One locked file: ``group:artifact:version`` and its SHA-256 in lower-case hex."""

    coordinate: str
    sha256: str

    @property
    def group(self) -> str:
        """Maven's group."""
        return self.coordinate.split(":")[0]

    @property
    def artifact(self) -> str:
        """Maven's artifact."""
        return self.coordinate.split(":")[1]

    @property
    def version(self) -> str:
        """Maven's version."""
        return self.coordinate.split(":")[2]

    @property
    def file_name(self) -> str:
        """The name in the cache: the coordinate, so that no two jars of one lock share it."""
        return f"{self.group}.{self.artifact}-{self.version}.jar"


@dataclass(frozen=True)
class Lock:
    """A version of Kafka and all its jars, in the order of the class path."""

    kafka: str
    jars: tuple[Jar, ...]


def parse_lock(text: str) -> Lock:
    """Read a lock's TOML.

    Raises:
        ValueError: not a lock: the package is damaged, or was edited by hand.
    """
    data = tomllib.loads(text)
    jars = tuple(Jar(str(each["coordinate"]), str(each["sha256"])) for each in data["jar"])
    for jar in jars:
        if not _COORDINATE.fullmatch(jar.coordinate) or not _SHA256.fullmatch(jar.sha256):
            raise ValueError(f"kafka.lock.toml: expected coordinate and SHA-256, found {jar}")
    if not jars or len({jar.file_name for jar in jars}) != len(jars):
        raise ValueError("kafka.lock.toml: expected each jar once, and one at least")
    return Lock(str(data["kafka"]), jars)


def lock_text(kafka: str, jars: Iterable[Jar]) -> str:
    """Write a lock's TOML, sorted by coordinate: :func:`parse_lock` reads it back."""
    lines = [_HEAD, f'kafka = "{kafka}"\n']
    lines += (
        f'\n[[jar]]\ncoordinate = "{jar.coordinate}"\nsha256 = "{jar.sha256}"\n'
        for jar in sorted(jars, key=lambda each: each.coordinate)
    )
    return "".join(lines)


def committed_lock() -> Lock:
    """Read the lock that this package ships."""
    return parse_lock(files("turnlog.broker").joinpath("kafka.lock.toml").read_text("utf-8"))
