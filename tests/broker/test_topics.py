"""What the topics of a namespace are, and which settings of an existing one are refused."""

import pytest

from turnlog.broker import (
    BadNamespace,
    ServerMismatch,
    Topic,
    TopicGone,
    TopicMismatch,
    all_topics,
    events_topic,
    heads_topic,
    meta_topic,
)
from turnlog.broker.errors import Difference
from turnlog.broker.rules import mend_server, mend_topic, server_rules
from turnlog.broker.topics import Found, replicas_for, replicas_needed

COMMON = {
    "max.message.bytes": "9437184",
    "unclean.leader.election.enable": "false",
    "compression.type": "producer",
    "message.timestamp.before.max.ms": "3600000",
    "message.timestamp.after.max.ms": "3600000",
}
EVENTS = {**COMMON, "cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
COMPACT = {**COMMON, "cleanup.policy": "compact"}


def differing(topic: Topic, found: Found, needed: int = 1) -> list[str]:
    return [each.setting for each in topic.differences(found, needed)]


def test_a_namespace_has_its_meta_its_hints_and_the_log_of_each_layout() -> None:
    assert [(topic.name, topic.partitions) for topic in all_topics("turnlog")] == [
        ("turnlog.meta", 1),
        ("turnlog.heads", 12),
        ("turnlog.events.0", 12),
    ]
    several = all_topics("n", layouts={1: 48, 0: 6}, heads=3)
    assert [(topic.name, topic.partitions) for topic in several] == [
        ("n.meta", 1),
        ("n.heads", 3),
        ("n.events.0", 6),
        ("n.events.1", 48),
    ]


@pytest.mark.parametrize(("replicas", "in_sync"), [(1, "1"), (2, "2"), (3, "2"), (5, "2")])
def test_the_log_is_kept_for_ever_and_the_others_by_their_keys(replicas: int, in_sync: str) -> None:
    copies = {"min.insync.replicas": in_sync}
    assert events_topic("acme").settings(replicas) == {**EVENTS, **copies}
    assert meta_topic("acme").settings(replicas) == {**COMPACT, **copies}
    heads = heads_topic("acme").settings(replicas)
    assert heads == {**COMPACT, **copies, "segment.bytes": str(64 << 20)}


@pytest.mark.parametrize("topic", all_topics("n"), ids=lambda topic: topic.name)
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_a_topic_as_it_is_made_is_accepted(topic: Topic, replicas: int) -> None:
    assert differing(topic, Found(topic.partitions, replicas, topic.settings(replicas)), 1) == []


@pytest.mark.parametrize(("brokers", "replicas"), [(0, 1), (1, 1), (2, 2), (3, 3), (9, 3)])
def test_a_new_topic_has_up_to_three_replicas(brokers: int, replicas: int) -> None:
    assert replicas_for(brokers) == replicas


@pytest.mark.parametrize(
    ("brokers", "wanted", "needed"),
    [(0, None, 1), (1, None, 1), (2, None, 2), (9, None, 2), (3, 1, 1)],
)
def test_one_replica_is_refused_where_there_are_several_brokers(
    brokers: int, wanted: int | None, needed: int
) -> None:
    assert replicas_needed(brokers, wanted) == needed
    settings = {**EVENTS, "min.insync.replicas": "1"}
    found = differing(events_topic("n"), Found(12, 1, settings), needed)
    assert found == (["replication factor"] if needed > 1 else [])


LOSING = [
    ("max.message.bytes", "1048588"),
    ("max.message.bytes", "9437183"),
    ("unclean.leader.election.enable", "true"),
    ("compression.type", "uncompressed"),
    ("compression.type", "zstd"),
    ("message.timestamp.before.max.ms", "1000"),
    ("message.timestamp.after.max.ms", "0"),
    ("min.insync.replicas", "1"),
    ("min.insync.replicas", "4"),
    ("cleanup.policy", "compact,delete"),
    ("cleanup.policy", ""),
]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *LOSING,
        ("cleanup.policy", "compact"),
        ("retention.ms", "604800000"),
        ("retention.bytes", "1073741824"),
        *((setting, None) for setting in (*EVENTS, "min.insync.replicas")),
    ],
)
def test_each_setting_that_loses_or_refuses_events_is_found(
    setting: str, value: str | None
) -> None:
    settings = {**EVENTS, "min.insync.replicas": "2", setting: value}
    assert differing(events_topic("n"), Found(12, 3, settings)) == [setting]


