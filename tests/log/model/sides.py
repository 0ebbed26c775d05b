"""The writers' sides: shipped ownerships, each reached state of one kept once and never changed.

A step copies a side, makes the calls that `KafkaWriter` would make, and gives the side that is then
reached. Equal steps are made once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from turnlog.events.commit import NONCE_BYTES, Commit, Kind
from turnlog.events.head import Head
from turnlog.events.header import Header
from turnlog.events.rows import Row, event_row
from turnlog.log.commits import CommitMaker
from turnlog.log.ownership import Ownership, Phase

from .scope import NAMESPACE, Append, Bounds, HearsReports, Owner, Record, Rules, Violation

__all__ = ["NO_SIDE", "Nonces", "Side", "Sides", "Step", "copied", "row", "session_id"]

NO_SIDE = -1
_DONE = (Phase.RELEASED, Phase.LOST)


_SESSION_IDS = ("s0", "s1", "s2")


def session_id(session: int) -> str:
    return _SESSION_IDS[session]


def row(seq: int) -> Row:
    """The row at a seq: the same from all writers, so that only the chain tells them apart."""
    return event_row({"type": "plan/mode", "seq": seq, "time": 1_000, "data": ""})


class Nonces:
    """Nonces that never come twice in a run; or, with the rule taken away, always the same."""

    def __init__(self, owner: Owner, fresh: bool, used: int = 0) -> None:
        self.owner = owner
        self.fresh = fresh
        self.used = used

    def __call__(self) -> bytes:
        if not self.fresh:
            return bytes(NONCE_BYTES)
        self.used += 1
        name = ".".join(str(part) for part in (*self.owner, self.used))
        return name.encode().ljust(NONCE_BYTES, b"_")

    def copy(self) -> Nonces:
        return Nonces(self.owner, self.fresh, self.used)


class Side:
    """One ownership, and the seq that its session gives to the next event; None before it owns."""

    def __init__(self, ownership: Ownership, nonces: Nonces, next_seq: int | None) -> None:
        self.ownership = ownership
        self.nonces = nonces
        self.next_seq = next_seq

    def copy(self) -> Side:
        nonces = self.nonces.copy()
        return Side(copied(self.ownership, nonces), nonces, self.next_seq)

    def key(self) -> Hashable:
        fields = {name: _frozen(value) for name, value in vars(self.ownership).items()}
        return self.nonces.owner, self.nonces.used, self.next_seq, tuple(fields.items())

    @property
    def acknowledged_seq(self) -> int | None:
        """The seq below which its appends are acknowledged; None before it owns."""
        head = self.ownership.acknowledged
        return None if head is None else head.next_seq

    @property
    def unanswered(self) -> tuple[Append, ...]:
        """The appends that are not acknowledged: `not_landed`, once the session is lost."""
        if self.next_seq is None or self.acknowledged_seq is None:
            return ()
        seqs = range(self.acknowledged_seq, self.next_seq)
        return tuple(Append(self.nonces.owner, seq) for seq in seqs)


class Step(NamedTuple):
    """What one call of a side leads to; `side` is NO_SIDE where that is its end."""

    side: int
    produced: tuple[int, ...]
    acknowledged: tuple[Append, ...]
    lost: tuple[Append, ...]


class Sides:
    """All sides that a model reached, by number; so too the commits and the records of them.

    What hangs on another record has a higher number than that one.
    """

    def __init__(self, bounds: Bounds, rules: Rules) -> None:
        self._bounds = bounds
        self._rules = rules
        self._sides: list[Side] = []
        self._side_of: dict[Hashable, int] = {}
        self._steps: dict[Hashable, Step] = {}
        self._code_of: dict[bytes, int] = {}
        self._record_of: dict[Record, int] = {}
        self.commits: list[Commit] = []
        self.records: list[Record] = []

    def __getitem__(self, side: int) -> Side:
        return self._sides[side]

    @property
    def count(self) -> int:
        """How many sides were reached."""
        return len(self._sides)

    @property
    def all_kept(self) -> bool:
        """Whether each side still is what it was when it was reached: a copy shares nothing."""
        return all(self._sides[side].key() == key for key, side in self._side_of.items())

    def start(self, owner: Owner, head: Head | None) -> Step:
        """A process asks for a session of which it knows this head."""
        key = "start", owner, head
        step = self._steps.get(key)
        if step is None:
            step = self._steps[key] = self._started(owner, head)
        return step

    def append(self, side: int) -> Step:
        """The caller appends an event; the window it stands in is closed."""

        def take(new: Side) -> None:
            seq = new.next_seq
            assert seq is not None
            new.next_seq = seq + 1
            new.ownership.write([[row(seq)]])

        return self._step(side, "append", take)

    def release(self, side: int) -> Step:
        """The caller closes a session in which nothing waits."""
        return self._step(side, "release", lambda new: new.ownership.release())

    def doubt(self, side: int) -> Step:
        """No answer came, or a delivery is reported failed."""
        return self._step(side, "doubt", lambda new: new.ownership.doubt())

    def read(self, side: int, code: int, head: Head) -> Step:
        """The process reads an accepted record of the session, and the head that it makes."""
        commit = self.commits[code]
        return self._step(side, (code, head), lambda new: new.ownership.accepted(commit, head))

    def reported(self, side: int, code: int) -> Step:
        """A record of this side is reported delivered; only where rules are taken away."""
        commit = self.commits[code]

        def take(new: Side) -> None:
            assert isinstance(new.ownership, HearsReports)
            new.ownership.delivered(commit)

        return self._step(side, ("reported", code), take)

    def _started(self, owner: Owner, head: Head | None) -> Step:
        nonces = Nonces(owner, self._rules.fresh_nonces)
        id = session_id(owner.session)
        maker = CommitMaker(NAMESPACE, id, self._bounds.writers[owner.process], {})
        side = Side(self._rules.ownership(maker, nonces, lambda: 1_000), nonces, None)
        if head is None:
            side.ownership.open(Header.new(id, 1), None)
        else:
            side.ownership.claim(head)
        return self._ended(side, None)

    def _step(self, side: int, name: Hashable, call: Callable[[Side], None]) -> Step:
        key = side, name
        step = self._steps.get(key)
        if step is None:
            new = self._sides[side].copy()
            before = new.acknowledged_seq
            call(new)
            step = self._steps[key] = self._ended(new, before)
        return step

    def _ended(self, side: Side, before: int | None) -> Step:
        """Take what is due, as after each call, and keep the side that was reached."""
        owner = side.nonces.owner
        produced = tuple(self._keep(commit, owner) for commit in side.ownership.due())
        after = side.acknowledged_seq
        if side.next_seq is None:
            side.next_seq = after
        acknowledged: tuple[Append, ...] = ()
        if before is not None and after is not None:
            acknowledged = tuple(Append(owner, seq) for seq in range(before, after))
        phase = side.ownership.phase
        if phase in _DONE:
            lost = side.unanswered if phase is Phase.LOST else ()
            return Step(NO_SIDE, produced, acknowledged, lost)
        key = side.key()
        number = self._side_of.setdefault(key, len(self._sides))
        if number == len(self._sides):
            self._sides.append(side)
        return Step(number, produced, acknowledged, ())

    def _keep(self, commit: Commit, owner: Owner) -> int:
        code = self._code_of.setdefault(commit.hash, len(self.commits))
        if code == len(self.commits):
            self._check_seq(commit)
            self.commits.append(commit)
        record = Record(code, owner)
        number = self._record_of.setdefault(record, len(self.records))
        if number == len(self.records):
            self.records.append(record)
        return number

    def _check_seq(self, commit: Commit) -> None:
        """Each commit that is made has the seq after what it hangs on: so `first_seq` is redundant.

        Raises Violation.
        """
        before = self._code_of.get(commit.prev_hash)
        next_seq = 0 if before is None else self.commits[before].next_seq
        if commit.first_seq != next_seq or (before is None) != (commit.kind is Kind.OPEN):
            raise Violation(f"{commit} is made where seq {next_seq} is the next one")

    def appends_of(self, record: Record) -> tuple[Append, ...]:
        """The appends that a record holds."""
        commit = self.commits[record.code]
        if commit.kind is not Kind.EVENTS:
            return ()
        return tuple(Append(record.owner, seq) for seq in range(commit.first_seq, commit.next_seq))


def copied(ownership: Ownership, nonces: Nonces) -> Ownership:
    """A copy that shares with its original nothing that changes."""
    new = object.__new__(type(ownership))
    fields: dict[str, Any] = vars(new)
    for name, value in vars(ownership).items():
        fields[name] = value.copy() if isinstance(value, deque | set | list | dict) else value
    fields["_new_nonce"] = nonces
    return new


def _frozen(value: Any) -> Hashable:
    """A field as a value that two equal states share; what never changes in one run is left out."""
    if isinstance(value, Commit):
        return value.hash
    if isinstance(value, Row):
        return value.first_seq, value.count
    if isinstance(value, Head):
        return value
    if isinstance(value, set):
        return frozenset(map(_frozen, value))
    if isinstance(value, deque | list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, Header | CommitMaker) or callable(value):
        return None
    assert isinstance(value, Hashable)
    return value
