"""Our image is a Kafka that the store keeps its promises on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.containers.broker import node_environment
from tests.support.shared import REPO
from turnlog.broker import ensure_topics

COMPOSE = REPO / "infra" / "compose.yaml"


def test_topics_are_made_and_the_nodes_settings_are_accepted(
    containered: str, namespace: str
) -> None:
    ensured = ensure_topics(containered, namespace)
    assert (ensured.brokers, ensured.warnings) == (1, [])


def test_the_store_contract_holds_on_the_container(containered: str) -> None:
    contract = ["tests/session/test_store_contract.py", "-k", "kafka", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *contract],
        cwd=REPO,
        env={**os.environ, "KAFKA_BOOTSTRAP": containered},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-10_000:] + run.stderr[-2_000:]
    passed = re.search(r"(\d+) passed", run.stdout)
    assert passed is not None
    assert int(passed[1]) > 30


def test_the_compose_file_is_sound_and_sets_what_the_product_needs() -> None:
    said = compose("config")
    needed = node_environment()
    for name in (
        "MESSAGE_MAX_BYTES",
        "AUTO_CREATE_TOPICS_ENABLE",
        "UNCLEAN_LEADER_ELECTION_ENABLE",
    ):
        value = needed[f"KAFKA_{name}"]
        assert re.search(rf"KAFKA_{name}: ['\"]?{re.escape(value)}['\"]?$", said, re.MULTILINE), (
            name
        )
    assert "127.0.0.1" in said


def compose(*arguments: str) -> str:
    """Run whichever compose is there."""
    command = ["docker-compose"] if shutil.which("docker-compose") else ["docker", "compose"]
    if command[0] != "docker-compose" and not shutil.which("docker"):
        if os.environ.get("CI"):
            pytest.fail("no docker-compose")
        pytest.skip("no docker-compose")
    run = subprocess.run(
        [*command, "--file", str(COMPOSE), *arguments], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
