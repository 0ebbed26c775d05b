"""Invariants: the relations that each event must keep to the log before it.

Relations and state: semantics.md section 6, as a table in `relations`. A breach is reported and
never stops the fold, and the state goes on as if the event were right: a start opens what it names,
an end closes what is open, a call becomes pending, a result settles its call. So one wrong event is
named once, and does not make all that follow wrong.

Rules of the core: `seq`; `turn-closed`, `turn-next`, `turn-open`, `turn-named`, the same four of
the step; `call-id`, `call-pending`. A rule of the embedder's has the name of its event type.
"""

from __future__ import annotations

from typing import Any

import msgspec

from turnlog.events.error_text import shown
from turnlog.events.event import Event
from turnlog.events.jsontext import loads
from turnlog.events.rows import Row
from turnlog.events.vocabulary import InvariantFold as OwnInvariant
from turnlog.events.vocabulary import Registry

from .breach import Breach
from .calls import NOT_STARTED_CODE, result_call_id
from .lenient import at, data_of, items_of, text_at
from .log import Log
from .relations import IN_SOME_TURN, IN_STEP, RELATIONS, Counter, Move, Relation

__all__ = ["Breach", "InvariantFold", "InvariantState", "breaches", "invariants"]


class InvariantState(msgspec.Struct, frozen=True):
    """Where the log stands; immutable.

    `next_turn` and `next_step` are the open one's number until its end; `pending_calls` are call
    ids in call order; `last_seq` is None before the first event.
    """

    open_turn: int | None
    open_step: int | None
    next_turn: int
    next_step: int
    pending_calls: tuple[str, ...]
    last_seq: int | None
    first_breach: Breach | None

    @property
    def ok(self) -> bool:
        """Whether no event so far broke a relation."""
        return self.first_breach is None


class InvariantFold:
    """The state of the invariants, event by event; mutable, keeps no event.

    With a registry, its invariant folds run too. Each sees **every** event, in order, so that it
    can relate its own type to turns and to other types. It starts with the state None and must be
    pure; its breach is reported under the type that it is registered for.
    """

    def __init__(self, registry: Registry | None = None) -> None:
        self._turn = Counter("turn")
        self._step = Counter("step")
        self._pending: dict[str, None] = {}
        self._last_seq: int | None = None
        self._first_breach: Breach | None = None
        self._own: dict[str, OwnInvariant] = {}
        if registry is not None:
            for type_, registration in registry.own.items():
                if registration.invariant is not None:
                    self._own[type_] = registration.invariant
        self._own_states: dict[str, Any] = dict.fromkeys(self._own)

    @property
    def state(self) -> InvariantState:
        """Where the log stands now."""
        return InvariantState(
            self._turn.open,
            self._step.open,
            self._turn.next,
            self._step.next,
            tuple(self._pending),
            self._last_seq,
            self._first_breach,
        )

    def check(self, event: Event) -> tuple[Breach, ...]:
        """Check an event against the state before it, then move on; gives all that it breaks.

        Never raises for a malformed event: what can't be read is not what the relation wants.
        """
        found: tuple[Breach, ...] = ()
        if self._last_seq is not None and event.seq <= self._last_seq:
            reason = f"expected a seq above {self._last_seq}, found {event.seq}"
            found = (Breach(event.seq, "seq", reason),)
        self._last_seq = event.seq
        relation = RELATIONS.get(event.type)
        if relation is not None:
            fault = self._relate(event, relation)
            if fault is not None:
                found = (*found, Breach(event.seq, *fault))
        for type_, invariant in self._own.items():
            self._own_states[type_], said = invariant(self._own_states[type_], event)
            if said is not None:
                found = (*found, Breach(event.seq, type_, said))
        if found and self._first_breach is None:
            self._first_breach = found[0]
        return found

    def check_row(self, row: Row) -> tuple[Breach, ...]:
        """Check the events of a row in order; a packed row that breaks nothing is not unpacked."""
        if row.packed and not self._own and self._takes_run(row):
            return ()
        return tuple(breach for event in row.events() for breach in self.check(event))

    def copy(self) -> InvariantFold:
        """A fold of its own in the same state: to try events that may yet be refused."""
        other = InvariantFold()
        other._turn, other._step = self._turn.copy(), self._step.copy()
        other._pending = self._pending.copy()
        other._last_seq, other._first_breach = self._last_seq, self._first_breach
        other._own, other._own_states = self._own, self._own_states.copy()
        return other

    def _takes_run(self, row: Row) -> bool:
        """Move on over a packed row whose members break nothing; else leave the state as it is."""
        if self._last_seq is not None and row.first_seq <= self._last_seq:
            return False
        data = loads(row.text)["data"]
        if self._numbers_fault(IN_STEP, data["turn"], data["step"]) is not None:
            return False
        self._last_seq = row.first_seq + row.count - 1
        return True

    def _relate(self, event: Event, relation: Relation) -> tuple[str, str] | None:
        if event.chunk is not None:
            return self._numbers_fault(relation, event.chunk.run_key.turn, event.chunk.run_key.step)
        if relation.move is Move.SETTLE and not event.appends:
            relation = IN_SOME_TURN
        data = data_of(event)
        fault = self._numbers_fault(relation, at(data, "turn"), at(data, "step"))
        if fault is None:
            fault = self._call_fault(relation.move, data)
        self._move(relation.move, data)
        return fault

    def _numbers_fault(self, relation: Relation, turn: Any, step: Any) -> tuple[str, str] | None:
        return self._turn.fault(relation.turn, turn) or self._step.fault(relation.step, step)

    def _call_fault(self, move: Move, data: Any) -> tuple[str, str] | None:
        if move is Move.CALL and text_at(data, "callId") is None:
            return "call-id", f"expected a call id, found {shown(at(data, 'callId'))}"
        if move is Move.SETTLE:
            call_id = result_call_id(data)
            if call_id not in self._pending and not _says_not_started(data):
                return "call-pending", f"expected the id of a pending call, found {shown(call_id)}"
        return None

    def _move(self, move: Move, data: Any) -> None:
        if move is Move.OPEN_TURN:
            self._turn.start(at(data, "turn"))
            self._step = Counter("step")
            self._pending.clear()
        elif move is Move.OPEN_STEP and self._turn.open is not None:
            self._step.start(at(data, "step"))
        elif move is Move.CLOSE_STEP or move is Move.CLOSE_TURN:
            self._step.end()
            self._pending.clear()
            if move is Move.CLOSE_TURN:
                self._turn.end()
        elif move is Move.CALL:
            call_id = text_at(data, "callId")
            if call_id is not None:
                self._pending[call_id] = None
        elif move is Move.SETTLE:
            call_id = result_call_id(data)
            if call_id is not None:
                self._pending.pop(call_id, None)


def invariants(log: Log, registry: Registry | None = None) -> InvariantState:
    """Fold the invariants over a whole log, sound or not."""
    fold = InvariantFold(registry)
    for row in log.rows:
        fold.check_row(row)
    return fold.state


def breaches(log: Log, registry: Registry | None = None) -> list[Breach]:
    """Name all that the events of a log break, in log order."""
    fold = InvariantFold(registry)
    return [breach for row in log.rows for breach in fold.check_row(row)]


def _says_not_started(data: Any) -> bool:
    blocks = items_of(at(data, "message", "content"))
    return (
        bool(blocks)
        and at(blocks[0], "isError") is True
        and at(data, "error", "code") == NOT_STARTED_CODE
    )
