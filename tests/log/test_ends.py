"""Who asks for ends while a question is on its way shares the next one."""

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest

from turnlog.events import BrokerUnavailable
from turnlog.log.ends import Ends

WITHIN_S = 20.0


class Log:
    """Partitions that grow by one with each question; the first may be held up."""

    def __init__(self, leaderless: Iterable[int] = ()) -> None:
        self.asked: list[set[int]] = []
        self.may_answer = threading.Event()
        self.is_asked = threading.Event()
        self._leaderless = set(leaderless)

    def ask(self, partitions: Iterable[int]) -> dict[int, int]:
        wanted = set(partitions)
        self.asked.append(wanted)
        number = len(self.asked)
        self.is_asked.set()
        assert self.may_answer.wait(WITHIN_S)
        if wanted & self._leaderless:
            raise BrokerUnavailable("no leader")
        return {partition: 100 * partition + number for partition in wanted}


def test_one_after_the_other_each_asks_anew() -> None:
    log = Log()
    log.may_answer.set()
    ends = Ends(log.ask)
    assert [ends.high_watermark(1), ends.high_watermark(1), ends.high_watermark(2)] == [
        101,
        102,
        203,
    ]


def test_those_that_come_during_a_question_share_the_next_one() -> None:
    log = Log()
    ends = Ends(log.ask)
    with ThreadPoolExecutor(9) as threads:
        first = threads.submit(ends.high_watermark, 1)
        assert log.is_asked.wait(WITHIN_S)
        others = [threads.submit(ends.high_watermark, 1 + n % 4) for n in range(8)]
        while len(ends._waiting) < 2 or ends._waiting[2] < 8:
            pass
        log.may_answer.set()
        assert first.result(WITHIN_S) == 101
        assert [each.result(WITHIN_S) for each in others] == [102, 202, 302, 402] * 2
    assert log.asked == [{1}, {1, 2, 3, 4}]
    assert (ends._waiting, ends._answers) == ({}, {})


def test_a_partition_without_a_leader_keeps_nobody_from_another() -> None:
    log = Log(leaderless=[3])
    ends = Ends(log.ask)
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(ends.high_watermark, 1)
        assert log.is_asked.wait(WITHIN_S)
        good, bad = (threads.submit(ends.high_watermark, each) for each in (2, 3))
        while len(ends._waiting) < 2 or ends._waiting[2] < 2:
            pass
        log.may_answer.set()
        assert first.result(WITHIN_S) == 101
        assert good.result(WITHIN_S) > 200
        with pytest.raises(BrokerUnavailable):
            bad.result(WITHIN_S)
