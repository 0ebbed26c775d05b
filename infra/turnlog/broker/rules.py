"""The settings that must hold, of topics and of brokers, why, and how to mend them.

Their source is Kafka's topic and broker configuration reference, and design sections 2 to 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turnlog.broker.errors import Difference
from turnlog.events.avro import MAX_RECORD_BYTES

# Kafka 4 refuses records stamped more than an hour ahead by default. Less leaves no room for a
# writer's clock and for the time that a record is tried again.
_CLOCK_ROOM_MS = 3_600_000


@dataclass(frozen=True)
class Rule:
    """A setting that must hold: exactly ``value``, or ``at_least`` that number.

    ``fixed`` is one that a broker reads at its start only.
    """

    setting: str
    value: str
    reason: str
    at_least: bool = False
    fixed: bool = False

    def check(self, found: str | None) -> Difference | None:
        """Compare with what is set; ``None`` when it may stay."""
        if found == self.value:
            return None
        if self.at_least and found and found.isdigit() and int(found) >= int(self.value):
            return None
        expected = f"at least {self.value}" if self.at_least else self.value
        if self.fixed:
            advice = f"set {self.setting}={self.value} in its server.properties and restart it"
            return Difference(self.setting, expected, found, self.reason, advice=advice)
        return Difference(self.setting, expected, found, self.reason, value=self.value)


def cleanup_rule(policy: str) -> Rule:
    """Keep all records (``delete``, with no retention), or the last of each key (``compact``)."""
    reason = (
        "compaction would keep one commit a session"
        if policy == "delete"
        else "all but the last of each key is in the way, and the last must never be deleted"
    )
    return Rule("cleanup.policy", policy, reason)


def retention_rules() -> tuple[Rule, ...]:
    """Delete nothing, neither by age nor by size."""
    return (
        Rule("retention.ms", "-1", "events would be deleted by age"),
        Rule("retention.bytes", "-1", "events would be deleted by size"),
    )


def common_rules() -> tuple[Rule, ...]:
    """What each of the topics needs so that nothing acknowledged is lost, and nothing refused."""
    clock = "records of a writer whose clock is off, or that were tried again, would be refused"
    return (
        Rule(
            "max.message.bytes",
            str(MAX_RECORD_BYTES),
            "the largest record would be refused",
            at_least=True,
        ),
        Rule(
            "unclean.leader.election.enable",
            "false",
            "acknowledged records would be lost in a failover",
        ),
        Rule(
            "compression.type",
            "producer",
            "the broker would pack each batch anew, and refuse one that grows too large by it",
        ),
        Rule("message.timestamp.before.max.ms", str(_CLOCK_ROOM_MS), clock, at_least=True),
        Rule("message.timestamp.after.max.ms", str(_CLOCK_ROOM_MS), clock, at_least=True),
    )


def in_sync_rule(replicas: int) -> Rule:
    """Two copies before an acknowledgement, where there is more than one."""
    return Rule(
        "min.insync.replicas",
        "2" if replicas > 1 else "1",
        "an acknowledged record would be on one broker only",
        at_least=True,
    )


def in_sync_difference(replicas: int, settings: Mapping[str, str | None]) -> Difference | None:
    """Check the copies that an acknowledgement waits for: enough, and no more than there are."""
    rule = in_sync_rule(replicas)
    found = settings.get(rule.setting)
    if found and found.isdigit() and int(found) > replicas:
        reason = "no record would ever be acknowledged"
        return Difference(rule.setting, f"at most {replicas}", found, reason, value=rule.value)
    return rule.check(found)


def server_rules() -> tuple[Rule, ...]:
    """What each broker needs, beside what the topics set for themselves."""
    return (
        Rule(
            "unclean.leader.election.enable",
            "false",
            "a topic that does not forbid it would lose acknowledged records in a failover",
        ),
        Rule(
            "socket.request.max.bytes",
            str(MAX_RECORD_BYTES + 1024 * 1024),
            "the largest record's request would be refused",
            at_least=True,
            fixed=True,
        ),
    )


def mend_topic(bootstrap: str, topic: str, differences: Sequence[Difference]) -> list[str]:
    """Say how to make a topic acceptable: one command for all settings, then what else to do."""
    return _mend(bootstrap, [f"--entity-type topics --entity-name {topic}"], differences)


def mend_server(bootstrap: str, broker: int, differences: Sequence[Difference]) -> list[str]:
    """Say how to make a broker acceptable: for the whole cluster, and where it has its own."""
    entities = [
        f"--entity-type brokers {each}" for each in ("--entity-default", f"--entity-name {broker}")
    ]
    return _mend(bootstrap, entities, differences)


def _mend(bootstrap: str, entities: Sequence[str], differences: Sequence[Difference]) -> list[str]:
    settings = [f"{each.setting}={each.value}" for each in differences if each.value is not None]
    advice = [each.advice for each in differences if each.advice is not None]
    commands = [
        f"kafka-configs.sh --bootstrap-server {bootstrap} --alter {entity} "
        f"--add-config {','.join(settings)}"
        for entity in entities
        if settings
    ]
    return commands + advice
