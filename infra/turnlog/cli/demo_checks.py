"""What the demo proves of a session by the records of its partition; pure but for the reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from turnlog.events import Commit, Kind, Row, check_body, commit_hash
from turnlog.kernel import Ledger, Log, VerdictKind, request_at, view_breaches
from turnlog.kernel.verify import UNSEEN, SessionReport, verify
from turnlog.log import KafkaSettings, LogRecord, PartitionLog, partition_of

from .demo_views import steps

__all__ = ["NOT_SHOWN", "Check", "Evidence", "check_child", "check_session", "gather"]

_PARENT = "a fork's parent"

NOT_SHOWN = tuple(what for text in UNSEEN if (what := text.partition(":")[0].lower()) != _PARENT)
"""What no check of an unkeyed chain can show; a fork's parent `check_child` looks up."""


class Check(NamedTuple):
    """One thing that was checked, and what was found."""

    name: str
    ok: bool
    found: str


class Evidence(NamedTuple):
    """A session's records in its partition, and the counts of all records there by verdict."""

    session_id: str
    namespace: str
    partition: int
    records: tuple[LogRecord, ...]
    verdicts: Counter[VerdictKind]

    @property
    def commits(self) -> list[Commit]:
        """The session's commits that count, in the order of the log."""
        return [
            record.verdict.commit
            for record in self.records
            if record.verdict.accepted and record.verdict.commit is not None
        ]


def gather(settings: KafkaSettings, session_id: str, partitions: int) -> Evidence:
    """Read a session's partition from its start, through the ledger.

    Raises LogStartCut, BrokerError.
    """
    partition = partition_of(session_id, partitions)
    own: list[LogRecord] = []
    verdicts: Counter[VerdictKind] = Counter()
    with PartitionLog(settings, partition) as log:
        for record in log.records():
            verdicts[record.verdict.kind] += 1
            if record.verdict.session_id == session_id:
                own.append(record)
    return Evidence(session_id, settings.namespace, partition, tuple(own), verdicts)


def check_session(evidence: Evidence, log: Log) -> list[Check]:
    """Check a session's chain, ledger, events and view; `log` is what a reader gets of it."""
    commits = evidence.commits
    report = _report(evidence)
    return [
        _chain(commits),
        _ledger(evidence, commits),
        _rules(report),
        _same_log(commits, log),
        _view(log),
    ]


def check_child(child: Evidence, parent: Evidence) -> Check:
    """Check that a fork hangs on the very commit of its parent that holds the boundary."""
    report = _report(child)
    fork = None if report is None else report.fork
    if fork is None or fork.boundary is None or fork.session_id != parent.session_id:
        return Check("fork", False, f"the child's open names no event of {parent.session_id}")
    for commit in parent.commits:
        if commit.first_seq <= fork.boundary < commit.first_seq + commit.event_count:
            fits = commit.hash == fork.hash
            said = "is" if fits else "is not"
            text = f"event {fork.boundary} {said} in the parent's commit {fork.hash.hex()[:12]}"
            return Check("fork", fits, text)
    return Check("fork", False, f"the parent has no event {fork.boundary}")


def _report(evidence: Evidence) -> SessionReport | None:
    records = ((record.key, record.value) for record in evidence.records)
    return verify(records, evidence.namespace).sessions.get(evidence.session_id)


def _chain(commits: Sequence[Commit]) -> Check:
    """Each commit names the hash of the one before, and that is the hash of its content."""
    ok = bool(commits) and commits[0].kind is Kind.OPEN
    ok = ok and all(commit_hash(commit) == commit.hash for commit in commits)
    ok = ok and all(after.prev_hash == before.hash for before, after in pairwise(commits))
    return Check("chain", ok, f"{len(commits)} commits, each on the hash of the one before")


def _ledger(evidence: Evidence, commits: Sequence[Commit]) -> Check:
    """All records were judged; those that count give the head again when folded alone."""
    ledger = Ledger(evidence.namespace)
    judged = [ledger.judge(commit).accepted for commit in commits]
    head = ledger.heads.get(evidence.session_id)
    if head is None:
        return Check("ledger", False, "no head")
    owners = len({each.writer for each in commits if each.kind in {Kind.OPEN, Kind.CLAIM}})
    faults = [
        record.verdict.reason
        for record in evidence.records
        if record.verdict.kind in {VerdictKind.BROKEN, VerdictKind.NEWER, VerdictKind.UNPROVEN}
    ]
    ok = all(judged) and head.released and not faults
    text = f"head {head.hash.hex()[:12]} at seq {head.next_seq}, released; writers so far: {owners}"
    return Check("ledger", ok, faults[0] if faults else text)


def _rules(report: SessionReport | None) -> Check:
    if report is None:
        return Check("events", False, "the session has no open that counts")
    if report.stop is not None:
        return Check("events", False, f"stops at seq {report.stop.seq}: {report.stop.reason}")
    text = f"{report.event_count} restored, breaches of the rules: {report.breach_count}"
    return Check("events", report.ok, text)


def _same_log(commits: Iterable[Commit], log: Log) -> Check:
    """What a reader of the session gets is what the commits hold, event by event."""
    rows: list[Row] = []
    for commit in commits:
        if commit.kind is Kind.EVENTS:
            rows.extend(check_body(commit))
    stored = [event.text for event in Log(log.header, tuple(rows)).events()]
    ok = stored == [event.text for event in log.events()]
    found = "the very ones" if ok else "other ones than"
    return Check("reader", ok, f"its {len(stored)} events are {found} of the commits")


def _view(log: Log) -> Check:
    """In the model's view, now and in each request, each call has its one result."""
    requests = [request_at(log, turn, step) for turn, step in steps(log)]
    ends = [request.seq for request in requests if request is not None]
    for end in (*ends, log.next_seq):
        breaches = view_breaches(log if end is None else log.prefix(end))
        if breaches:
            return Check("view", False, breaches[0].reason)
    return Check("view", True, f"in {len(ends)} requests and now, each call has its one result")
