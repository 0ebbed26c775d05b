"""Reading sessions and partitions: hints, cut logs, foreign records, starts inside the log."""

import time
from collections import Counter
from collections.abc import Iterable

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.log.conftest import Stores
from turnlog.events import LogEndPassed, LogStartCut, UnknownSession
from turnlog.events.hint import Hint, encode_hint
from turnlog.kernel.ledger import VerdictKind
from turnlog.log import FromOffset, FromTime, KafkaSettings, LogRecord, PartitionLog, partition_of
from turnlog.session import Session

PARTITIONS = 4


def talk(session: Session, flushes: int) -> None:
    """One commit for each flush."""
    for turn in range(1, flushes + 1):
        session.append("turn/start" if turn % 2 else "turn/end", _data(turn))
        session.flush()


def _data(turn: int) -> dict[str, object]:
    number = (turn + 1) // 2
    return {"turn": number} if turn % 2 else {"turn": number, "reason": {"kind": "completed"}}


def kinds(records: Iterable[LogRecord]) -> Counter[VerdictKind]:
    return Counter(record.verdict.kind for record in records)


def put(settings: KafkaSettings, session: str, value: bytes | None, *, heads: bool = False) -> None:
    """Write one record as somebody else might."""
    producer = Producer({"bootstrap.servers": settings.bootstrap, "log_level": 0})
    topic = settings.heads_topic if heads else settings.events_topic
    producer.produce(
        topic, key=session.encode(), value=value, partition=partition_of(session, PARTITIONS)
    )
    assert producer.flush(10) == 0


