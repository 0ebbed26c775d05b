"""One long random run, with nothing shared or left out: bytes in the log, a ledger a process.

Any record may be lost, come late, come twice, and in any order.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from turnlog.events.avro import encode_commit
from turnlog.events.body import check_body
from turnlog.events.commit import Commit, Kind
from turnlog.events.header import Header
from turnlog.kernel.ledger import Ledger, Verdict
from turnlog.log.commits import CommitMaker
from turnlog.log.ownership import Ownership, Phase

from .scope import NAMESPACE, Append, Owner, Violation
from .sides import Nonces, Side, row, session_id

__all__ = ["Walk", "Walked"]

_WRITERS = ("w1", "w2", "w2")
_SESSIONS = 2
_STEPS = {"deliver": 30, "read": 40, "append": 20, "doubt": 5, "start": 10}
_RARE_STEPS = {"lose": 3, "release": 2, "abandon": 1, "crash": 1}
_DONE = (Phase.RELEASED, Phase.LOST)


class Walked(NamedTuple):
    """What happened in one walk."""

    records: int
    accepted: int
    acknowledged: int
    lost: int


class _Process:
    """A process that follows the log with its own ledger from its start on."""

    def __init__(self, writer: str) -> None:
        self.writer = writer
        self.ledger = Ledger(NAMESPACE)
        self.position = 0
        self.sides: dict[int, Side] = {}


class Walk:
    """Processes, a bag of produced records, and the log."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._log: list[tuple[bytes, bytes]] = []
        self._bag: list[tuple[Owner, Commit]] = []
        self._processes = [_Process(writer) for writer in _WRITERS]
        self._starts = 0
        self._appends_of: dict[bytes, tuple[Append, ...]] = {}
        self._acknowledged: set[Append] = set()
        self._lost: set[Append] = set()
        self._reader = Ledger(NAMESPACE)
        self._landed: dict[str, list[Append]] = {}

    def run(self, steps: int) -> Walked:
        """Take random steps, then let each process write alone. Raises Violation."""
        kinds = {**_STEPS, **_RARE_STEPS}
        for kind in self._random.choices(list(kinds), list(kinds.values()), k=steps):
            self._step(kind)
        self._check_view()
        for process in self._processes:
            for session in range(_SESSIONS):
                self._write_alone(process, session)
        verdicts = self._check_view()
        accepted = sum(verdict.accepted for verdict in verdicts)
        return Walked(len(self._log), accepted, len(self._acknowledged), len(self._lost))

    # --- what happens ----------------------------------------------------------------------------

    def _step(self, kind: str) -> None:
        random = self._random
        process, session = random.choice(self._processes), random.randrange(_SESSIONS)
        side = process.sides.get(session)
        if kind == "deliver" and self._bag:
            # The newest one more often: else nearly all would be stale.
            newest = random.random() < 0.6
            self._deliver(len(self._bag) - 1 if newest else random.randrange(len(self._bag)))
        elif kind == "lose" and self._bag:
            del self._bag[random.randrange(len(self._bag))]
        elif kind == "read":
            for _ in range(random.choice((1, 1, 3, 10))):
                self._read(process)
        elif kind == "crash":
            # The next one has the same writer id, or that of another.
            self._processes[self._processes.index(process)] = _Process(random.choice(_WRITERS))
        elif side is None:
            if kind == "start":
                self._start(process, session)
        elif kind == "append" and side.ownership.phase in (Phase.OWNING, Phase.SEALING):
            self._append(side, [random.choice((1, 1, 2)) for _ in range(random.choice((1, 2)))])
        elif kind == "doubt" and side.ownership.is_waiting:
            side.ownership.doubt()
            self._after(process, side, side.acknowledged_seq)
        elif kind == "release" and not side.ownership.is_waiting:
            side.ownership.release()
            self._after(process, side, side.acknowledged_seq)
        elif kind == "abandon":
            del process.sides[session]

    def _deliver(self, at: int) -> None:
        owner, commit = self._bag[at]
        if self._random.random() < 0.9:
            del self._bag[at]
        record = commit.session_id.encode(), encode_commit(commit)
        self._log.append(record)
        if self._reader.fold(*record).accepted and commit.kind is Kind.EVENTS:
            landed = self._landed.setdefault(commit.session_id, [])
            if commit.first_seq != len(landed):
                raise Violation(f"seq {commit.first_seq} where {len(landed)} is next")
            landed += self._appends_of[commit.hash]
            if not all(append.owner == owner for append in self._appends_of[commit.hash]):
                raise Violation("a record of two owners")

    def _read(self, process: _Process) -> None:
        if process.position == len(self._log):
            return
        verdict = process.ledger.fold(*self._log[process.position])
        process.position += 1
        commit = verdict.commit
        if not verdict.accepted or commit is None:
            return
        for session, side in list(process.sides.items()):
            if session_id(session) == commit.session_id:
                before = side.acknowledged_seq
                side.ownership.accepted(commit, process.ledger.heads[commit.session_id])
                self._after(process, side, before)

    def _start(self, process: _Process, session: int) -> Side:
        self._starts += 1
        nonces = Nonces(Owner(0, session, self._starts), True)
        id = session_id(session)
        maker = CommitMaker(NAMESPACE, id, process.writer, {})
        side = Side(Ownership(maker, nonces, lambda: 1_000), nonces, None)
        head = process.ledger.heads.get(id)
        if head is None:
            side.ownership.open(Header.new(id, 1), None)
        else:
            side.ownership.claim(head)
        process.sides[session] = side
        self._after(process, side, None)
        return side

    def _append(self, side: Side, counts: list[int]) -> None:
        """Append commits of so many events each."""
        for count in counts:
            first = side.next_seq
            assert first is not None
            side.next_seq = first + count
            side.ownership.write([[row(seq) for seq in range(first, first + count)]])
        self._produce(side)

    def _produce(self, side: Side) -> None:
        owner = side.nonces.owner
        for commit in side.ownership.due():
            appends = [Append(owner, seq) for seq in range(commit.first_seq, commit.next_seq)]
            self._appends_of[commit.hash] = tuple(appends)
            self._bag.append((owner, commit))

    def _after(self, process: _Process, side: Side, before: int | None) -> None:
        """Take what is due, what is answered, and what is over."""
        self._produce(side)
        owner, after = side.nonces.owner, side.acknowledged_seq
        if side.next_seq is None:
            side.next_seq = after
        if before is not None and after is not None:
            for seq in range(before, after):
                landed = self._landed.get(session_id(owner.session), [])
                if seq >= len(landed) or landed[seq] != Append(owner, seq):
                    raise Violation(f"acknowledged seq {seq}, which no reader sees")
                self._acknowledged.add(Append(owner, seq))
        phase = side.ownership.phase
        if phase in _DONE:
            if phase is Phase.LOST:
                self._lost.update(side.unanswered)
            del process.sides[owner.session]

    def _write_alone(self, process: _Process, session: int) -> None:
        """One process runs, all that it produces is delivered, and it gets an answer."""
        wanted: Append | None = None
        for _ in range(40):
            self._settle(process)
            side = process.sides.get(session)
            if side is None:
                self._start(process, session)
                wanted = None
            elif wanted in self._acknowledged:
                return
            elif wanted is None and side.ownership.phase in (Phase.OWNING, Phase.SEALING):
                assert side.next_seq is not None
                wanted = Append(side.nonces.owner, side.next_seq)
                self._append(side, [1])
            elif side.ownership.is_waiting:
                side.ownership.doubt()
                self._after(process, side, side.acknowledged_seq)
        raise Violation("a process that runs alone does not get to write")

    def _settle(self, process: _Process) -> None:
        late, self._bag = self._bag, []
        while True:
            while process.position < len(self._log):
                self._read(process)
            owners = {side.nonces.owner for side in process.sides.values()}
            own = [entry for entry in late if entry[0] in owners]
            late = [entry for entry in late if entry[0] not in owners]
            if not (own or self._bag):
                self._bag = late
                return
            self._bag = own + self._bag
            while self._bag:
                self._deliver(0)

    # --- what must hold --------------------------------------------------------------------------

    def _check_view(self) -> list[Verdict]:
        """Check what readers see of the log, from its start and from any other place."""
        fresh = Ledger(NAMESPACE)
        cut = self._random.randrange(len(self._log) + 1)
        verdicts = [fresh.fold(*record) for record in self._log[:cut]]
        again = Ledger(NAMESPACE, heads=fresh.heads)
        inside = Ledger(NAMESPACE, partial=True)
        for session in range(_SESSIONS):
            inside.learn(session_id(session), fresh.heads.get(session_id(session)))
        for record in self._log[cut:]:
            verdict = fresh.fold(*record)
            verdicts.append(verdict)
            if not verdict == again.fold(*record) == inside.fold(*record):
                raise Violation("a reader that starts inside the log judges otherwise")
        view: dict[str, list[Append]] = {}
        for verdict in verdicts:
            commit = verdict.commit
            if verdict.accepted and commit is not None and commit.kind is Kind.EVENTS:
                seqs = [row.first_seq for row in check_body(commit)]
                appends = self._appends_of[commit.hash]
                if seqs != [append.seq for append in appends]:
                    raise Violation("a body holds other events than were appended")
                view.setdefault(commit.session_id, []).extend(appends)
        seen = [append for landed in view.values() for append in landed]
        if len(set(seen)) != len(seen):
            raise Violation("an event stands twice in the log")
        if view != self._landed or fresh.heads != again.heads:
            raise Violation("two readers see two logs")
        for landed in view.values():
            if [append.seq for append in landed] != list(range(len(landed))):
                raise Violation("two events share a seq, or one is left out")
        if not self._acknowledged <= set(seen):
            raise Violation("acknowledged, and no reader sees it")
        if not self._lost.isdisjoint(seen):
            raise Violation("reported as not landed, and landed")
        return verdicts
