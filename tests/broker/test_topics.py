"""The topics of a namespace: made if missing, and refused if they would lose events."""

from collections.abc import Mapping

import pytest
from confluent_kafka.admin import NewTopic

from turnlog.broker import (
    BadNamespace,
    Topic,
    TopicMismatch,
    all_topics,
    ensure_topics,
    events_topic,
)
from turnlog.broker.admin import connect
from turnlog.broker.errors import BrokerError, BrokerUnavailable
from turnlog.broker.ports import free_ports
from turnlog.broker.topics import Found, replicas_for

GOOD = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "max.message.bytes": "9437184",
    "unclean.leader.election.enable": "false",
}


def make_topic(kafka: str, name: str, partitions: int, settings: Mapping[str, str]) -> None:
    # A name for the client: it must live until its answer is there.
    admin = connect(kafka)
    admin.create_topics([NewTopic(name, partitions, 1, config=dict(settings))])[name].result(30)


def differing(topic: Topic, found: Found) -> list[str]:
    return [each.setting for each in topic.differences(found)]


def test_the_events_topic_is_kept_for_ever_in_twelve_partitions() -> None:
    assert [topic.name for topic in all_topics("turnlog")] == ["turnlog.events.0"]
    topic = events_topic("acme")
    assert (topic.name, topic.partitions) == ("acme.events.0", 12)
    assert topic.settings(1) == {**GOOD, "min.insync.replicas": "1"}
    assert topic.settings(3) == {**GOOD, "min.insync.replicas": "2"}
    assert events_topic("acme", layout=2, partitions=24).name == "acme.events.2"


@pytest.mark.parametrize(("brokers", "replicas"), [(0, 1), (1, 1), (2, 2), (3, 3), (9, 3)])
def test_a_new_topic_has_up_to_three_replicas(brokers: int, replicas: int) -> None:
    assert replicas_for(brokers) == replicas


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("cleanup.policy", "compact"),
        ("cleanup.policy", "compact,delete"),
        ("retention.ms", "604800000"),
        ("retention.bytes", "1073741824"),
        ("max.message.bytes", "1048588"),
        ("unclean.leader.election.enable", "true"),
        ("min.insync.replicas", "1"),
        ("cleanup.policy", None),
        ("max.message.bytes", None),
    ],
)
def test_each_setting_that_loses_or_refuses_events_is_found(
    setting: str, value: str | None
) -> None:
    settings = {**GOOD, "min.insync.replicas": "2", setting: value}
    assert differing(events_topic("n"), Found(12, 3, settings)) == [setting]


def test_more_room_and_more_copies_are_no_difference() -> None:
    settings = {**GOOD, "min.insync.replicas": "3", "max.message.bytes": "99999999"}
    assert differing(events_topic("n"), Found(12, 3, settings)) == []


@pytest.mark.parametrize("namespace", ["", ".", "..", "a/b", "a b", "é", "a" * 201, "a\n"])
def test_a_namespace_of_which_kafka_can_make_no_topic_is_refused(namespace: str) -> None:
    with pytest.raises(BadNamespace) as caught:
        events_topic(namespace)
    assert caught.value.namespace == namespace


def test_missing_topics_are_made_once_and_stand_as_described(kafka: str, namespace: str) -> None:
    assert ensure_topics(kafka, namespace) == [f"{namespace}.events.0"]
    assert ensure_topics(kafka, namespace) == []
    admin = connect(kafka)
    assert len(admin.list_topics(timeout=10).topics[f"{namespace}.events.0"].partitions) == 12


def test_a_topic_with_other_settings_is_refused_with_what_was_expected_and_found(
    kafka: str, namespace: str
) -> None:
    name = f"{namespace}.events.0"
    settings = {"retention.ms": "1000", "cleanup.policy": "compact", "max.message.bytes": "1048588"}
    make_topic(kafka, name, 3, settings)
    with pytest.raises(TopicMismatch) as caught:
        ensure_topics(kafka, namespace)
    assert caught.value.topic == name
    found = {each.setting: (each.expected, each.found) for each in caught.value.differences}
    assert found["partitions"] == ("12", "3")
    assert found["retention.ms"] == ("-1", "1000")
    assert found["cleanup.policy"] == ("delete", "compact")
    assert found["max.message.bytes"] == ("at least 9437184", "1048588")
    assert "retention.ms: expected -1, found 1000 (events would be deleted by age)" in str(
        caught.value
    )


def test_a_topic_that_differs_only_in_its_partitions_is_refused(kafka: str, namespace: str) -> None:
    ensure_topics(kafka, namespace, topics=[events_topic(namespace, partitions=2)])
    with pytest.raises(TopicMismatch, match="partitions: expected 12, found 2"):
        ensure_topics(kafka, namespace)


def test_a_topic_is_not_made_by_itself(kafka: str, namespace: str) -> None:
    admin = connect(kafka)
    admin.list_topics(f"{namespace}.events.0", timeout=10)
    assert f"{namespace}.events.0" not in admin.list_topics(timeout=10).topics


def test_a_cluster_that_is_not_there_is_unavailable() -> None:
    nowhere = f"127.0.0.1:{free_ports(None).client}"
    with pytest.raises(BrokerUnavailable):
        ensure_topics(nowhere, "n", timeout_s=1.0)


def test_a_topic_that_kafka_refuses_is_a_broker_error_with_its_reason(
    kafka: str, namespace: str
) -> None:
    with pytest.raises(BrokerError, match=r"(?i)partitions"):
        ensure_topics(kafka, namespace, topics=[Topic(f"{namespace}.x", 0, ())])
