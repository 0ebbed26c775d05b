"""One Kafka node in a container: our image, or another with apache/kafka's contract."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Before the import, which reads them: no helper container to clean up, and ports by mapping.
os.environ["TESTCONTAINERS_RYUK_DISABLED"] = "true"
os.environ["TESTCONTAINERS_CONNECTION_MODE"] = "docker_host"

from testcontainers.core.container import DockerContainer

from tests.cluster.nodes import QUICK_AGAIN, new_cluster_id
from tests.support.shared import REPO
from turnlog.broker.admin import cluster_id, connect
from turnlog.broker.ports import listens
from turnlog.broker.process import identity, is_alive
from turnlog.broker.settings import HOST, Ports, server_settings

__all__ = ["build_image", "node_environment", "running_container"]

OWNER_LABEL = "turnlog.test-owner"
_PATIENCE_S = 60.0
_CLIENT, _CONTROLLER, _INSIDE = 9092, 9093, 9094
_DATA = "/var/lib/kafka/data"
_START = "/tmp/start"


def build_image() -> str:
    """Build our image; gives its name."""
    program = REPO / "infra" / "images" / "kafka" / "build.py"
    run = subprocess.run(
        [sys.executable, str(program)], stdout=subprocess.PIPE, text=True, check=True
    )
    return run.stdout.strip()


def node_environment() -> dict[str, str]:
    """The embedded node's settings as the image takes them, with a listener for itself."""
    settings = {
        **server_settings(Path(_DATA), Ports(_CLIENT, _CONTROLLER)),
        "listeners": (
            f"PLAINTEXT://:{_CLIENT},CONTROLLER://{HOST}:{_CONTROLLER},INSIDE://{HOST}:{_INSIDE}"
        ),
        "listener.security.protocol.map": (
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT"
        ),
        "inter.broker.listener.name": "INSIDE",
    }
    del settings["advertised.listeners"]  # not known before the port is
    return {
        "KAFKA_" + name.replace("_", "__").replace(".", "_").upper(): value
        for name, value in settings.items()
    }


@contextmanager
def running_container(image: str) -> Iterator[str]:
    """Have a node of its own in a container; gives its address on this machine."""
    remove_left()
    cluster = new_cluster_id()
    container = DockerContainer(image, env={**node_environment(), "CLUSTER_ID": cluster})
    # Docker takes an address with the port; testcontainers' own types know the port alone.
    container.ports[f"{_CLIENT}/tcp"] = (HOST, None)  # type: ignore[assignment]
    container.with_kwargs(labels={OWNER_LABEL: f"{os.getpid()} {identity(os.getpid())}"})
    wait = f"until [ -s {_START} ]; do sleep 0.05; done; exec bash {_START}"
    with container.with_command(["bash", "-c", wait]):
        address = f"{HOST}:{container.get_exposed_port(_CLIENT)}"
        advertised = f"PLAINTEXT://{address},INSIDE://{HOST}:{_INSIDE}"
        script = f"KAFKA_ADVERTISED_LISTENERS={advertised} exec /etc/kafka/docker/run\n"
        container.copy_into_container(script.encode("ascii"), _START)
        _await_answer(container, address, cluster)
        yield address


def remove_left() -> None:
    """Remove containers of ours whose test was killed: nobody else does. Others' stay."""
    shown = f'{{{{.ID}}}} {{{{.Label "{OWNER_LABEL}"}}}}'
    for line in _docker("ps", "--all", "--filter", f"label={OWNER_LABEL}", "--format", shown):
        container, pid, known = line.split(" ", 2)
        if not is_alive(int(pid), known):
            _docker("rm", "--force", "--volumes", container)


def _docker(*arguments: str) -> list[str]:
    command = ["docker", *arguments]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.splitlines()


def _await_answer(container: DockerContainer, address: str, cluster: str) -> None:
    admin = connect(address, QUICK_AGAIN)
    deadline = time.monotonic() + _PATIENCE_S
    port = int(address.rpartition(":")[2])
    # Docker's own proxy listens before the node does.
    while not listens(port) or cluster_id(admin, 1.0) != cluster:
        container.reload()
        said = b"".join(container.get_logs()).decode("utf-8", "replace")
        assert container.status == "running", said
        assert time.monotonic() < deadline, said
