"""What `turnlog verify` proves: of partitions by their records, of files by their events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.events import TurnlogError, UnknownSession
from turnlog.importers import FileSessions
from turnlog.kernel import VerdictKind, breaches
from turnlog.kernel.verify import UNSEEN, SessionReport, Verification
from turnlog.log import LOG_START, KafkaReader, KafkaSettings, PartitionLog

from .output import Output

__all__ = ["Proof", "SessionProof", "prove_files", "prove_partitions"]

_PARENT = "A fork's parent"
_NOT_SHOWN = tuple(text for text in UNSEEN if not text.startswith(_PARENT))
_NO_CHAIN = "A file has no chain: who wrote it, and whether it was changed, is not shown."


class SessionProof(NamedTuple):
    """What was found of one session; `report` is None for one of a file."""

    session_id: str
    ok: bool
    event_count: int
    faults: tuple[str, ...]
    report: SessionReport | None = None

    def text(self) -> str:
        """Say what is wrong."""
        return "; ".join(self.faults)

    def value(self) -> dict[str, Any]:
        """As JSON."""
        value: dict[str, Any] = {
            "session": self.session_id,
            "ok": self.ok,
            "events": self.event_count,
            "faults": list(self.faults),
        }
        report = self.report
        if report is not None:
            fork = report.fork
            value |= {
                "commits": report.commit_count,
                "head": report.head.hash.hex(),
                "nextSeq": report.head.next_seq,
                "released": report.head.released,
                "breaches": report.breach_count,
                "fork": None
                if fork is None
                else {"session": fork.session_id, "seq": fork.boundary, "hash": fork.hash.hex()},
            }
        return value


class Proof(NamedTuple):
    """What was found of all that was looked at."""

    ok: bool
    sessions: tuple[SessionProof, ...]
    verdicts: dict[str, int]
    findings: tuple[str, ...]
    unproven: tuple[str, ...]
    unseen: tuple[str, ...]

    @property
    def event_count(self) -> int:
        """The events of all sessions."""
        return sum(session.event_count for session in self.sessions)

    def value(self) -> dict[str, Any]:
        """As JSON, without the sessions."""
        return {
            "ok": self.ok,
            "sessions": len(self.sessions),
            "events": self.event_count,
            "verdicts": self.verdicts,
            "findings": list(self.findings),
            "unproven": list(self.unproven),
            "unseen": list(self.unseen),
        }


def prove_partitions(
    settings: KafkaSettings, session: str | None, partition: int | None, out: Output
) -> Proof:
    """Read partitions from their start and prove them; of one session only its own.

    Raises UnknownSession, LogStartCut, BrokerError.
    """
    with KafkaReader(settings) as reader:
        wanted = range(reader.partitions) if partition is None else [partition]
        if session is not None:
            wanted = [reader.partition_of(session)]
        verdicts: Counter[str] = Counter()
        sessions: list[SessionProof] = []
        findings: list[str] = []
        unproven: list[str] = []
        with out.progress("partitions", len(wanted)) as advance:
            for number in wanted:
                verification = Verification(settings.namespace)
                offsets = []
                with PartitionLog(settings, number, LOG_START) as log:
                    for record in log.records():
                        if session is None or record.key == session.encode("utf-8"):
                            verification.fold(record.key, record.value)
                            offsets.append(record.offset)
                report = verification.report
                verdicts.update({kind.value: count for kind, count in report.verdicts.items()})
                for finding in report.findings:
                    if finding.verdict is not VerdictKind.STALE:
                        place = f"{number}:{offsets[finding.place]}"
                        findings.append(f"{place}: {finding.verdict.value}: {finding.reason}")
                unproven += report.unproven
                sessions += map(_of_report, report.sessions.values())
                advance()
        findings += _strange_parents(reader, sessions)
    if session is not None and not sessions:
        raise UnknownSession(session)
    ok = all(each.ok for each in sessions) and not findings and not unproven
    return Proof(ok, tuple(sessions), dict(verdicts), tuple(findings), tuple(unproven), _NOT_SHOWN)


def prove_files(path: Path, session: str | None) -> Proof:
    """Read session files and check their events and rules. Raises UnknownSession, DataError."""
    files = FileSessions(path)
    ids = [session] if session is not None else [info.id for info in files.sessions()]
    findings = tuple(str(error) for error in files.faults)
    sessions = tuple(_of_file(files, id) for id in ids)
    ok = not findings and all(each.ok for each in sessions)
    return Proof(ok, sessions, {}, findings, (), (_NO_CHAIN,))


def _strange_parents(reader: KafkaReader, sessions: list[SessionProof]) -> Iterator[str]:
    """The forks whose parent has another commit at the boundary than they say."""
    for session in sessions:
        fork = None if session.report is None else session.report.fork
        if fork is None:
            continue
        try:
            fits = reader.hash_at(fork.session_id, fork.boundary) == fork.hash
        except UnknownSession:
            yield f"{session.session_id}: its parent {fork.session_id!r} is not there"
        else:
            if not fits:
                yield (
                    f"{session.session_id}: event {fork.boundary} of its parent "
                    f"{fork.session_id!r} is in another commit than its open says"
                )


def _of_report(report: SessionReport) -> SessionProof:
    return SessionProof(
        report.session_id, report.ok, report.event_count, tuple(_faults(report)), report
    )


def _faults(report: SessionReport) -> Iterator[str]:
    if report.stop is not None:
        yield f"{report.stop.kind.value} from seq {report.stop.seq} on: {report.stop.reason}"
    for breach in report.breaches[:10]:
        yield f"seq {breach.seq}: {breach.reason}"
    if report.breach_count > 10:
        yield f"{report.breach_count - 10} more breaches"


def _of_file(files: FileSessions, id: str) -> SessionProof:
    try:
        log = files.read(id)
    except UnknownSession:
        raise
    except TurnlogError as error:
        return SessionProof(id, False, 0, (str(error),))
    found = breaches(log)
    faults = tuple(f"seq {breach.seq}: {breach.reason}" for breach in found[:10])
    return SessionProof(id, not found, log.next_seq, faults)
