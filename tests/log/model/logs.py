"""The logs that a model reached, as a tree: each log is the one before it and a record more.

The shipped ledger judges each record, made from the heads before it: a reader that starts there.
"""

from __future__ import annotations

from collections.abc import Mapping

from turnlog.events.commit import Kind
from turnlog.events.head import Head

from .scope import NAMESPACE, Append, Record, Rules, Violation
from .sides import Sides, session_id

__all__ = ["Log", "Logs"]


class Log:
    """One log, never changed: its last record, what counts in it, and the logs it begins with."""

    def __init__(
        self,
        number: int,
        begins: tuple[Log, ...],
        record: Record | None,
        accepted: bool,
        heads: Mapping[str, Head],
        landed: Mapping[str, tuple[Append, ...]],
    ) -> None:
        self.number = number
        self.record = record
        self.accepted = accepted
        self.heads = heads
        self.landed = landed
        self.begins = (*begins, self)
        self.all_landed = frozenset(append for appends in landed.values() for append in appends)
        self.next: dict[int, Log] = {}

    def __len__(self) -> int:
        return len(self.begins) - 1

    def head(self, session: int) -> Head | None:
        return self.heads.get(session_id(session))


class Logs:
    """All logs that a model reached, by number; 0 is the empty one."""

    def __init__(self, sides: Sides, rules: Rules) -> None:
        self._sides = sides
        self._rules = rules
        self._logs = [Log(0, (), None, False, {}, {})]

    def __getitem__(self, number: int) -> Log:
        return self._logs[number]

    def __len__(self) -> int:
        return len(self._logs)

    def longer(self, log: Log, record: int) -> Log:
        """The log with the record of this number behind it.

        Raises Violation where it gives a seq, or an event, a second time.
        """
        new = log.next.get(record)
        if new is None:
            new = log.next[record] = self._longer(log, self._sides.records[record])
            self._logs.append(new)
        return new

    def _longer(self, log: Log, record: Record) -> Log:
        commit = self._sides.commits[record.code]
        ledger = self._rules.ledger(NAMESPACE, heads=log.heads)
        accepted = ledger.judge(commit).accepted
        heads = dict(ledger.heads)
        if not accepted and heads != log.heads:
            raise Violation(f"a record that does not count moves the head: {commit}")
        landed = log.landed
        if accepted and commit.kind is Kind.EVENTS:
            id = commit.session_id
            before = landed.get(id, ())
            if commit.first_seq != len(before):
                raise Violation(
                    f"seq {commit.first_seq} is accepted where {len(before)} is the next one"
                )
            appends = self._sides.appends_of(record)
            twice = log.all_landed.intersection(appends)
            if twice:
                raise Violation(f"an event stands twice in the log: {sorted(twice)}")
            landed = {**landed, id: before + appends}
        return Log(len(self._logs), log.begins, record, accepted, heads, landed)
