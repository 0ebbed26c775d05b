"""The states of a run and what may happen next, with the properties checked at each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from turnlog.events.commit import NO_HASH
from turnlog.log.ownership import Phase

from .logs import Log, Logs
from .scope import Append, Bounds, Owner, Record, Rules, Violation
from .sides import NO_SIDE, Sides, Step, session_id

__all__ = ["Process", "State", "World"]

_T = TypeVar("_T")

_IDLE = -1
_STARTS, _APPENDS, _DOUBTS, _RELEASES, _CRASHES = range(5)

_Slot = tuple[int, int]
_Act = tuple[int, int]


class State(NamedTuple):
    """One state, by the numbers of what it consists of; equal states are the same state.

    `log` is all that is in the partition, `bag` what was produced and may still get there, in any
    order or never; `used` counts what `Bounds` bounds; `lost` are the appends that were reported as
    not landed and of which a record is in the bag.
    """

    log: int
    bag: tuple[int, ...]
    processes: tuple[int, ...]
    used: tuple[int, ...]
    lost: frozenset[Append]


class Process(NamedTuple):
    """How many records a process has read, -1 where it follows no session; and its `slots`.

    They tell of each session how often it was started there, and the side that it is at.
    """

    position: int
    slots: tuple[_Slot, ...]


class World:
    """Processes that write to one partition. A record that stays in the bag is a lost one."""

    def __init__(self, bounds: Bounds, rules: Rules | None = None) -> None:
        self.bounds = bounds
        self.rules = rules or Rules()
        self.sides = Sides(bounds, self.rules)
        self.logs = Logs(self.sides, self.rules)
        self._processes: list[Process] = []
        self._process_of: dict[Process, int] = {}
        self._acts_of: dict[int, tuple[_Act, ...]] = {}
        self._reads: dict[tuple[int, int], tuple[int, Step | None]] = {}
        self._doing: tuple[int | None, Record] | None = None
        self._limits = (
            bounds.starts,
            bounds.appends,
            bounds.doubts,
            bounds.releases,
            bounds.crashes,
        )

    def first(self) -> State:
        """Nothing was written, and no process follows a session."""
        process = self._number(Process(_IDLE, ((0, NO_SIDE),) * self.bounds.sessions))
        return State(0, (), (process,) * len(self.bounds.writers), (0,) * 5, frozenset())

    def next(self, state: State) -> Iterator[State]:
        """All states that one step leads to. Raises Violation."""
        can = [used < limit for used, limit in zip(state.used, self._limits, strict=True)]
        end = len(self.logs[state.log])
        calls = self.start, self.append, self.doubt, self.release
        for index, number in enumerate(state.processes):
            if 0 <= self._processes[number].position < end:
                yield self.read(state, index)
            for kind, session in self._acts(number):
                if not can[kind]:
                    continue
                if kind == _CRASHES:
                    yield self.crash(state, index)
                else:
                    yield calls[kind](state, index, session)
        for record in state.bag:
            after = self.deliver(state, record)
            if after is not state:
                yield after

    def process(self, state: State, index: int) -> Process:
        """What one process is in a state."""
        return self._processes[state.processes[index]]

    @property
    def doing(self) -> tuple[int | None, Record] | None:
        """What is done last: the process that reads a record, None for one that gets to the log."""
        return self._doing

    # --- what may happen -------------------------------------------------------------------------

    def start(self, state: State, index: int, session: int) -> State:
        """A process asks for a session, by what it has read; one without any reads to the end."""
        log = self.logs[state.log]
        position, slots = self.process(state, index)
        if position == _IDLE:
            position = len(log)
        ordinal = slots[session][0] + 1
        owner = Owner(index, session, ordinal)
        step = self.sides.start(owner, log.begins[position].head(session))
        process = Process(position, slots)
        number = self._stepped(process, session, step, position, ordinal)
        return self._after(state, index, number, step, _STARTS)

    def append(self, state: State, index: int, session: int) -> State:
        """A caller appends an event."""
        step = self.sides.append(self._side(state, index, session))
        return self._called(state, index, session, step, _APPENDS)

    def doubt(self, state: State, index: int, session: int) -> State:
        """A process takes an outcome to be unknown."""
        step = self.sides.doubt(self._side(state, index, session))
        return self._called(state, index, session, step, _DOUBTS)

    def release(self, state: State, index: int, session: int) -> State:
        """A caller closes a session."""
        step = self.sides.release(self._side(state, index, session))
        return self._called(state, index, session, step, _RELEASES)

    def crash(self, state: State, index: int) -> State:
        """A process ends, and what it produced may still come; another one comes in its place."""
        slots = tuple((ordinal, NO_SIDE) for ordinal, _ in self.process(state, index).slots)
        processes = _replaced(state.processes, index, self._number(Process(_IDLE, slots)))
        used = _replaced(state.used, _CRASHES, state.used[_CRASHES] + 1)
        return state._replace(processes=processes, used=used)

    def read(self, state: State, index: int) -> State:
        """A process reads the next record, and its ownership learns of it where it is accepted."""
        number = state.processes[index]
        log = self.logs[state.log].begins[self._processes[number].position + 1]
        done = self._reads.get((number, log.number))
        if done is None:
            done = self._reads[number, log.number] = self._new_read(self._processes[number], log)
        new_number, step = done
        if step is not None:
            assert log.record is not None
            self._doing = index, log.record
            return self._after(state, index, new_number, step)
        processes = _replaced(state.processes, index, new_number)
        return State(state.log, state.bag, processes, state.used, state.lost)

    def _new_read(self, process: Process, log: Log) -> tuple[int, Step | None]:
        """What reading the last record of a log makes of a process; None where no one is told."""
        record = log.record
        assert record is not None
        position, session = process.position + 1, record.owner.session
        (ordinal, side), head = process.slots[session], log.head(session)
        if side == NO_SIDE or not log.accepted or head is None:
            return self._number(Process(position, process.slots)), None
        step = self.sides.read(side, record.code, head)
        number = self._stepped(process, session, step, position, ordinal)
        tells = step.produced or step.acknowledged or step.lost
        return number, step if tells else None

    def deliver(self, state: State, number: int) -> State:
        """A record of the bag gets to the log; the same state where it does nothing there."""
        record = self.sides.records[number]
        self._doing = None, record
        log = self.logs.longer(self.logs[state.log], number)
        if not log.accepted and not self.bounds.literal:
            return state
        if log.accepted:
            again = state.lost.intersection(self.sides.appends_of(record))
            if again:
                raise Violation(f"reported as not landed, and landed: {_text(again)}")
        at = state.bag.index(number)
        bag = state.bag[:at] + state.bag[at + 1 :]
        state = self._counting(state._replace(log=log.number, bag=bag))
        index, session, ordinal = record.owner
        now, side = self.process(state, index).slots[session]
        if not self.rules.reports or side == NO_SIDE or now != ordinal:
            return state
        return self._called(state, index, session, self.sides.reported(side, record.code))

    # --- what follows ----------------------------------------------------------------------------

    def _number(self, process: Process) -> int:
        number = self._process_of.setdefault(process, len(self._processes))
        if number == len(self._processes):
            self._processes.append(process)
        return number

    def _acts(self, number: int) -> tuple[_Act, ...]:
        """What a process may do and be asked for, by what `used` counts, and the session."""
        acts = self._acts_of.get(number)
        if acts is None:
            acts = self._acts_of[number] = tuple(self._new_acts(self._processes[number]))
        return acts

    def _new_acts(self, process: Process) -> Iterator[_Act]:
        if process.position != _IDLE:
            yield _CRASHES, 0
        for session, (_, side) in enumerate(process.slots):
            if side == NO_SIDE:
                yield _STARTS, session
                continue
            ownership = self.sides[side].ownership
            if ownership.phase in (Phase.OWNING, Phase.SEALING):
                yield _APPENDS, session
            if ownership.is_waiting:
                yield _DOUBTS, session
            if ownership.phase is Phase.OWNING and not ownership.is_waiting:
                yield _RELEASES, session

    def _side(self, state: State, index: int, session: int) -> int:
        return self.process(state, index).slots[session][1]

    def _stepped(
        self, process: Process, session: int, step: Step, position: int, ordinal: int
    ) -> int:
        """The process after a step of one of its sides."""
        slots = _replaced(process.slots, session, (ordinal, step.side))
        if all(side == NO_SIDE for _, side in slots):
            position = _IDLE
        return self._number(Process(position, slots))

    def _called(
        self, state: State, index: int, session: int, step: Step, used: int | None = None
    ) -> State:
        """The state after a call of one side. Raises Violation."""
        process = self.process(state, index)
        ordinal = process.slots[session][0]
        number = self._stepped(process, session, step, process.position, ordinal)
        return self._after(state, index, number, step, used)

    def _after(
        self, state: State, index: int, number: int, step: Step, used: int | None = None
    ) -> State:
        """The state after a step that made a process another. Raises Violation."""
        log = self.logs[state.log]
        if step.acknowledged:
            self._check_acknowledged(log, step.acknowledged)
        lost = state.lost
        if step.lost:
            landed = log.all_landed.intersection(step.lost)
            if landed:
                raise Violation(f"reported as not landed, but it did land: {_text(landed)}")
            lost = lost.union(step.lost)
        new = State(
            state.log,
            tuple(sorted(state.bag + step.produced)) if step.produced else state.bag,
            _replaced(state.processes, index, number),
            state.used if used is None else _replaced(state.used, used, state.used[used] + 1),
            lost,
        )
        return self._counting(new) if lost or step.produced else new

    def _check_acknowledged(self, log: Log, acknowledged: tuple[Append, ...]) -> None:
        """A reader that starts now sees each one at its seq, and as the very event of its owner."""
        for append in acknowledged:
            landed = log.landed.get(session_id(append.owner.session), ())
            if append.seq >= len(landed):
                raise Violation(f"acknowledged, and no reader sees it: {_text([append])}")
            if landed[append.seq] != append:
                found = _text([landed[append.seq]])
                raise Violation(f"acknowledged {_text([append])}, and {found} stands there")

    def _counting(self, state: State) -> State:
        """The state without what can't count any more; a literal one stays as it is.

        A record counts only behind the head, and nothing comes to stand there a second time.
        """
        if self.bounds.literal:
            return state
        heads = self.logs[state.log].heads
        possible = {head.hash for head in heads.values()}
        bag = []
        for number in state.bag:  # in this order each stands behind what it hangs on
            record = self.sides.records[number]
            commit = self.sides.commits[record.code]
            if commit.prev_hash == NO_HASH:
                if commit.session_id in heads:
                    continue
            elif commit.prev_hash not in possible:
                continue
            possible.add(commit.hash)
            bag.append(number)
        lost = state.lost
        if lost:
            records = (self.sides.records[number] for number in bag)
            held = [append for record in records for append in self.sides.appends_of(record)]
            lost = lost.intersection(held)
        return state._replace(bag=tuple(bag), lost=lost)


def _text(appends: Iterable[Append]) -> str:
    return ", ".join(
        f"seq {append.seq} of process {append.owner.process + 1} (its open or claim "
        f"{append.owner.ordinal}, session {append.owner.session})"
        for append in sorted(appends)
    )


def _replaced(items: tuple[_T, ...], index: int, item: _T) -> tuple[_T, ...]:
    return (*items[:index], item, *items[index + 1 :])