@pytest.mark.parametrize("topic", [heads_topic("n"), meta_topic("n")], ids=["heads", "meta"])
@pytest.mark.parametrize(("setting", "value"), [*LOSING, ("cleanup.policy", "delete")])
def test_each_setting_that_loses_hints_or_layouts_is_found(
    topic: Topic, setting: str, value: str
) -> None:
    settings = {**COMPACT, "min.insync.replicas": "2", "retention.ms": "604800000", setting: value}
    assert differing(topic, Found(topic.partitions, 3, settings)) == [setting]


def test_more_room_and_more_copies_are_no_difference() -> None:
    settings = {
        **EVENTS,
        "min.insync.replicas": "3",
        "max.message.bytes": "99999999",
        "message.timestamp.before.max.ms": str(2**63 - 1),
        "message.timestamp.after.max.ms": str(2**63 - 1),
    }
    assert differing(events_topic("n"), Found(12, 3, settings)) == []


@pytest.mark.parametrize(
    ("setting", "value", "refused"),
    [
        ("unclean.leader.election.enable", "true", True),
        ("unclean.leader.election.enable", "false", False),
        ("unclean.leader.election.enable", None, True),
        ("socket.request.max.bytes", "9437184", True),
        ("socket.request.max.bytes", "104857600", False),
    ],
)
def test_each_setting_of_a_broker_that_loses_or_refuses_events_is_found(
    setting: str, value: str | None, refused: bool
) -> None:
    rule = {rule.setting: rule for rule in server_rules()}[setting]
    assert (rule.check(value) is not None) == refused


@pytest.mark.parametrize("namespace", ["", ".", "..", "a/b", "a b", "é", "a" * 201, "a\n"])
def test_a_namespace_of_which_kafka_can_make_no_topic_is_refused(namespace: str) -> None:
    for make in (events_topic, heads_topic, meta_topic, all_topics):
        with pytest.raises(BadNamespace) as caught:
            make(namespace)
        assert caught.value.namespace == namespace


def test_one_command_mends_all_settings_of_a_topic_and_what_else_is_to_do_follows() -> None:
    settings = {
        **EVENTS,
        "retention.ms": "5",
        "cleanup.policy": "compact",
        "min.insync.replicas": "1",
    }
    differences = events_topic("n").differences(Found(3, 1, settings), 2)
    mend = mend_topic("k:9092", "n.events.0", differences)
    assert mend[0] == (
        "kafka-configs.sh --bootstrap-server k:9092 --alter --entity-type topics "
        "--entity-name n.events.0 --add-config cleanup.policy=delete,retention.ms=-1"
    )
    assert "another namespace" in mend[1]
    assert "ensure_topics(partitions=3)" in mend[1]
    assert "kafka-reassign-partitions.sh" in mend[2]
    assert len(mend) == 3


def test_a_broker_s_setting_is_mended_for_the_cluster_and_where_it_has_its_own() -> None:
    differences = [rule.check("true") for rule in server_rules()][:1]
    mend = mend_server("k:9092", 7, [each for each in differences if each is not None])
    assert mend == [
        "kafka-configs.sh --bootstrap-server k:9092 --alter --entity-type brokers "
        f"{entity} --add-config unclean.leader.election.enable=false"
        for entity in ("--entity-default", "--entity-name 7")
    ]


def test_a_setting_that_a_broker_reads_at_its_start_is_mended_in_its_file() -> None:
    difference = server_rules()[1].check("100")
    assert difference is not None
    mend = mend_server("k:9092", 7, [difference])
    assert mend == ["set socket.request.max.bytes=10485760 in its server.properties and restart it"]


def test_a_refusal_says_what_was_expected_and_found_why_and_what_mends_it() -> None:
    difference = Difference("a", "1", None, "because", value="1")
    for error in (
        TopicMismatch("t", [difference], ["do this"]),
        ServerMismatch(7, [difference], ["do this"]),
    ):
        assert "a: expected 1, found nothing (because)" in str(error)
        assert str(error).splitlines()[1:] == ["  to mend it: do this"]
        assert (error.differences, error.mend) == ((difference,), ("do this",))
    assert str(TopicGone("n.heads")).startswith("topic n.heads: ")
    assert TopicGone("n.heads").topic == "n.heads"
