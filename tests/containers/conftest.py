"""Docker, our image and a node in a container, once for all tests of a module."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.containers.broker import build_image, running_container


@pytest.fixture(scope="session")
def docker_answers() -> None:
    """Skip where no Docker answers, but fail in CI."""
    try:
        command = ["docker", "version", "--format", "{{.Server.Version}}"]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
        reason = run.stderr.strip() if run.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = str(error)
    if reason and os.environ.get("CI"):
        pytest.fail(f"no Docker: {reason}")
    if reason:
        pytest.skip(f"no Docker: {reason}")


@pytest.fixture(scope="session")
def image(docker_answers: None) -> str:
    """The image to test: TURNLOG_KAFKA_IMAGE, else ours, built now."""
    return os.environ.get("TURNLOG_KAFKA_IMAGE", "").strip() or build_image()


@pytest.fixture(scope="module")
def containered(image: str) -> Iterator[str]:
    """The address of a node in a container."""
    with running_container(image) as address:
        yield address
