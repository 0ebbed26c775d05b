"""Starts the demo's other processes, shows their lines, and says in one line how one failed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from types import TracebackType
from typing import Self

from turnlog.log import KafkaSettings

from .demo_text import columns
from .exit_codes import EXIT_CODES, INTERRUPTED
from .safe_text import safe

__all__ = ["Child", "ChildFailed"]

_SAID = "turnlog: "
"""How the line begins in which a command says what went wrong."""

_END_S = 60.0
"""A process whose output has ended has only its clients to close."""


class ChildFailed(Exception):
    """A process of the demo did not end as it should.

    `code` is its exit code, negative for a signal, None where it did not end.
    """

    def __init__(self, role: str, code: int | None, said: str) -> None:
        self.role = role
        self.code = code
        if code is not None and code < 0:
            ended = f"was ended by {_signal_name(-code)}"
        else:
            ended = "did not end" if code is None else f"ended with exit code {code}"
        super().__init__(f"the demo's process {role!r} {ended}" + (f": {said}" if said else ""))

    @property
    def exit_code(self) -> int:
        """What the demo exits with: the process's own code where that says a kind of failure."""
        known = {*EXIT_CODES.values(), INTERRUPTED}
        return self.code if self.code is not None and self.code in known else 1


class Child:
    """One process of the demo; a context manager that kills what still runs at the end.

    Its lines are shown as they come; what it writes to standard error is kept for `ChildFailed`.
    """

    def __init__(self, role: str, settings: KafkaSettings, session_id: str) -> None:
        self._role = role
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        command = [sys.executable, "-P", "-m", "turnlog.cli", "demo-process", role]
        command += [settings.bootstrap, settings.namespace, session_id]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                encoding="utf-8",
                errors="backslashreplace",
                env={**os.environ, "COLUMNS": str(columns()), "PYTHONIOENCODING": "utf-8"},
            )
        except OSError as error:
            self._errors.close()
            raise ChildFailed(role, None, f"can't be started: {error.strerror}") from error

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def ended(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    def show(self, until: str | None = None) -> None:
        """Show its lines up to this one (not shown), or to its end. Raises ChildFailed."""
        if self._process.stdout is not None:
            for line in self._process.stdout:
                if line.rstrip("\n") == until:
                    return
                print(safe(line.rstrip("\n")), flush=True)
        if until is not None:
            raise self._failed()

    def expect(self, code: int) -> None:
        """Show its lines to its end, and want this exit code. Raises ChildFailed."""
        self.show()
        if self._wait() != code:
            raise self._failed()

    def kill(self) -> None:
        """End it by SIGKILL, as a crash would. Raises ChildFailed where it ended before."""
        self._process.kill()
        if self._wait() != -signal.SIGKILL:
            raise self._failed()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    def _wait(self) -> int | None:
        try:
            return self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            return None

    def _failed(self) -> ChildFailed:
        code = self._wait()
        self._errors.seek(0)
        written = self._errors.read().decode("utf-8", "backslashreplace")
        lines = [line.strip() for line in written.split("\n") if line.strip()]
        own = [line.removeprefix(_SAID) for line in lines if line.startswith(_SAID)]
        return ChildFailed(self._role, code, (own or lines or [""])[-1])


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