def cut_log(settings: KafkaSettings, partition: int, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": settings.bootstrap, "log_level": 0})
    place = TopicPartition(settings.events_topic, partition, offset)
    for future in admin.delete_records([place]).values():
        future.result(10)


def foreign_transaction(settings: KafkaSettings, session: str, *, end: str) -> Producer:
    """A transaction of somebody else's in the session's partition; `end` is how it ends."""
    producer = Producer(
        {
            "bootstrap.servers": settings.bootstrap,
            "transactional.id": f"foreign-{settings.namespace}",
            "log_level": 0,
        }
    )
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce(
        settings.events_topic,
        key=b"foreign",
        value=b"not ours",
        partition=partition_of(session, PARTITIONS),
    )
    assert producer.flush(10) == 0
    if end == "commit":
        producer.commit_transaction(10)
    elif end == "abort":
        producer.abort_transaction(10)
    return producer


@pytest.mark.parametrize("end", ["commit", "abort", "open"])
def test_a_foreign_transaction_holds_nobody_back(
    stores: Stores, settings: KafkaSettings, end: str
) -> None:
    store = stores()
    session = store.create("s")
    talk(session, 2)
    producer = foreign_transaction(settings, "s", end=end)
    assert stores().read("s").next_seq == 2
    # The live tail passes its markers too, and so does one that starts behind them.
    session.append("turn/start", {"turn": 2})
    session.flush()
    opened = stores().open("s", take_over=True)
    assert opened.log.next_seq > 3
    with PartitionLog(settings, partition_of("s", PARTITIONS)) as log:
        found = kinds(log.records())
    assert found[VerdictKind.BROKEN] == 1
    del producer


def test_a_partition_is_read_from_an_offset_a_time_and_a_position(
    stores: Stores, settings: KafkaSettings
) -> None:
    session = stores().create("s")
    partition = partition_of("s", PARTITIONS)
    talk(session, 4)
    time.sleep(0.01)
    between_ms = time.time_ns() // 1_000_000
    time.sleep(0.01)
    with PartitionLog(settings, partition) as log:
        assert kinds(log.records()) == {VerdictKind.ACCEPTED: 5}
        position = log.position
    session.append("turn/start", {"turn": 3})
    session.flush()
    with PartitionLog(settings, partition, position) as log:
        records = list(log.records())
        assert [(r.offset, r.verdict.kind) for r in records] == [(5, VerdictKind.ACCEPTED)]
    with PartitionLog(settings, partition, FromTime(between_ms)) as log:
        assert [record.offset for record in log.records()] == [5]
    with PartitionLog(settings, partition, FromTime(between_ms + 3_600_000)) as log:
        assert list(log.records()) == []


def test_a_session_that_began_before_is_unproven_until_it_is_learnt(
    stores: Stores, settings: KafkaSettings
) -> None:
    session = stores().create("s")
    talk(session, 4)
    partition = partition_of("s", PARTITIONS)
    with PartitionLog(settings, partition, FromOffset(3)) as log:
        assert kinds(log.records()) == {VerdictKind.UNPROVEN: 2}
        assert log.position.heads == {}
        log.learn("s")
        session.append("turn/start", {"turn": 3})
        session.flush()
        assert kinds(log.records()) == {VerdictKind.ACCEPTED: 1}
    with PartitionLog(settings, partition, FromOffset(3)) as log:
        assert kinds(log.records(learn=True)) == {VerdictKind.ACCEPTED: 3}
        assert log.position.heads["s"] == session.head


def test_a_start_before_the_log_s_start_is_refused_with_the_lost_range(
    stores: Stores, settings: KafkaSettings
) -> None:
    session = stores().create("s")
    talk(session, 4)
    partition = partition_of("s", PARTITIONS)
    cut_log(settings, partition, 3)
    with pytest.raises(LogStartCut) as cut:
        PartitionLog(settings, partition)
    assert (cut.value.asked_offset, cut.value.log_start_offset) == (0, 3)
    with pytest.raises(LogStartCut) as cut:
        stores().read("s")
    assert (cut.value.asked_offset, cut.value.log_start_offset) == (0, 3)
    with pytest.raises(LogStartCut):
        stores().open("s", take_over=True)


def test_a_start_behind_the_log_s_end_is_refused(stores: Stores, settings: KafkaSettings) -> None:
    talk(stores().create("s"), 2)
    partition = partition_of("s", PARTITIONS)
    with PartitionLog(settings, partition, FromOffset(3)) as log:
        assert list(log.records()) == []
        position = log.position
    for start in (FromOffset(4), position._replace(offset=9)):
        with pytest.raises(LogEndPassed) as passed:
            PartitionLog(settings, partition, start)
        assert (passed.value.asked_offset, passed.value.log_end_offset) == (start.offset, 3)


def test_a_cut_log_without_a_hint_shows_no_session_as_whole(
    stores: Stores, settings: KafkaSettings
) -> None:
    talk(stores().create("s"), 4)
    partition = partition_of("s", PARTITIONS)
    put(settings, "s", None, heads=True)
    assert stores().read("s").next_seq == 4
    cut_log(settings, partition, 2)
    with pytest.raises(LogStartCut):
        stores().read("s")
    with pytest.raises(UnknownSession):
        stores().read("never-there")


@pytest.mark.parametrize(
    "wrong",
    [
        {"open_offset": 2, "offset": 3},
        {"open_offset": 10_000, "offset": 10_000},
        {"open_offset": 0, "offset": 0, "cluster_id": "another"},
        {"open_offset": 0, "offset": 0, "layout": 7},
    ],
)
def test_a_wrong_hint_is_passed_over(
    stores: Stores, settings: KafkaSettings, wrong: dict[str, object]
) -> None:
    writer = stores()
    session = writer.create("s")
    talk(session, 4)
    session.detach()
    fields: dict[str, object] = {
        "cluster_id": writer_cluster(settings),
        "layout": 0,
        "partition": partition_of("s", PARTITIONS),
        **wrong,
    }
    put(settings, "s", encode_hint(Hint(**fields)), heads=True)  # type: ignore[arg-type]
    assert stores().read("s").next_seq == 4
    opened = stores().open("s")
    assert opened.first_live_seq == 4


def test_a_hint_with_a_spoilt_header_hides_no_session(
    stores: Stores, settings: KafkaSettings
) -> None:
    session = stores().create("s")
    talk(session, 2)
    hint = Hint(
        cluster_id=writer_cluster(settings),
        layout=0,
        partition=partition_of("s", PARTITIONS),
        offset=0,
        open_offset=0,
        complete=True,
        header=b"[not a header",
    )
    put(settings, "s", encode_hint(hint), heads=True)
    assert [(info.id, info.next_seq) for info in stores().sessions()] == [("s", 2)]


@pytest.mark.parametrize("junk", [b"", b"\xc3\x01", b"\xc3\x01" + bytes(8), b"x" * 100])
def test_junk_in_heads_is_no_hint(stores: Stores, settings: KafkaSettings, junk: bytes) -> None:
    talk(stores().create("s"), 2)
    put(settings, "s", junk, heads=True)
    assert stores().read("s").next_seq == 2


def test_what_others_put_beside_a_session_changes_nothing(
    stores: Stores, settings: KafkaSettings
) -> None:
    session = stores().create("s")
    talk(session, 2)
    for value in (None, b"", b"\xc3\x01junk", b"x" * 1000):
        put(settings, "s", value)
    session.append("turn/start", {"turn": 2})
    session.flush()
    assert stores().read("s").next_seq == 3


def writer_cluster(settings: KafkaSettings) -> str:
    admin = AdminClient({"bootstrap.servers": settings.bootstrap, "log_level": 0})
    return str(admin.list_topics(timeout=10).cluster_id)
