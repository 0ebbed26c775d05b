"""Asking for offsets of a broker that has just come back, and knows no leader yet."""

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec

from turnlog.events import BrokerUnavailable
from turnlog.log import reader
from turnlog.log.reader import partition_offsets


class Waking:
    """Answers some questions with an error each, and later ones with offset 7."""

    def __init__(self, *errors: int) -> None:
        self._errors = list(errors)

    def list_offsets(
        self, asked: Mapping[TopicPartition, OffsetSpec], **_: Any
    ) -> dict[TopicPartition, Future[ListOffsetsResultInfo]]:
        future: Future[ListOffsetsResultInfo] = Future()
        if self._errors:
            future.set_exception(KafkaException(KafkaError(self._errors.pop(0))))
        else:
            future.set_result(ListOffsetsResultInfo(7, 0, 0))
        return dict.fromkeys(asked, future)

    def list_topics(self, *_: Any, **__: Any) -> None:
        pass


def offsets(*errors: int) -> dict[int, int]:
    admin = cast(AdminClient, Waking(*errors))
    return partition_offsets(admin, "t", [3], OffsetSpec.latest())


@pytest.mark.parametrize(
    "code",
    [
        KafkaError._NOENT,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
    ],
)
def test_a_leader_that_is_not_known_yet_is_asked_for_again(code: int) -> None:
    assert offsets(code, code) == {3: 7}


def test_one_that_stays_unknown_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_ADMIN_TIMEOUT_S", 0.2)
    with pytest.raises(BrokerUnavailable, match="NOENT"):
        offsets(*[KafkaError._NOENT] * 1000)
