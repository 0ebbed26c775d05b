"""A writer's own records on their way: known by their bytes, and held back until they stay."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from types import MappingProxyType

from turnlog.events.commit import Commit

from .messages import Record

__all__ = ["OwnRecords"]


class OwnRecords:
    """What one writer handed over of one session, and the order in which its records are taken.

    Pure. Where reading back alone does not prove that a record stays, `waits_for_reports`: an own
    one is then let through only once it is reported delivered, and holds back those behind it. A
    report of failure proves nothing, for the record may stand in the log all the same: one that
    waits at the front is to be produced again, byte for byte. The copy never counts (it is a
    duplicate, or stale), and with `acks=all` its report is one of all that is before it, too.
    """

    def __init__(self, *, waits_for_reports: bool) -> None:
        self._waits_for_reports = waits_for_reports
        self._commits: dict[bytes, Commit] = {}
        self._has_failed: dict[bytes, bool] = {}
        self._held: deque[Record] = deque()
        self.commits: Mapping[bytes, Commit] = MappingProxyType(self._commits)

    @property
    def is_holding(self) -> bool:
        """Whether a record waits."""
        return bool(self._held)

    def expect(self, value: bytes, commit: Commit) -> None:
        """Take note that a record is handed over."""
        self._commits[value] = commit
        if self._waits_for_reports:
            self._has_failed[value] = False

    def reported(self, value: bytes, *, delivered: bool) -> None:
        """Hear what is reported of a record, or of a copy of it."""
        if delivered:
            self._has_failed.pop(value, None)
        elif value in self._has_failed:
            self._has_failed[value] = True

    def all_failed(self) -> None:
        """Hear that no report is to come any more."""
        self._has_failed = dict.fromkeys(self._has_failed, True)

    def expect_none(self) -> None:
        """Let all through: what is still expected can't count any more."""
        self._commits.clear()
        self._has_failed.clear()

    def put(self, record: Record) -> None:
        """Take the session's next record, in offset order."""
        self._held.append(record)

    def next(self) -> Record | None:
        """Give the next record that is let through, if there is one; each once."""
        if not self._held or self._held[0].value in self._has_failed:
            return None
        return self._held.popleft()

    def forget(self, record: Record) -> None:
        """Hear that a record is accepted."""
        if record.value is not None:
            self._commits.pop(record.value, None)

    def to_repeat(self) -> tuple[bytes, Commit] | None:
        """Give what is to be produced again, if there is something."""
        value = self._held[0].value if self._held else None
        if value is None or not self._has_failed.get(value):
            return None
        return value, self._commits[value]
