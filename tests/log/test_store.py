"""What the Kafka store does beyond the contract of every store."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from tests.log.conftest import Stores
from turnlog.events import (
    BadShape,
    Conflict,
    Draft,
    LayoutMismatch,
    OwnedElsewhere,
    SessionExists,
    Superseded,
    TooLarge,
    decode_commit,
)
from turnlog.events.commit import Kind
from turnlog.events.hint import Hint, decode_hint
from turnlog.log import KafkaSettings, KafkaStore, PartitionLog, partition_of

PARTITIONS = 4


def text(value: str) -> dict[str, object]:
    return {"title": value, "sourceSeqs": [], "source": "user"}


def hints(settings: KafkaSettings) -> dict[str, list[Hint]]:
    """All that was written to heads, session by session, in order."""
    consumer = Consumer(
        {
            "bootstrap.servers": settings.bootstrap,
            "group.id": "outside",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(settings.heads_topic, n, 0) for n in range(PARTITIONS)])
    found: dict[str, list[Hint]] = {}
    ended: set[int | None] = set()
    while len(ended) < PARTITIONS:
        message = consumer.poll(10)
        assert message is not None
        key, value = message.key(), message.value()
        if message.error() is not None:
            ended.add(message.partition())
        elif key is not None and value is not None:
            found.setdefault(key.decode(), []).append(decode_hint(value))
    consumer.close()
    return found


def commits(settings: KafkaSettings, session: str) -> list[Kind]:
    with PartitionLog(settings, partition_of(session, PARTITIONS)) as log:
        accepted = [record.verdict.commit for record in log.records() if record.verdict.accepted]
    return [commit.kind for commit in accepted if commit is not None]


def test_an_open_session_is_told_at_once_that_it_was_taken(stores: Stores) -> None:
    told: list[object] = []
    session = stores(window_s=60).create("s")
    session.append("session/title", text("kept"))
    session.flush()
    lost = session.append("session/title", text("lost"))
    stores().open("s", take_over=True)
    deadline = time.monotonic() + 5
    while not session.closed and time.monotonic() < deadline:
        time.sleep(0.01)
    told.extend(event.seq for event in session.not_landed)
    assert told == [lost.seq]
    for call in (session.messages, session.flush, lambda: session.append("x", {})):
        with pytest.raises(Superseded):
            call()


def test_a_barrier_of_a_taken_session_holds_though_nothing_is_pending(stores: Stores) -> None:
    session = stores(window_s=60).create("s")
    session.flush()
    stores().open("s", take_over=True)
    time.sleep(0.5)
    with pytest.raises(Superseded):
        session.flush()


def test_hints_say_where_a_session_is(stores: Stores, settings: KafkaSettings) -> None:
    session = stores().create("s")
    session.append("session/title", text("The title"))
    head = session.flush()
    session.detach()
    stores().close()
    time.sleep(0.2)
    unborn, opened, *_, last = hints(settings)["s"]
    assert (unborn.open_offset, unborn.hash) == (None, None)
    assert (opened.open_offset, opened.offset, opened.next_seq, opened.released) == (0, 0, 0, False)
    assert (last.open_offset, last.next_seq, last.released) == (0, head.next_seq, True)
    assert (last.title, last.complete) == ("The title", True)
    assert last.header == session.header.text


def test_new_ids_are_minted_for_the_home_partitions(
    stores: Stores, settings: KafkaSettings
) -> None:
    home = KafkaSettings(
        bootstrap=settings.bootstrap, namespace=settings.namespace, home_partitions=(1, 3)
    )
    with KafkaStore(home) as store:
        places = {partition_of(store.create().id, PARTITIONS) for _ in range(12)}
        assert places == {1, 3}
        elsewhere = next(f"id{n}" for n in range(99) if partition_of(f"id{n}", PARTITIONS) == 0)
        store.create(elsewhere).flush()
    for wrong in ((), (4,), (-1,)):
        with pytest.raises(BadShape):
            KafkaStore(
                KafkaSettings(
                    bootstrap=settings.bootstrap,
                    namespace=settings.namespace,
                    home_partitions=wrong,
                )
            )


def test_a_topic_of_another_size_than_meta_says_is_refused(settings: KafkaSettings) -> None:
    admin = AdminClient({"bootstrap.servers": settings.bootstrap, "log_level": 0})
    for future in admin.create_partitions([NewPartitions(settings.events_topic, 6)]).values():
        future.result(10)
    with pytest.raises(LayoutMismatch) as refused:
        KafkaStore(settings)
    assert (refused.value.expected, refused.value.found) == (PARTITIONS, 6)


def test_a_group_is_one_commit_and_large_ones_land(stores: Stores, settings: KafkaSettings) -> None:
    session = stores(window_s=60).create("s")
    session.append_all([Draft("session/title", text("x" * 1_000_000)) for _ in range(8)])
    session.append("session/title", text("y" * 8_000_000))
    for _ in range(3):
        session.append("session/title", text("z" * 400_000))
    session.flush()
    assert stores().read("s").next_seq == 12
    # The group, the large event, and one for each of the others: two are more than 768 KiB.
    assert commits(settings, "s").count(Kind.EVENTS) == 2 + 3
    with pytest.raises(TooLarge):
        session.append("session/title", text("x" * 8_400_000))
    with pytest.raises(TooLarge):
        session.append_all([Draft("session/title", text("x" * 1_100_000)) for _ in range(8)])


def test_one_of_ten_claims_wins_and_its_events_land(stores: Stores) -> None:
    first = stores().create("s")
    first.append("session/title", text("0"))
    first.detach()
    rivals = [stores(window_s=60) for _ in range(6)]
    start = threading.Barrier(len(rivals))

    def claim(store: KafkaStore) -> str:
        start.wait()
        try:
            session = store.open("s")
            session.append("session/title", text("mine"))
            session.flush()
        except (OwnedElsewhere, Conflict, Superseded) as error:
            return type(error).__name__
        return "won"

    with ThreadPoolExecutor(len(rivals)) as threads:
        answers = list(threads.map(claim, rivals))
    # Who claims after a claim that was not released is told so.
    assert answers.count("won") == 1
    log = stores().read("s")
    titles = [event.data["title"] for event in log.events() if event.type == "session/title"]
    assert titles == ["0", "mine"]


def test_one_of_ten_creations_wins(stores: Stores) -> None:
    rivals = [stores() for _ in range(6)]
    start = threading.Barrier(len(rivals))

    def create(store: KafkaStore) -> bool:
        start.wait()
        try:
            store.create("s")
        except SessionExists:
            return False
        return True

    with ThreadPoolExecutor(len(rivals)) as threads:
        assert list(threads.map(create, rivals)).count(True) == 1


def test_events_of_one_session_say_who_owns_it_in_its_marks_alone(
    stores: Stores, settings: KafkaSettings
) -> None:
    store = stores()
    session = store.create("s")
    session.append("session/title", text("0"))
    session.flush()
    session.detach()
    consumer = Consumer(
        {"bootstrap.servers": settings.bootstrap, "group.id": "outside", "log_level": 0}
    )
    consumer.assign([TopicPartition(settings.events_topic, partition_of("s", PARTITIONS), 0)])
    writers = []
    for _ in range(3):
        message = consumer.poll(10)
        assert message is not None
        value = message.value()
        assert value is not None
        commit = decode_commit(value)
        writers.append((commit.kind, bool(commit.writer), "host" in commit.writer_info))
    consumer.close()
    assert writers == [
        (Kind.OPEN, True, True),
        (Kind.EVENTS, False, False),
        (Kind.RELEASE, True, True),
    ]


def test_protocol_settings_can_not_be_taken_back() -> None:
    settings = KafkaSettings(
        bootstrap="x:1",
        client={
            "acks": "0",
            "enable.idempotence": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "latest",
            "linger.ms": 7,
            "bootstrap.servers": "y:2",
        },
    )
    producer, consumer = settings.producer(), settings.consumer()
    assert (producer["acks"], producer["enable.idempotence"]) == ("all", True)
    assert (consumer["isolation.level"], consumer["auto.offset.reset"]) == (
        "read_uncommitted",
        "error",
    )
    assert producer["linger.ms"] == 7
    assert producer["bootstrap.servers"] == consumer["bootstrap.servers"] == "x:1"
