"""Verify: what a partition's records prove, by the log alone.

The ledger judges each record; of each session the bodies that count are read, restored and checked
against the invariants. A session is `quarantined` from the first seq that can't be folded: readable
up to there, not resumable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from turnlog.events.body import Fork, check_body, read_claim, read_open
from turnlog.events.commit import Commit, Kind
from turnlog.events.errors import BrokenLog, NewerThanReader, RestoreRefused
from turnlog.events.head import Head

from .breach import Breach
from .invariants import InvariantFold
from .ledger import Ledger, Verdict, VerdictKind
from .restore import RestoreFold

__all__ = [
    "MAX_LISTED",
    "UNSEEN",
    "Finding",
    "Report",
    "SessionReport",
    "Stop",
    "StopKind",
    "Verification",
    "verify",
]

MAX_LISTED = 1000
"""Findings, and breaches of a session, that a report lists at most; all are counted."""

UNSEEN = (
    "A cut tail: records that were removed from the end, of the partition or of a session.",
    "A deleted session: all of its records removed, or its key never read here.",
    "A forged session: the chain has no key, so who can write to the log can begin one anew.",
    "A fork's parent: its hash at the boundary stands in the child, and is not looked up here.",
)
"""What an unkeyed chain can't show, whatever the report says; signed heads would."""


_FOUND = frozenset({VerdictKind.BROKEN, VerdictKind.NEWER, VerdictKind.STALE})


class Finding(NamedTuple):
    """A record that does not count: its place among the records, from 0, and why."""

    place: int
    session_id: str | None
    verdict: VerdictKind
    reason: str


class StopKind(StrEnum):
    """Why a session is not folded any further."""

    QUARANTINED = "quarantined"
    NEWER = "newer"


class Stop(NamedTuple):
    """Where a session stops: all below `seq` is sound, what is from there on is not folded."""

    kind: StopKind
    seq: int
    reason: str


class SessionReport(msgspec.Struct, frozen=True, gc=False):
    """What was found of one session.

    `event_count` is of all accepted commits, also above a stop. `breaches` are the first MAX_LISTED
    of `breach_count`; a breach stops nothing. `fork` names a forked session's place in its parent.
    """

    session_id: str
    head: Head
    commit_count: int
    event_count: int
    stop: Stop | None
    breach_count: int
    breaches: tuple[Breach, ...]
    fork: Fork | None

    @property
    def ok(self) -> bool:
        """Whether it was followed to its head, and breaks no rule."""
        return self.stop is None and not self.breach_count


class Report(msgspec.Struct, frozen=True, gc=False):
    """What a partition's records prove; immutable.

    `verdicts` counts the records by verdict, each kind is there. `findings` are the first
    MAX_LISTED records that are broken, newer or stale, in order; `unproven` sessions have records
    but no `open` that counts. `unseen` is what no such report can show.
    """

    namespace: str
    record_count: int
    verdicts: Mapping[VerdictKind, int]
    findings: tuple[Finding, ...]
    sessions: Mapping[str, SessionReport]
    unproven: tuple[str, ...]
    unseen: tuple[str, ...] = UNSEEN

    @property
    def ok(self) -> bool:
        """Whether each record was understood, and each session that is named is proven and ok.

        Stale records and duplicates are no fault: a lost race leaves them.
        """
        faults = self.verdicts[VerdictKind.BROKEN] + self.verdicts[VerdictKind.NEWER]
        sound = all(session.ok for session in self.sessions.values())
        return sound and not faults and not self.unproven


class Verification:
    """The fold of `verify`, record by record; its memory follows the sessions, not their events."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._ledger = Ledger(namespace)
        self._counts = dict.fromkeys(VerdictKind, 0)
        self._record_count = 0
        self._findings: list[Finding] = []
        self._sessions: dict[str, _Session] = {}
        self._named: dict[str, None] = {}

    def fold(self, key: bytes | None, value: bytes | None) -> Verdict:
        """Take the next record in offset order; gives the ledger's verdict."""
        verdict = self._ledger.fold(key, value)
        self._counts[verdict.kind] += 1
        session_id = verdict.session_id
        if session_id is not None:
            self._named[session_id] = None
            self._take(session_id, verdict)
        if verdict.kind in _FOUND and len(self._findings) < MAX_LISTED:
            place = self._record_count
            self._findings.append(Finding(place, session_id, verdict.kind, verdict.reason))
        self._record_count += 1
        return verdict

    @property
    def report(self) -> Report:
        """What the records so far prove."""
        heads = self._ledger.heads
        return Report(
            self._namespace,
            self._record_count,
            MappingProxyType(self._counts.copy()),
            tuple(self._findings),
            MappingProxyType(
                {id_: session.report(id_, heads[id_]) for id_, session in self._sessions.items()}
            ),
            tuple(id_ for id_ in self._named if id_ not in heads),
        )

    def _take(self, session_id: str, verdict: Verdict) -> None:
        if verdict.accepted and verdict.commit is not None:
            session = self._sessions.setdefault(session_id, _Session())
            session.take(verdict.commit)
        elif verdict.kind is VerdictKind.NEWER and session_id in self._sessions:
            next_seq = self._ledger.heads[session_id].next_seq
            self._sessions[session_id].stop_at(Stop(StopKind.NEWER, next_seq, verdict.reason))


class _Session:
    """One session, accepted commit by accepted commit."""

    def __init__(self) -> None:
        self._commit_count = 0
        self._event_count = 0
        self._stop: Stop | None = None
        self._breach_count = 0
        self._breaches: list[Breach] = []
        self._fork: Fork | None = None
        self._restore = RestoreFold()
        self._invariants = InvariantFold()

    def take(self, commit: Commit) -> None:
        """Take the next accepted commit; above a stop it is counted alone."""
        self._commit_count += 1
        self._event_count += commit.event_count
        if self._stop is not None:
            return
        try:
            self._read(commit)
        except BrokenLog as error:
            self.stop_at(Stop(StopKind.QUARANTINED, commit.first_seq, error.reason))
        except NewerThanReader as error:
            self.stop_at(Stop(StopKind.NEWER, commit.first_seq, str(error)))
        except RestoreRefused as error:
            seq = commit.first_seq if error.index is None else error.index
            self.stop_at(Stop(StopKind.QUARANTINED, seq, error.reason))

    def stop_at(self, stop: Stop) -> None:
        """Stop here, unless it stopped before."""
        self._stop = self._stop or stop

    def report(self, session_id: str, head: Head) -> SessionReport:
        """What was found so far."""
        return SessionReport(
            session_id,
            head,
            self._commit_count,
            self._event_count,
            self._stop,
            self._breach_count,
            tuple(self._breaches),
            self._fork,
        )

    def _read(self, commit: Commit) -> None:
        if commit.kind is Kind.OPEN:
            self._fork = read_open(commit).fork
        elif commit.kind is Kind.CLAIM:
            read_claim(commit)
        elif commit.kind is Kind.EVENTS:
            for row in check_body(commit):
                self._restore.fold(row)
                found = self._invariants.check_row(row)
                self._breach_count += len(found)
                self._breaches += found[: MAX_LISTED - len(self._breaches)]


def verify(records: Iterable[tuple[bytes | None, bytes | None]], namespace: str) -> Report:
    """Verify the records of one partition, or of any set of whole sessions, from its start.

    `records` are keys and values in offset order; streams. Never raises for what they hold.
    """
    verification = Verification(namespace)
    for key, value in records:
        verification.fold(key, value)
    return verification.report
