"""The record of the broker that runs in a home, by which other processes find it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from turnlog.broker.home import writing
from turnlog.broker.process import is_alive

# Raise it when a field changes its meaning; a record of another format counts as none, and the
# lock that Kafka itself holds on its data folder then keeps two brokers apart.
_FORMAT = 1


@dataclass(frozen=True)
class Running:
    """A broker that was started here.

    ``process`` and ``owner_process`` tell these processes from later ones with the same number.
    ``owner_pid`` is the process the broker dies with, ``None`` if it is detached.
    """

    bootstrap: str
    pid: int
    process: str
    client_port: int
    controller_port: int
    cluster_id: str
    kafka: str
    owner_pid: int | None
    owner_process: str | None

    @property
    def alive(self) -> bool:
        """Whether its process still runs."""
        return is_alive(self.pid, self.process)

    @property
    def doomed(self) -> bool:
        """Whether the process it dies with is gone: it still runs, but ends any moment."""
        if self.owner_pid is None or self.owner_process is None:
            return False
        return not is_alive(self.owner_pid, self.owner_process)


def encode_state(running: Running) -> str:
    """Write the record as JSON."""
    return json.dumps({"format": _FORMAT, **asdict(running)}, indent=1) + "\n"


def decode_state(text: str) -> Running | None:
    """Read a record; ``None`` for one that is not whole or of another format."""
    try:
        data = json.loads(text)
        if data.pop("format") != _FORMAT:
            return None
        running = Running(**data)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    numbers = (running.pid, running.client_port, running.controller_port)
    return running if all(isinstance(each, int) for each in numbers) else None


def read_state(path: Path) -> Running | None:
    """Read the last broker's record, whether it still runs or not; ``None`` if none can be read."""
    try:
        return decode_state(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def write_state(path: Path, running: Running) -> None:
    """Replace the record as a whole: a reader sees the old or the new one.

    Raises:
        HomeUnusable: the home can't be written to.
    """
    with writing(path.parent):
        new = path.with_suffix(".new")
        new.write_text(encode_state(running), "utf-8")
        new.replace(path)
