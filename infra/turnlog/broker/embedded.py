"""One Kafka node for this machine's processes: start it, find it, end it."""

from __future__ import annotations

import base64
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from turnlog.broker.admin import cluster_id, connect
from turnlog.broker.command import Tools, broker_command, format_command
from turnlog.broker.diagnosis import Cause, diagnose, read_end, tail
from turnlog.broker.errors import BrokerUnavailable, HomeUnusable, StartFailed
from turnlog.broker.home import Home, exclusive, home_of, is_full, prepare, writing
from turnlog.broker.jars import ensure_jars
from turnlog.broker.java import bundled_java, find_java, java_candidates
from turnlog.broker.launch import GRACE_S, Launched, launch, rotate, run_to_end
from turnlog.broker.lock import Lock, committed_lock
from turnlog.broker.ports import free_ports, listens
from turnlog.broker.process import end, identity, wait_gone
from turnlog.broker.settings import HOST, Ports, cluster_id_of, properties_text, server_settings
from turnlog.broker.state import Running, read_state, write_state

_PORT_TRIES = 3
_POLL_S = 0.02
_ANSWER_S = 1.0

# Brokers that this process started and that die with it. A dropped EmbeddedBroker must not end
# its broker under the clients that use it, so what holds the pipe open is kept here.
_kept: dict[Path, Launched] = {}


