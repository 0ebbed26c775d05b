"""Verify: what a partition's records prove."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernel.partitions import NAMESPACE, Record, SessionWriter, record
from tests.kernel.turn_logs import (
    Value,
    log_of,
    other,
    packed,
    sound_logs,
    step_start,
    turn_start,
    user,
)
from turnlog.events.body import Fork, StoredBody
from turnlog.events.commit import Commit
from turnlog.events.rows import event_row
from turnlog.kernel.invariants import breaches
from turnlog.kernel.ledger import VerdictKind
from turnlog.kernel.log import Log
from turnlog.kernel.verify import (
    MAX_LISTED,
    UNSEEN,
    Report,
    SessionReport,
    Stop,
    StopKind,
    Verification,
    verify,
)


def _verify(*commits: Commit) -> Report:
    return verify(map(record, commits), NAMESPACE)


def _session(*commits: Commit, id: str = "s") -> SessionReport:
    return _verify(*commits).sessions[id]


def _counts(report: Report) -> dict[str, int]:
    return {str(kind): count for kind, count in report.verdicts.items() if count}


def _rows(*values: Value) -> Any:
    return log_of(*values).rows


# --- sound partitions ----------------------------------------------------------------------------


def test_a_sound_partition_is_ok_and_each_session_is_told_of() -> None:
    a, b = SessionWriter("a"), SessionWriter("b")
    commits = [a.open(), b.open(), *a.log(log_of(turn_start(), user())), b.claim(), a.release()]
    report = _verify(*commits)
    assert report.ok
    assert (report.namespace, report.record_count) == (NAMESPACE, 5)
    assert _counts(report) == {"accepted": 5}
    assert set(report.verdicts) == set(VerdictKind)
    assert (report.findings, report.unproven) == ((), ())
    assert list(report.sessions) == ["a", "b"]
    first, second = report.sessions.values()
    assert (first.session_id, first.commit_count, first.event_count) == ("a", 3, 2)
    assert (second.commit_count, second.event_count) == (2, 0)
    assert (first.head.hash, first.head.next_seq, first.head.released) == (a.hash, 2, True)
    assert (first.stop, first.breaches, first.fork) == (None, (), None)


def test_an_empty_partition_is_ok() -> None:
    report = verify([], NAMESPACE)
    assert report.ok
    assert (report.record_count, dict(report.sessions)) == (0, {})


def test_a_report_says_what_an_unkeyed_chain_can_not_show() -> None:
    assert _verify().unseen == UNSEEN
    text = " ".join(UNSEEN)
    assert "cut tail" in text
    assert "deleted session" in text


def test_a_cut_tail_and_a_deleted_session_are_not_seen() -> None:
    a, b = SessionWriter("a"), SessionWriter("b")
    commits = [a.open(), b.open(), *a.log(log_of(user(), user()), per_commit=1)]
    assert _verify(*commits[:3]).ok
    assert _verify(commits[0], *commits[2:]).ok


def test_a_fork_names_its_place_in_the_parent() -> None:
    fork = Fork("parent", 4, bytes(range(32)))
    assert _session(SessionWriter().open(fork=fork)).fork == fork


# --- records that do not count -------------------------------------------------------------------


def test_a_stale_record_and_a_duplicate_are_counted_and_no_fault() -> None:
    winner, loser = SessionWriter(), SessionWriter()
    opened = winner.open()
    loser.hash = opened.hash
    lost = loser.events(_rows(user("lost")))
    kept = winner.events(_rows(user("kept")))
    report = _verify(opened, opened, kept, lost)
    assert report.ok
    assert _counts(report) == {"accepted": 2, "duplicate": 1, "stale": 1}
    (finding,) = report.findings
    assert (finding.place, finding.session_id, finding.verdict) == (3, "s", VerdictKind.STALE)
    assert finding.reason
    assert report.sessions["s"].event_count == 1


@pytest.mark.parametrize(
    "broken",
    [(None, b"x"), (b"s", None), (b"s", b""), (b"\xff", b"x"), (b"s", b"\xc3\x01" + bytes(20))],
)
def test_a_broken_or_newer_record_is_a_fault_and_the_others_count(broken: Record) -> None:
    writer = SessionWriter("other")
    records = [record(writer.open()), broken, record(writer.events(_rows(user())))]
    report = verify(records, NAMESPACE)
    assert not report.ok
    assert report.sessions["other"].ok
    assert report.sessions["other"].event_count == 1
    (finding,) = report.findings
    assert finding.place == 1
    assert finding.verdict in (VerdictKind.BROKEN, VerdictKind.NEWER)


def test_a_changed_record_is_broken_and_what_hangs_on_it_is_stale() -> None:
    writer = SessionWriter()
    rows = _rows(user("a"))
    text = b"[" + rows[0].text + b"]"
    opened = writer.open()
    first = writer.events(rows, body=text, content_encoding="identity")
    second = writer.release()
    key, value = record(first)
    assert value is not None
    changed = (key, value.replace(b'"a"', b'"b"'))
    report = verify([record(opened), changed, record(second)], NAMESPACE)
    assert not report.ok
    assert _counts(report) == {"accepted": 1, "broken": 1, "stale": 1}
    assert report.sessions["s"].head.next_seq == 0


def test_a_record_of_another_namespace_is_broken() -> None:
    assert _counts(_verify(SessionWriter(namespace="foreign").open())) == {"broken": 1}


def test_a_session_whose_open_is_gone_is_unproven_and_a_fault() -> None:
    writer = SessionWriter()
    writer.open()
    report = _verify(writer.events(_rows(user())), writer.release())
    assert not report.ok
    assert report.unproven == ("s",)
    assert dict(report.sessions) == {}


def test_a_newer_record_stops_its_session_alone() -> None:
    writer, other_writer = SessionWriter(), SessionWriter("other")
    newer = (b"s", b"\xc3\x01" + b"\x07" * 8 + b"body")
    records = [
        record(writer.open()),
        record(writer.events(_rows(user()))),
        newer,
        record(writer.release()),
        record(other_writer.open()),
    ]
    report = verify(records, NAMESPACE)
    assert _counts(report) == {"accepted": 3, "newer": 2}
    stop = report.sessions["s"].stop
    assert stop is not None
    assert (stop.kind, stop.seq) == (StopKind.NEWER, 1)
    assert "newer" in stop.reason
    assert report.sessions["other"].ok
    assert not report.ok


def test_findings_are_listed_up_to_a_bound_and_all_are_counted() -> None:
    report = verify([(None, None)] * (MAX_LISTED + 5), NAMESPACE)
    assert (len(report.findings), report.verdicts[VerdictKind.BROKEN]) == (
        MAX_LISTED,
        MAX_LISTED + 5,
    )


# --- sessions that stop --------------------------------------------------------------------------


def _stop(*commits: Commit) -> Stop:
    report = _verify(*commits)
    assert not report.ok
    assert _counts(report) == {"accepted": len(commits)}
    stop = report.sessions["s"].stop
    assert stop is not None
    assert stop.reason
    return stop


@pytest.mark.parametrize(
    "bad",
    [
        {"event_count": 3},
        {"last_time_ms": 5},
        {"body": b"[]", "content_encoding": "identity"},
        {"body": b"no zstd", "content_encoding": "zstd"},
    ],
)
def test_a_body_that_is_not_what_its_envelope_says_quarantines_from_its_first_seq(bad: Any) -> None:
    writer = SessionWriter()
    commits = [
        writer.open(),
        writer.events(_rows(user("a"))),
        writer.events([event_row({**user("b"), "seq": 1, "time": 1})], **bad),
    ]
    stop = _stop(*commits)
    assert (stop.kind, stop.seq) == (StopKind.QUARANTINED, 1)


def test_an_event_against_the_rules_quarantines_from_its_own_seq() -> None:
    writer = SessionWriter()
    rows = _rows(user("a"), user("b"), user("c", over=(7,)), user("d"))
    stop = _stop(writer.open(), writer.events(rows))
    assert (stop.kind, stop.seq) == (StopKind.QUARANTINED, 2)


def test_what_comes_after_a_stop_is_counted_and_not_folded() -> None:
    writer = SessionWriter()
    rows = _rows(
        user("a"), other("turn/end", turn=3), user("b", over=(9,)), other("turn/end", turn=4)
    )
    session = _session(writer.open(), *(writer.events([row]) for row in rows), writer.release())
    assert (session.commit_count, session.event_count, session.head.next_seq) == (6, 4, 4)
    assert session.stop is not None
    assert session.stop.seq == 2
    assert [breach.seq for breach in session.breaches] == [1]


@pytest.mark.parametrize(
    "body", [b"{}", b'{"header":{"version":0,"id":"other","createdAt":1}}', b"no"]
)
def test_an_open_without_the_sessions_header_quarantines_all(body: bytes) -> None:
    writer = SessionWriter()
    opened = writer.open(StoredBody("identity", body))
    stop = _stop(opened, writer.events(_rows(user())))
    assert (stop.kind, stop.seq) == (StopKind.QUARANTINED, 0)
    assert _session(opened).fork is None


def test_a_claim_that_does_not_say_why_quarantines_from_the_next_seq() -> None:
    writer = SessionWriter()
    commits = [
        writer.open(),
        writer.events(_rows(user())),
        writer.claim(StoredBody("identity", b"{}")),
    ]
    assert _stop(*commits).seq == 1


def test_an_encrypted_body_stops_its_session_until_a_reader_can_read_it() -> None:
    writer = SessionWriter()
    stop = _stop(writer.open(), writer.events(_rows(user()), key_id="k"))
    assert (stop.kind, stop.seq) == (StopKind.NEWER, 0)
    assert "newer" in stop.reason


def test_the_first_stop_counts() -> None:
    writer = SessionWriter()
    opened, bad = writer.open(), writer.events(_rows(user("a", over=(5,))))
    newer = (b"s", b"\xc3\x01" + b"\x07" * 12)
    report = verify([record(opened), record(bad), newer], NAMESPACE)
    stop = report.sessions["s"].stop
    assert stop is not None
    assert (stop.kind, stop.seq) == (StopKind.QUARANTINED, 0)


# --- breaches ------------------------------------------------------------------------------------


def test_a_breach_of_an_invariant_is_named_and_stops_nothing() -> None:
    writer = SessionWriter()
    report = _verify(writer.open(), *writer.log(log_of(step_start(), turn_start(), user())))
    session = report.sessions["s"]
    assert (session.stop, session.breach_count, session.event_count) == (None, 1, 3)
    assert [breach.seq for breach in session.breaches] == [0]
    assert not session.ok
    assert not report.ok


def test_breaches_are_listed_up_to_a_bound_and_all_are_counted() -> None:
    writer = SessionWriter()
    values = [step_start() for _ in range(MAX_LISTED + 7)]
    session = _session(writer.open(), *writer.log(log_of(*values), per_commit=300))
    assert (len(session.breaches), session.breach_count) == (MAX_LISTED, MAX_LISTED + 7)
    assert session.breaches[-1].seq == MAX_LISTED - 1


# --- the fold ------------------------------------------------------------------------------------


def test_a_report_does_not_change_with_later_records() -> None:
    writer = SessionWriter()
    verification = Verification(NAMESPACE)
    verification.fold(*record(writer.open()))
    before = verification.report
    verification.fold(*record(writer.events(_rows(user()))))
    verification.fold(None, None)
    assert (before.record_count, before.sessions["s"].event_count, before.findings) == (1, 0, ())
    assert (before.verdicts[VerdictKind.BROKEN], before.ok) == (0, True)
    with pytest.raises(TypeError):
        before.sessions["x"] = before.sessions["s"]  # type: ignore[index]


@settings(max_examples=60)
@given(st.lists(sound_logs(), max_size=3), st.integers(1, 5), st.randoms(use_true_random=False))
def test_sound_sessions_in_any_interleaving_are_ok_at_every_split(
    logs: list[Log], per_commit: int, random: Any
) -> None:
    lanes: list[list[Record]] = []
    for number, log in enumerate(logs):
        writer = SessionWriter(f"s{number}")
        lanes.append([record(c) for c in [writer.open(), *writer.log(packed(log), per_commit)]])
    records: list[Record] = []
    while any(lanes):
        records.append(random.choice([lane for lane in lanes if lane]).pop(0))
    verification = Verification(NAMESPACE)
    for place, (key, value) in enumerate(records):
        assert verification.report == verify(records[:place], NAMESPACE)
        assert verification.fold(key, value).accepted
    report = verification.report
    assert report.ok
    assert [report.sessions[f"s{n}"].event_count for n in range(len(logs))] == [
        log.next_seq for log in logs
    ]


@settings(max_examples=60)
@given(sound_logs(), st.integers(1, 4))
def test_the_breaches_of_a_session_are_those_of_its_log(log: Log, per_commit: int) -> None:
    values = [event.to_json() for event in log.events() if event.type != "step/start"]
    rows = tuple(
        event_row({**value, "seq": seq})
        for seq, value in enumerate(values)
        if not isinstance(value.get("surfaceOp"), dict)
    )
    rows = tuple(event_row({**row.events()[0].to_json(), "seq": n}) for n, row in enumerate(rows))
    unsound = Log(log.header, rows)
    writer = SessionWriter()
    session = _session(writer.open(), *writer.log(unsound, per_commit))
    assert session.breaches == tuple(breaches(unsound))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.none() | st.binary(max_size=4), st.none() | st.binary(max_size=30))))
def test_no_record_makes_it_raise(records: list[Record]) -> None:
    report = verify(records, NAMESPACE)
    assert report.record_count == sum(report.verdicts.values()) == len(records)
    assert report.ok == (not records)
