"""A namespace's topics on a real Kafka: made, checked, never changed, refused where they lose."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from turnlog.broker import (
    BadNamespace,
    EmbeddedBroker,
    Ensured,
    ServerMismatch,
    TopicGone,
    TopicMismatch,
    all_topics,
    ensure_topics,
)
from turnlog.broker.admin import Cluster, connect
from turnlog.broker.ports import free_ports
from turnlog.events.errors import BrokerError, BrokerUnavailable
from turnlog.events.published import PUBLISHED_SCHEMAS
from turnlog.log import KafkaSettings
from turnlog.log.meta import Meta, heads_record, layout_record, read_meta
from turnlog.log.reader import partition_ends


def make_topic(kafka: str, name: str, partitions: int, settings: Mapping[str, str]) -> None:
    # A name for the client: it must live until its answer is there.
    admin = connect(kafka)
    admin.create_topics([NewTopic(name, partitions, 1, config=dict(settings))])[name].result(30)


def topics_of(kafka: str, namespace: str) -> dict[str, int]:
    topics = connect(kafka).list_topics(timeout=10).topics
    found = {name: len(topic.partitions) for name, topic in topics.items()}
    return {name: count for name, count in found.items() if name.startswith(f"{namespace}.")}


def meta_end(kafka: str, namespace: str) -> int:
    admin = connect(kafka)
    return partition_ends(admin, f"{namespace}.meta", 0)[1]


def obey(kafka: str, command: str) -> None:
    """Do what a command line of ``kafka-configs.sh`` does."""
    words = command.split()
    assert words[:5] == [
        "kafka-configs.sh",
        "--bootstrap-server",
        kafka,
        "--alter",
        "--entity-type",
    ]
    assert (words[6], words[8]) == ("--entity-name", "--add-config")
    kind = {"topics": ResourceType.TOPIC, "brokers": ResourceType.BROKER}[words[5]]
    changes = []
    for setting in words[9].split(","):
        key, value = setting.split("=")
        changes.append(ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET))
    resource = ConfigResource(kind, words[7], incremental_configs=changes)
    admin = connect(kafka)
    admin.incremental_alter_configs([resource])[resource].result(30)


def test_missing_topics_are_made_as_described_and_written_down(kafka: str, namespace: str) -> None:
    names = [f"{namespace}.{name}" for name in ("meta", "heads", "events.0")]
    ensured = ensure_topics(kafka, namespace)
    assert sorted(ensured.made) == sorted(names)
    assert topics_of(kafka, namespace) == dict(zip(names, (1, 12, 12), strict=True))
    assert (ensured.meta.layouts, ensured.meta.heads) == ({0: 12}, 12)
    assert {id.fingerprint: text for id, text in ensured.meta.schemas.items()} == PUBLISHED_SCHEMAS
    found = Cluster(KafkaSettings(bootstrap=kafka), 10.0).find(all_topics(namespace))
    for topic in all_topics(namespace):
        wanted = topic.settings(found[topic.name].replicas)
        assert wanted.items() <= found[topic.name].settings.items()
    assert ensured.replicas == min(3, ensured.brokers)
    assert ensured.servers_checked


def test_a_second_call_makes_and_writes_nothing(kafka: str, namespace: str) -> None:
    first = ensure_topics(kafka, namespace, partitions=2)
    end = meta_end(kafka, namespace)
    assert end == 2 + len(PUBLISHED_SCHEMAS)
    second = ensure_topics(kafka, namespace)
    assert second.made == ()
    assert second.meta == first.meta
    assert meta_end(kafka, namespace) == end


def test_what_was_made_and_not_written_down_is_taken_up(kafka: str, namespace: str) -> None:
    """A process that died between the two, or a version without meta."""
    wanted = all_topics(namespace)[-1]
    make_topic(kafka, wanted.name, 12, wanted.settings(1))
    ensured = ensure_topics(kafka, namespace)
    assert sorted(ensured.made) == [f"{namespace}.heads", f"{namespace}.meta"]
    assert ensured.meta.layouts == {0: 12}


def test_a_topic_with_other_settings_is_refused_until_the_command_that_it_names_is_run(
    kafka: str, namespace: str
) -> None:
    name = f"{namespace}.events.0"
    losing = {"retention.ms": "1000", "cleanup.policy": "compact", "max.message.bytes": "1048588"}
    make_topic(kafka, name, 12, losing)
    with pytest.raises(TopicMismatch) as caught:
        ensure_topics(kafka, namespace)
    error = caught.value
    assert error.topic == name
    found = {each.setting: (each.expected, each.found) for each in error.differences}
    assert found["retention.ms"] == ("-1", "1000")
    assert found["cleanup.policy"] == ("delete", "compact")
    assert found["max.message.bytes"] == ("at least 9437184", "1048588")
    assert "retention.ms: expected -1, found 1000 (events would be deleted by age)" in str(error)
    assert len(error.mend) == 1
    assert error.mend[0] in str(error)
    obey(kafka, error.mend[0])
    assert name not in ensure_topics(kafka, namespace).made


@pytest.mark.parametrize("name", ["heads", "meta"])
def test_hints_and_layouts_that_would_be_deleted_by_age_are_refused(
    kafka: str, namespace: str, name: str
) -> None:
    ensure_topics(kafka, namespace, partitions=1)
    obey(
        kafka,
        f"kafka-configs.sh --bootstrap-server {kafka} --alter --entity-type topics "
        f"--entity-name {namespace}.{name} --add-config cleanup.policy=delete",
    )
    with pytest.raises(TopicMismatch, match=r"cleanup\.policy: expected compact") as caught:
        ensure_topics(kafka, namespace)
    assert caught.value.topic == f"{namespace}.{name}"


def test_the_count_that_a_namespace_was_made_with_holds_for_ever(
    kafka: str, namespace: str
) -> None:
    ensure_topics(kafka, namespace, partitions=2)
    assert ensure_topics(kafka, namespace).meta.layouts == {0: 2}
    assert ensure_topics(kafka, namespace, partitions=2).made == ()
    with pytest.raises(TopicMismatch, match="partitions: expected 2, found 3"):
        ensure_topics(kafka, namespace, partitions=3)


@pytest.mark.parametrize("name", ["events.0", "heads", "meta"])
def test_partitions_that_someone_added_are_refused(kafka: str, namespace: str, name: str) -> None:
    ensure_topics(kafka, namespace, partitions=1)
    topic = f"{namespace}.{name}"
    admin = connect(kafka)
    admin.create_partitions([NewPartitions(topic, 2)])[topic].result(30)
    with pytest.raises(TopicMismatch, match="partitions: expected 1, found 2") as caught:
        ensure_topics(kafka, namespace)
    assert caught.value.topic == topic


def test_a_count_that_nothing_explains_is_refused_and_taken_when_it_is_said(
    kafka: str, namespace: str
) -> None:
    make_topic(kafka, f"{namespace}.events.0", 3, all_topics(namespace)[-1].settings(1))
    with pytest.raises(TopicMismatch, match="partitions: expected 12, found 3") as caught:
        ensure_topics(kafka, namespace)
    assert "ensure_topics(partitions=3)" in caught.value.mend[0]
    assert read_meta(KafkaSettings(bootstrap=kafka, namespace=namespace)) == Meta()
    assert ensure_topics(kafka, namespace, partitions=3).made == (f"{namespace}.heads",)
    assert ensure_topics(kafka, namespace).meta.layouts == {0: 3}


def test_a_count_that_another_process_is_about_to_write_down_is_waited_for(
    kafka: str, namespace: str
) -> None:
    for topic in all_topics(namespace, layouts={0: 5}, heads=5):
        make_topic(kafka, topic.name, topic.partitions, topic.settings(1))
    producer = Producer({"bootstrap.servers": kafka})
    producer.list_topics(timeout=30)  # so that it is quick later

    def write_down() -> None:
        for key, value in (layout_record(0, 5), heads_record(5)):
            producer.produce(f"{namespace}.meta", value, key, 0)
        producer.flush(30)

    late = threading.Timer(0.3, write_down)
    late.start()
    try:
        assert ensure_topics(kafka, namespace).meta.layouts == {0: 5}
    finally:
        late.join()


@pytest.mark.parametrize("name", ["events.0", "heads"])
def test_a_topic_that_was_deleted_is_not_made_again_empty(
    kafka: str, namespace: str, name: str
) -> None:
    ensure_topics(kafka, namespace, partitions=1)
    topic = f"{namespace}.{name}"
    admin = connect(kafka)
    admin.delete_topics([topic])[topic].result(30)
    with pytest.raises(TopicGone) as caught:
        ensure_topics(kafka, namespace)
    assert caught.value.topic == topic
    assert topic not in topics_of(kafka, namespace)


_RACER = """
import json, sys
from turnlog.broker import ensure_topics
print(flush=True)
for namespace in sys.stdin:
    ensured = ensure_topics(sys.argv[1], namespace.strip())
    print(json.dumps([ensured.made, sorted(ensured.meta.layouts.items())]), flush=True)