class EmbeddedBroker:
    """The broker of one home folder; there is at most one, whichever process started it.

    As a context manager it starts on entry, and on exit ends what it started itself, unless
    detached. Without ``detached`` the broker also ends when the process that started it does,
    however that ends, and other processes that found it lose it then: one that is found keeps the
    life that it was started with.
    """

    def __init__(
        self,
        home: Path | None = None,
        *,
        jars: Path | None = None,
        detached: bool = False,
        java: Path | None = None,
        lock: Lock | None = None,
        pick_ports: Callable[[Ports | None], Ports] = free_ports,
    ) -> None:
        """Name the home; nothing is started. Unset paths come from the environment.

        ``java`` is used instead of looking for one; it must be new enough. ``lock`` replaces the
        committed one.
        """
        self.home: Home = home_of(os.environ, Path.home(), home, jars)
        self.detached = detached
        self._java = java
        self._lock = lock
        self._pick_ports = pick_ports
        self._started = False

    def start(self, *, timeout_s: float = 60.0) -> str:
        """Give the address of this home's broker, ``127.0.0.1:port``, starting it if none runs.

        On return it answers and is this home's cluster. The first start of all fetches the jars,
        which ``timeout_s`` does not count; it bounds the wait for another start, and the start.

        Raises:
            JarMismatch, JarUnavailable: see :func:`turnlog.broker.jars.ensure_jars`.
            JavaUnavailable: see :func:`turnlog.broker.java.find_java`.
            HomeUnusable: the home can't be written to, or its disk is full.
            StartFailed: it ended or did not answer in time; shows the end of its log.
            BrokerUnavailable: one runs and does not answer, or another start never ended.
        """
        # Fetching may take minutes: before the lock. One that runs needs neither room nor Java.
        tools = None if self.status() else self._tools()
        with exclusive(self.home.lock, timeout_s):
            deadline = time.monotonic() + timeout_s
            running = self._find(deadline)
            if running is None:
                running = self._start(tools or self._tools(), deadline)
                self._started = True
        return running.bootstrap

    def status(self) -> Running | None:
        """Tell what runs in this home; ``None`` if nothing does. Reads two files, asks nobody."""
        running = read_state(self.home.state)
        return running if running is not None and running.alive else None

    def stop(self, *, timeout_s: float = GRACE_S) -> bool:
        """End this home's broker, whoever started it; tells whether there was one.

        On return it is gone and its log is closed; after ``timeout_s`` it is killed, and its next
        start recovers the log first.

        Raises:
            BrokerUnavailable: another start or stop went on all through ``timeout_s``.
        """
        if not self.home.path.exists():
            return False
        with exclusive(self.home.lock, timeout_s):
            running = self.status()
            if running is not None:
                end(running.pid, running.process, timeout_s)
            self._forget(timeout_s)
            self._started = False
        return running is not None

    def __enter__(self) -> Self:
        """Start it, or find it running."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it if this object started it to die with this process."""
        if self._started and not self.detached:
            self.stop()

    @property
    def bootstrap(self) -> str:
        """The address of the broker that runs here.

        Raises:
            BrokerUnavailable: none does.
        """
        running = self.status()
        if running is None:
            raise BrokerUnavailable(f"{self.home.path}: no broker runs here")
        return running.bootstrap

    def _tools(self) -> Tools:
        prepare(self.home)
        java = self._java
        candidates = [java] if java else java_candidates(os.environ, bundled_java())
        found = find_java(candidates)
        lock = self._lock or committed_lock()
        return Tools(found, tuple(ensure_jars(self.home.jars, lock)))

    def _find(self, deadline: float) -> Running | None:
        running = self.status()
        if running is None:
            return None
        if running.doomed:
            # Its owner is gone. It may still answer, but not for long: wait it out.
            wait_s = min(GRACE_S, deadline - time.monotonic())
            if not wait_gone(running.pid, running.process, wait_s):
                end(running.pid, running.process, GRACE_S)
            return None
        if self._answers(running, deadline):
            return running
        if self.status() is None:
            return None
        raise BrokerUnavailable(
            f"embedded broker: process {running.pid} runs in {self.home.path} and does not "
            "answer; stop it and start again"
        )

    def _start(self, tools: Tools, deadline: float) -> Running:
        self._forget(GRACE_S)
        rotate(self.home.log)
        last = read_state(self.home.state)
        wanted = Ports(last.client_port, last.controller_port) if last else None
        cluster = self._format(tools)
        cause: Cause | None = Cause.PORT_TAKEN
        for _ in range(_PORT_TRIES):
            running, cause = self._try(tools, self._pick_ports(wanted), cluster, deadline)
            if cause is None:
                return running
            if cause is not Cause.PORT_TAKEN:
                break
            wanted = None
        raise self._failure((cause or Cause.UNKNOWN).value)

    def _try(
        self, tools: Tools, ports: Ports, cluster: str, deadline: float
    ) -> tuple[Running, Cause | None]:
        self._write_settings(ports)
        begin = self.home.log.stat().st_size if self.home.log.exists() else 0
        launched = launch(broker_command(tools, self.home), self.home, detached=self.detached)
        running = Running(
            bootstrap=f"{HOST}:{ports.client}",
            pid=launched.pid,
            process=launched.process,
            client_port=ports.client,
            controller_port=ports.controller,
            cluster_id=cluster,
            kafka=(self._lock or committed_lock()).kafka,
            owner_pid=None if self.detached else os.getpid(),
            owner_process=None if self.detached else identity(os.getpid()),
        )
        _kept[self.home.path] = launched
        try:
            write_state(self.home.state, running)
        except HomeUnusable:
            self._end(running)
            raise
        if self._answers(running, deadline):
            return running, None
        late = running.alive
        self._end(running)
        if late:
            raise self._failure("it did not answer in time")
        return running, diagnose(read_end(self.home.log, begin))

    def _end(self, running: Running) -> None:
        end(running.pid, running.process, GRACE_S)
        self._forget(GRACE_S)

    def _answers(self, running: Running, deadline: float) -> bool:
        admin = None
        while running.alive and time.monotonic() < deadline:
            # No client before there is a listener: it would wait longer after each refusal.
            if listens(running.client_port):
                admin = admin or connect(running.bootstrap)
                # Another cluster may have taken the port meanwhile: only ours counts.
                if cluster_id(admin, _ANSWER_S) == running.cluster_id:
                    return True
            time.sleep(_POLL_S)
        return False

    def _format(self, tools: Tools) -> str:
        cluster = self._cluster()
        if cluster is None:
            self._write_settings(free_ports(None))
            ended_well = run_to_end(format_command(tools, self.home, _new_id()), self.home)
            cluster = self._cluster()
            if not ended_well or cluster is None:
                raise self._failure("its data folder could not be formatted")
        return cluster

    def _cluster(self) -> str | None:
        try:
            return cluster_id_of((self.home.data / "meta.properties").read_text("latin-1"))
        except FileNotFoundError:
            return None

    def _write_settings(self, ports: Ports) -> None:
        with writing(self.home.path):
            text = properties_text(server_settings(self.home.data, ports))
            self.home.settings.write_text(text, "latin-1")

    def _failure(self, reason: str) -> BrokerUnavailable:
        log = read_end(self.home.log)
        # A full disk takes no last words either.
        if diagnose(log) is Cause.DISK_FULL or is_full(self.home.path):
            return HomeUnusable(self.home.path, Cause.DISK_FULL.value)
        return StartFailed(reason, tail(log))

    def _forget(self, timeout_s: float) -> None:
        launched = _kept.pop(self.home.path, None)
        if launched is not None:
            launched.reap(timeout_s)


def _new_id() -> str:
    """Make a cluster id: 16 random bytes as 22 base64url characters, no option in front."""
    while True:
        made = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode("ascii").rstrip("=")
        if not made.startswith("-"):
            return made
