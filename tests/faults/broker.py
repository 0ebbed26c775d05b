"""The embedded broker of the fault tests: stopped, killed, started again."""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.children import wait_until
from turnlog.broker import EmbeddedBroker, ensure_topics
from turnlog.broker.home import home_of

__all__ = ["Broker", "Outcome", "running_broker"]


@dataclass
class Outcome:
    """What a number of runs came to: `wrong` says each fault; `hits` and `times_s` by run."""

    runs: int = 0
    wrong: list[str] = field(default_factory=list)
    hits: Counter[str] = field(default_factory=Counter)
    times_s: list[float] = field(default_factory=list)


class Broker:
    """One node, of a process that may be killed."""

    def __init__(self, embedded: EmbeddedBroker) -> None:
        self._embedded = embedded
        self.bootstrap = embedded.bootstrap

    def new_namespace(self) -> str:
        """Make the topics of a namespace that no other run has."""
        namespace = f"faults-{uuid.uuid4().hex[:12]}"
        ensure_topics(self.bootstrap, namespace)
        return namespace

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Have its process stopped by SIGSTOP."""
        pid = self._pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    @contextmanager
    def killed(self) -> Iterator[None]:
        """Kill its process; it is started again at the end, at the same address."""
        os.kill(self._pid, signal.SIGKILL)
        wait_until(lambda: self._embedded.status() is None, "the broker's end")
        try:
            yield
        finally:
            if self._embedded.start() != self.bootstrap:
                raise RuntimeError("the broker has another address now")

    def pause(self, seconds: float) -> None:
        """Stop it for a time."""
        with self.stopped():
            time.sleep(seconds)

    @property
    def _pid(self) -> int:
        running = self._embedded.status()
        if running is None:
            raise ProcessLookupError("no broker")
        return running.pid


@contextmanager
def running_broker(home: Path) -> Iterator[Broker]:
    """A broker of its own, with an empty log: no other test is to feel its faults."""
    jars = home_of(os.environ, Path.home()).jars
    with EmbeddedBroker(home, jars=jars) as embedded:
        yield Broker(embedded)
