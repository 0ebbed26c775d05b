"""The one folder that holds an embedded broker."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from turnlog.broker.errors import BrokerUnavailable, HomeUnusable

#: The jars are 45 MB; Kafka stops for good when its folder fills, so there must be room to work.
MIN_FREE_BYTES = 256 * 1024 * 1024

_FULL_BYTES = 1024 * 1024

#: The environment variables that name the two folders.
HOME_VARIABLE = "TURNLOG_HOME"
JARS_VARIABLE = "TURNLOG_JARS"

_LOCK_POLL_S = 0.02


@dataclass(frozen=True)
class Home:
    """Where everything of one embedded broker lies; only names, nothing is touched.

    ``jars`` is a folder of its own so that several homes, and test runs, can share one download.
    """

    path: Path
    jars: Path

    @property
    def settings(self) -> Path:
        """Kafka's ``server.properties``, written anew at each start."""
        return self.path / "server.properties"

    @property
    def data(self) -> Path:
        """The log itself, and KRaft's metadata: the only thing here that can't be made again."""
        return self.path / "data"

    @property
    def log(self) -> Path:
        """What this broker's run wrote; the run before is beside it with ``.1``."""
        return self.path / "broker.log"

    @property
    def state(self) -> Path:
        """Which process runs here, if it still does."""
        return self.path / "broker.json"

    @property
    def lock(self) -> Path:
        """Held while a broker is started or stopped."""
        return self.path / "start.lock"

    @property
    def scratch(self) -> Path:
        """Java's temporary folder: the compression libraries are unpacked into it."""
        return self.path / "tmp"


def home_of(
    env: Mapping[str, str], user_home: Path, path: Path | None = None, jars: Path | None = None
) -> Home:
    """Choose the home: ``path``, else ``TURNLOG_HOME``, else ``turnlog`` in the user's data folder.

    The jars lie in ``jars``, else ``TURNLOG_JARS``, else ``jars`` inside the home. A relative
    ``XDG_DATA_HOME`` is ignored, as the XDG base directory specification says.
    """
    if path is None:
        named = env.get(HOME_VARIABLE)
        xdg = Path(env.get("XDG_DATA_HOME", ""))
        data = xdg if xdg.is_absolute() else user_home / ".local" / "share"
        path = Path(named).expanduser() if named else data / "turnlog"
    path = path.absolute()
    if jars is None:
        jars_named = env.get(JARS_VARIABLE)
        jars = Path(jars_named).expanduser() if jars_named else path / "jars"
    return Home(path, jars.absolute())


def refuse_path(home: Home) -> None:
    """Refuse paths that Kafka or Java would read as two.

    Raises:
        HomeUnusable: ``log.dirs`` is a list with commas, a class path one with colons.
    """
    inside = home.jars.is_relative_to(home.path)
    if "," in str(home.path):
        raise HomeUnusable(home.path, "expected a path without a comma")
    if os.pathsep in str(home.jars):
        reason = f"expected a path without {os.pathsep!r}"
        raise HomeUnusable(home.jars, reason, HOME_VARIABLE if inside else JARS_VARIABLE)


def refuse_full(path: Path, free_bytes: int) -> None:
    """Refuse a disk that would fill soon.

    Raises:
        HomeUnusable: less than ``MIN_FREE_BYTES`` are free.
    """
    if free_bytes < MIN_FREE_BYTES:
        raise HomeUnusable(
            path,
            f"expected {MIN_FREE_BYTES >> 20} MiB free on its disk, found {free_bytes >> 20} MiB",
        )


def is_full(path: Path) -> bool:
    """Tell whether the disk under a folder has no room to speak of, less than 1 MiB."""
    return shutil.disk_usage(path).free < _FULL_BYTES


@contextmanager
def writing(path: Path, variable: str = HOME_VARIABLE) -> Iterator[None]:
    """Turn the operating system's refusals to write below ``path``, which ``variable`` names.

    Raises:
        HomeUnusable: disk full, not writable, read only, no folder.
    """
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        found = "the disk is full" if full else f"not writable ({error.strerror or error})"
        raise HomeUnusable(path, found, variable) from error


def prepare(home: Home) -> None:
    """Make the folders and see that they can be written to.

    Raises:
        HomeUnusable: see :func:`writing`, :func:`refuse_full`, :func:`refuse_path`.
    """
    refuse_path(home)
    with writing(home.path):
        home.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        home.scratch.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=home.scratch) as probe:
            probe.write(b"\0" * 4096)
            probe.flush()
        free_bytes = shutil.disk_usage(home.path).free
    refuse_full(home.path, free_bytes)


@contextmanager
def exclusive(lock: Path, timeout_s: float | None, variable: str = HOME_VARIABLE) -> Iterator[None]:
    """Hold ``lock`` against every other process and thread; ``None`` waits without end.

    The operating system lets go of it when the holder dies, however it dies, and a program
    started meanwhile does not inherit it.

    Raises:
        BrokerUnavailable: another one holds it all through ``timeout_s``.
        HomeUnusable: the lock's folder can't be written to.
    """
    with writing(lock.parent, variable):
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if deadline is not None and time.monotonic() >= deadline:
                    raise BrokerUnavailable(
                        f"{lock}: another start or stop held it for {timeout_s:g} s"
                    ) from None
                time.sleep(_LOCK_POLL_S)
        yield
    finally:
        os.close(descriptor)