"""


def test_processes_that_ensure_at_once_all_succeed_and_make_each_topic_once(
    kafka: str, namespace: str
) -> None:
    command = [sys.executable, "-c", _RACER, kafka]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    try:
        for racer in racers:
            hear(racer)
        for race in range(5):
            for racer in racers:
                assert racer.stdin is not None
                racer.stdin.write(f"{namespace}-{race}\n")
                racer.stdin.flush()
            answers = [json.loads(hear(racer)) for racer in racers]
            made = [name for names, _ in answers for name in names]
            assert sorted(made) == sorted(t.name for t in all_topics(f"{namespace}-{race}"))
            assert [layouts for _, layouts in answers] == [[[0, 12]]] * 3
    finally:
        for racer in racers:
            with racer:
                racer.kill()


def hear(racer: "subprocess.Popen[str]") -> str:
    assert racer.stdout is not None
    line = racer.stdout.readline()
    assert line, "it ended: its error stands above"
    return line


def test_fewer_replicas_than_asked_for_are_refused(kafka: str, namespace: str) -> None:
    for topic in all_topics(namespace):
        make_topic(kafka, topic.name, topic.partitions, topic.settings(1))
    with pytest.raises(TopicMismatch, match="replication factor: expected at least 3, found 1"):
        ensure_topics(kafka, namespace, replication_factor=3)


def test_a_topic_is_not_made_by_itself(kafka: str, namespace: str) -> None:
    admin = connect(kafka)
    admin.list_topics(f"{namespace}.events.0", timeout=10)
    assert topics_of(kafka, namespace) == {}


def test_a_cluster_that_is_not_there_is_unavailable_in_the_time_given() -> None:
    nowhere = f"127.0.0.1:{free_ports(None).client}"
    begin = time.monotonic()
    with pytest.raises(BrokerUnavailable):
        ensure_topics(nowhere, "n", timeout_s=1.0)
    assert time.monotonic() - begin < 10.0


def test_a_bad_namespace_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(BadNamespace):
        ensure_topics("127.0.0.1:1", "a b")


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"partitions": 0}, "partitions"), ({"replication_factor": 99}, "replication")],
)
def test_what_kafka_refuses_is_a_broker_error_with_its_reason(
    kafka: str, namespace: str, options: dict[str, int], reason: str
) -> None:
    with pytest.raises(BrokerError, match=f"(?i){reason}"):
        ensure_topics(kafka, namespace, **options)  # type: ignore[arg-type]


@pytest.fixture
def own_kafka(tmp_path: Path, jar_cache: Path) -> Iterator[str]:
    """A broker whose settings a test may change."""
    with EmbeddedBroker(tmp_path / "home", jars=jar_cache) as broker:
        yield broker.bootstrap


def test_a_broker_that_elects_unclean_leaders_is_refused_until_its_command_is_run(
    own_kafka: str, namespace: str
) -> None:
    setting = "unclean.leader.election.enable"
    command = f"kafka-configs.sh --bootstrap-server {own_kafka} --alter --entity-type brokers"
    obey(own_kafka, f"{command} --entity-name 1 --add-config {setting}=true")
    refused = eventually_refused(lambda: ensure_topics(own_kafka, namespace))
    assert refused.broker == 1
    assert [each.setting for each in refused.differences] == [setting]
    assert topics_of(own_kafka, namespace) == {}
    obey(own_kafka, refused.mend[1])  # the first is the cluster's, which has none
    assert eventually_accepted(lambda: ensure_topics(own_kafka, namespace)).servers_checked


def eventually_refused(call: Callable[[], Ensured]) -> ServerMismatch:
    """Call until the broker has heard of its new setting."""
    deadline = time.monotonic() + 30.0
    while True:
        try:
            call()
        except ServerMismatch as error:
            return error
        assert time.monotonic() < deadline


def eventually_accepted(call: Callable[[], Ensured]) -> Ensured:
    deadline = time.monotonic() + 30.0
    while True:
        try:
            return call()
        except ServerMismatch:
            assert time.monotonic() < deadline


def test_the_delivery_report_is_waited_for_where_a_failover_could_take_back_what_was_read() -> None:
    def ensured(brokers: int, level: int | None) -> Ensured:
        return Ensured((), Meta(), brokers, min(3, brokers), level, servers_checked=True)

    assert [ensured(*each).needs_delivery_reports for each in [(1, None), (3, 1), (2, 2)]] == [
        False
    ] * 3
    for level, shown in [(0, "found 0"), (None, "found nothing")]:
        several = ensured(3, level)
        assert several.needs_delivery_reports
        assert shown in several.warnings[0]
        assert "eligible.leader.replicas.version=1" in several.warnings[0]
    assert ensured(3, 1).warnings == []
    unseen = Ensured((), Meta(), 1, 1, None, servers_checked=False)
    assert ["not checked" in line for line in unseen.warnings] == [True]
