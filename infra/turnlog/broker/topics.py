"""What the topics of a namespace are, and what of an existing one can't be accepted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from turnlog.broker.errors import BadNamespace, Difference
from turnlog.broker.settings import MAX_RECORD_BYTES

DEFAULT_NAMESPACE: Final = "turnlog"

#: A layout's partition count never changes: a session's place is its id's hash over it.
DEFAULT_PARTITIONS: Final = 12

# Kafka takes 249 characters; the longest of our suffixes and a group's fit in the rest.
_NAMESPACE = re.compile(r"[A-Za-z0-9._-]{1,200}")
_MOST_REPLICAS = 3


@dataclass(frozen=True)
class Rule:
    """A topic setting that must hold: exactly ``value``, or ``at_least`` that number."""

    setting: str
    value: str
    reason: str
    at_least: bool = False

    def check(self, found: str | None) -> Difference | None:
        """Compare with what a topic has; ``None`` when it may stay."""
        if found == self.value:
            return None
        if self.at_least and found and found.isdigit() and int(found) >= int(self.value):
            return None
        expected = f"at least {self.value}" if self.at_least else self.value
        return Difference(self.setting, expected, found, self.reason)


@dataclass(frozen=True)
class Topic:
    """A topic as it is to be made; its rules are also what it is checked against later."""

    name: str
    partitions: int
    rules: tuple[Rule, ...]

    def settings(self, replicas: int) -> dict[str, str]:
        """Give Kafka's settings for it with that many replicas."""
        return {rule.setting: rule.value for rule in (*self.rules, in_sync_rule(replicas))}

    def differences(self, found: Found) -> list[Difference]:
        """List all that keeps an existing topic from being used."""
        checks = [rule.check(found.settings.get(rule.setting)) for rule in self.rules]
        in_sync = in_sync_rule(found.replicas)
        checks.append(in_sync.check(found.settings.get(in_sync.setting)))
        if found.partitions != self.partitions:
            reason = "a session's partition is its id's hash over this number"
            checks.insert(
                0, Difference("partitions", str(self.partitions), str(found.partitions), reason)
            )
        return [each for each in checks if each is not None]


@dataclass(frozen=True)
class Found:
    """A topic as a cluster has it; ``replicas`` is the least of any of its partitions."""

    partitions: int
    replicas: int
    settings: Mapping[str, str | None]


def replicas_for(brokers: int) -> int:
    """Choose the replicas of a new topic on a cluster of that many brokers: three if it can."""
    return max(1, min(_MOST_REPLICAS, brokers))


def in_sync_rule(replicas: int) -> Rule:
    """Two copies before an acknowledgement, where there is more than one."""
    return Rule(
        "min.insync.replicas",
        "2" if replicas > 1 else "1",
        "an acknowledged event would be on one broker only",
        at_least=True,
    )


def check_namespace(namespace: str) -> None:
    """Refuse a namespace of which no topic name can be made.

    Raises:
        BadNamespace: empty, above 200 characters, other characters, or ``.`` or ``..``.
    """
    if not _NAMESPACE.fullmatch(namespace) or namespace.strip(".") == "":
        raise BadNamespace(namespace)


def events_topic(namespace: str, *, layout: int = 0, partitions: int = DEFAULT_PARTITIONS) -> Topic:
    """Describe the topic that holds the truth: every commit of a layout's sessions, for ever.

    Raises:
        BadNamespace: see :func:`check_namespace`.
    """
    check_namespace(namespace)
    return Topic(
        f"{namespace}.events.{layout}",
        partitions,
        (
            Rule("cleanup.policy", "delete", "compaction would keep one commit a session"),
            Rule("retention.ms", "-1", "events would be deleted by age"),
            Rule("retention.bytes", "-1", "events would be deleted by size"),
            Rule(
                "max.message.bytes",
                str(MAX_RECORD_BYTES),
                "the largest commit would be refused",
                at_least=True,
            ),
            Rule(
                "unclean.leader.election.enable",
                "false",
                "acknowledged events would be lost in a failover",
            ),
        ),
    )


def all_topics(namespace: str) -> list[Topic]:
    """List what a namespace needs to be written to."""
    return [events_topic(namespace)]
