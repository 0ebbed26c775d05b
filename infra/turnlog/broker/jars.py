"""Fetch what the lock names, and use nothing else.

jgo is used for what it does well, fetching a coordinate from the user's Maven repositories, and
not for resolving: the lock already is the answer, so no POM is read and no Java is looked for
(``jgo.build`` would fetch a JDK of its own to sort the jars into modules).
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.broker.errors import JarMismatch, JarUnavailable
from turnlog.broker.home import JARS_VARIABLE, exclusive, writing
from turnlog.broker.lock import Jar, Lock

if TYPE_CHECKING:
    from jgo.maven import MavenContext

_FETCHERS = 4


def ensure_jars(folder: Path, lock: Lock) -> list[Path]:
    """Give the jars of ``lock`` in class path order, fetching what is missing, each verified.

    Every file's SHA-256 is compared at every call (45 MB: 0.1 s). A fetched file is compared
    before it gets its name, so that a fetch that was cut off leaves nothing behind; a file under
    its name that differs was changed later, and is refused, never replaced. Safe to call from
    several processes at once: one fetches, the others wait.

    Raises:
        JarMismatch: a file in the cache, or a repository's answer, is not the locked one.
        JarUnavailable: missing, and not to be fetched.
        HomeUnusable: the cache can't be written to, or its disk is full.
    """
    if any(not (folder / jar.file_name).exists() for jar in lock.jars):
        with exclusive(folder / "fetch.lock", None, JARS_VARIABLE):
            missing = [jar for jar in lock.jars if not (folder / jar.file_name).exists()]
            if missing:
                _fetch(folder, missing)
    paths = [folder / jar.file_name for jar in lock.jars]
    for path, jar in zip(paths, lock.jars, strict=True):
        _verify(path, jar)
    return paths


def sha256_of(path: Path) -> str:
    """Hash a file: lower-case hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def maven(cache: Path) -> MavenContext:
    """Make jgo's Maven with ``cache`` as its repository, and the repositories that the user set.

    A mirror is named in jgo's own settings file, under ``[repositories]``; it is asked first.

    Raises:
        JarUnavailable: jgo is not installed.
    """
    try:
        from jgo.config import GlobalSettings
        from jgo.constants import MAVEN_CENTRAL_URL
        from jgo.maven import MavenContext, PythonResolver
    except ImportError as error:
        raise JarUnavailable("Apache Kafka", "install jgo with: pip install jgo") from error
    remotes = {**GlobalSettings.load().repositories, "central": MAVEN_CENTRAL_URL}
    return MavenContext(
        resolver=PythonResolver(progress_callback=None),
        repo_cache=cache,
        local_repos=[],
        remote_repos=remotes,
    )


def _fetch(folder: Path, jars: list[Jar]) -> None:
    for left in folder.glob("fetch-*/"):  # of a process that was killed; the lock is ours now
        shutil.rmtree(left, ignore_errors=True)
    with (
        writing(folder, JARS_VARIABLE),
        tempfile.TemporaryDirectory(dir=folder, prefix="fetch-") as staging,
    ):
        context = maven(Path(staging))
        with ThreadPoolExecutor(_FETCHERS) as pool:
            tasks = [pool.submit(_fetch_one, context, jar) for jar in jars]
            try:
                for jar, task in zip(jars, tasks, strict=True):
                    fetched = task.result()
                    _verify(fetched, jar)
                    fetched.replace(folder / jar.file_name)
            finally:
                for task in tasks:
                    task.cancel()


def _fetch_one(context: MavenContext, jar: Jar) -> Path:
    component = context.project(jar.group, jar.artifact).at_version(jar.version)
    try:
        return component.artifact().resolve()
    except Exception as error:
        # jgo documents no errors: requests' (an OSError), RuntimeError for "not found". A disk
        # that is full is an OSError too, and has an errno; requests' have none.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise JarUnavailable(jar.coordinate, f"{type(error).__name__}: {_cause(error)}") from error


def _cause(error: Exception) -> BaseException:
    """Give what a failed connection failed of: requests wraps it three times, each text longer."""
    found: BaseException = error
    while isinstance(error, OSError) and (found.__cause__ or found.__context__):
        found = found.__cause__ or found.__context__ or found
    return found


def _verify(path: Path, jar: Jar) -> None:
    try:
        found = sha256_of(path)
    except FileNotFoundError as error:
        raise JarUnavailable(jar.coordinate, f"{path} is gone") from error
    except OSError as error:
        raise JarUnavailable(jar.coordinate, f"{path}: {error.strerror}") from error
    if found != jar.sha256:
        raise JarMismatch(path, jar.sha256, found)
