"""The ends of a topic's partitions: those who ask at the same time ask once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from turnlog.events.errors import BrokerError

__all__ = ["Ends"]


class Ends:
    """Answers where partitions end, as of the question or later; thread-safe.

    While one question is on its way, those that come wait for the next, which is asked for all of
    them by one of them. What fails for many is asked again by each alone: one partition without a
    leader keeps nobody from another.
    """

    def __init__(self, ask: Callable[[Iterable[int]], Mapping[int, int]]) -> None:
        self._ask = ask
        self._wanted: set[int] = set()
        self._round = 0  # the last that was begun
        self._is_asking = False
        self._answers: dict[int, Mapping[int, int]] = {}  # by round; empty where it failed
        self._waiting: dict[int, int] = {}
        self._changed = threading.Condition()

    def high_watermark(self, partition: int) -> int:
        """The offset behind the last readable record of a partition. Raises BrokerError."""
        with self._changed:
            mine = self._round + 1
            self._wanted.add(partition)
            self._waiting[mine] = self._waiting.get(mine, 0) + 1
            try:
                while mine not in self._answers and self._is_asking:
                    self._changed.wait()
                if mine not in self._answers:
                    self._run(mine)
                answers = self._answers[mine]
            finally:
                self._leave(mine)
        if partition in answers:
            return answers[partition]
        return self._ask([partition])[partition]

    def _leave(self, mine: int) -> None:
        self._waiting[mine] -= 1
        if not self._waiting[mine]:
            del self._waiting[mine]
            self._answers.pop(mine, None)

    def _run(self, mine: int) -> None:
        """Ask for all that wait; under the lock, which is let go meanwhile."""
        wanted, self._wanted = self._wanted, set()
        self._round = mine
        self._is_asking = True
        self._changed.release()
        answers: Mapping[int, int] = {}
        try:
            answers = self._ask(wanted)
        except BrokerError:
            pass  # each asks alone, and hears why
        finally:
            self._changed.acquire()
            self._is_asking = False
            self._answers[mine] = answers
            self._changed.notify_all()
