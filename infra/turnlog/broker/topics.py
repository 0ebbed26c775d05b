"""What the topics of a namespace are, and what of an existing one can't be accepted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from turnlog.broker.errors import BadNamespace, Difference
from turnlog.broker.rules import (
    Rule,
    cleanup_rule,
    common_rules,
    in_sync_difference,
    in_sync_rule,
    retention_rules,
)
from turnlog.log.meta import meta_topic as meta_name

DEFAULT_NAMESPACE: Final = "turnlog"

#: A layout's partition count never changes: a session's place is its id's hash over it.
DEFAULT_PARTITIONS: Final = 12

# Kafka takes 249 characters; the longest of our suffixes and a group's fit in the rest.
_NAMESPACE = re.compile(r"[A-Za-z0-9._-]{1,200}")
_MOST_REPLICAS = 3

# Hints are small and read to their end when a session is opened: a segment is compacted only when
# it is full, at Kafka's default of 1 GiB after some million hints.
_HEADS_SEGMENT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Topic:
    """A topic as it is to be made; its rules are also what it is checked against later.

    ``tuning`` is set when it is made and never checked: the user may choose otherwise.
    """

    name: str
    partitions: int
    rules: tuple[Rule, ...]
    tuning: Mapping[str, str] = field(default_factory=dict)

    def settings(self, replicas: int) -> dict[str, str]:
        """Give Kafka's settings for it with that many replicas."""
        rules = {rule.setting: rule.value for rule in (*self.rules, in_sync_rule(replicas))}
        return {**self.tuning, **rules}

    def differences(self, found: Found, replicas_at_least: int = 1) -> list[Difference]:
        """List all that keeps an existing topic from being used."""
        checks = [
            self._partitions(found.partitions),
            _replicas(found.replicas, replicas_at_least),
            *(rule.check(found.settings.get(rule.setting)) for rule in self.rules),
            in_sync_difference(found.replicas, found.settings),
        ]
        return [each for each in checks if each is not None]

    def _partitions(self, found: int) -> Difference | None:
        if found == self.partitions:
            return None
        return Difference(
            "partitions",
            str(self.partitions),
            str(found),
            "a record's partition is its key's hash over this number, which never changes",
            advice=f"use another namespace; or, if the topic had {found} partitions before its "
            f"first record and nothing says otherwise yet, call ensure_topics(partitions={found})",
        )


@dataclass(frozen=True)
class Found:
    """A topic as a cluster has it; ``replicas`` is the least of any of its partitions."""

    partitions: int
    replicas: int
    settings: Mapping[str, str | None]


def replicas_for(brokers: int) -> int:
    """Choose the replicas of a new topic on a cluster of that many brokers: three if it can."""
    return max(1, min(_MOST_REPLICAS, brokers))


def replicas_needed(brokers: int, wanted: int | None) -> int:
    """Give the replicas below which an existing topic is refused.

    What was asked for; else 2 where there are two brokers: one would be lost with its broker,
    and a topic of two with both in sync loses nothing.
    """
    return wanted if wanted is not None else min(2, max(1, brokers))


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
    rules = (cleanup_rule("delete"), *retention_rules(), *common_rules())
    return Topic(f"{namespace}.events.{layout}", partitions, rules)


def heads_topic(namespace: str, *, partitions: int = DEFAULT_PARTITIONS) -> Topic:
    """Describe the topic of hints: where in the log each session's head may be looked for.

    Raises:
        BadNamespace: see :func:`check_namespace`.
    """
    check_namespace(namespace)
    rules = (cleanup_rule("compact"), *common_rules())
    tuning = {"segment.bytes": str(_HEADS_SEGMENT_BYTES)}
    return Topic(f"{namespace}.heads", partitions, rules, tuning)


def meta_topic(namespace: str) -> Topic:
    """Describe the topic that says what the namespace is: one partition, so one order.

    Raises:
        BadNamespace: see :func:`check_namespace`.
    """
    check_namespace(namespace)
    return Topic(meta_name(namespace), 1, (cleanup_rule("compact"), *common_rules()))


def all_topics(
    namespace: str,
    *,
    layouts: Mapping[int, int] | None = None,
    heads: int = DEFAULT_PARTITIONS,
) -> list[Topic]:
    """List what a namespace needs to be written to, in the order in which it is made.

    ``layouts`` holds each layout's partition count, by default layout 0 with 12.
    """
    counts = {0: DEFAULT_PARTITIONS} if layouts is None else layouts
    return [
        meta_topic(namespace),
        heads_topic(namespace, partitions=heads),
        *(
            events_topic(namespace, layout=layout, partitions=partitions)
            for layout, partitions in sorted(counts.items())
        ),
    ]


def _replicas(found: int, needed: int) -> Difference | None:
    if found >= needed:
        return None
    return Difference(
        "replication factor",
        f"at least {needed}",
        str(found),
        "events would be lost with the broker that holds them",
        advice="raise it with kafka-reassign-partitions.sh --execute and a file that names "
        "the brokers of each partition",
    )
