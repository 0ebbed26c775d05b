"""A store that counts a record only once it is also reported delivered."""

import threading
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, Message

from tests.log.conftest import Stores
from turnlog.events import Superseded
from turnlog.kernel import VerdictKind
from turnlog.log import LOG_START, KafkaSettings, PartitionLog, partition_of
from turnlog.log import outlet as outlet_module
from turnlog.log import store as store_module
from turnlog.log.sender import Sender, Told

PARTITIONS = 4
TITLE = {"title": "t", "sourceSeqs": [], "source": {"kind": "user"}}


@pytest.fixture(autouse=True)
def _as_on_several_nodes_without_the_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "needs_reports", lambda brokers, level: True)


class Doubtful(Sender):
    """Reports the first so many deliveries as failures, as a time-out at a bad moment does."""

    failures = 0
    refused = threading.Event()

    def _watch(self, told: Told, topic: str) -> Callable[[KafkaError | None, Message], None]:
        report = super()._watch(told, topic)

        def doubtful(error: KafkaError | None, message: Message) -> None:
            if type(self).failures > 0:
                type(self).failures -= 1
                self.refused.set()
                error = KafkaError(KafkaError._MSG_TIMED_OUT)
            report(error, message)

        return doubtful


def test_a_session_lives_as_ever(stores: Stores) -> None:
    first, second = stores(), stores()
    session = first.create("s")
    for _ in range(3):
        session.append("session/title", TITLE)
        session.flush()
    assert session.acknowledged_seq == 3
    taken = second.open("s", take_over=True)
    taken.append("session/title", TITLE)
    taken.flush()
    with pytest.raises(Superseded):
        session.flush()
    end = taken.next_seq
    taken.detach()
    assert first.read("s").next_seq == end
    assert first.open("s").first_live_seq >= end


def test_what_is_reported_lost_and_was_read_is_produced_again_and_counts_once(
    stores: Stores, settings: KafkaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlet_module, "Sender", Doubtful)
    monkeypatch.setattr(Doubtful, "failures", 0)
    store = stores()
    session = store.create("s")
    Doubtful.refused.clear()
    Doubtful.failures = 2
    session.append("session/title", TITLE)
    session.flush(timeout_s=15)
    assert Doubtful.refused.is_set()
    assert session.acknowledged_seq == 1
    session.append("session/title", TITLE)
    session.flush()
    session.detach()
    assert store.read("s").next_seq == 2
    with PartitionLog(settings, partition_of("s", PARTITIONS), LOG_START) as log:
        kinds = [record.verdict.kind for record in log.records()]
    assert VerdictKind.BROKEN not in kinds
    assert len(kinds) > kinds.count(VerdictKind.ACCEPTED), "no copy was produced"
