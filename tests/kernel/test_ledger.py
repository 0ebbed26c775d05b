"""The ledger: each verdict, and that nothing but accepted records moves anything."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.commits import Record, SessionLine, forged, make_commit, record_of
from tests.contended_logs import FAULTS, NEWER, contended_log, contended_logs, resealed
from turnlog.events.avro import encode_commit
from turnlog.events.body import ClaimReason
from turnlog.events.commit import Commit, Kind
from turnlog.events.head import Head
from turnlog.kernel.ledger import Ledger, Verdict, VerdictKind

ACCEPTED, DUPLICATE = VerdictKind.ACCEPTED, VerdictKind.DUPLICATE
STALE, BROKEN, NEWER_ = VerdictKind.STALE, VerdictKind.BROKEN, VerdictKind.NEWER


def fold(ledger: Ledger, *commits: Commit) -> list[VerdictKind]:
    return [ledger.fold(*record_of(commit)).kind for commit in commits]


def begun() -> tuple[Ledger, SessionLine]:
    """A ledger with one session of two events, and who writes it."""
    ledger, line = Ledger("turnlog"), SessionLine()
    assert fold(ledger, line.open(), line.events(2)) == [ACCEPTED, ACCEPTED]
    return ledger, line


def state(ledger: Ledger) -> tuple[dict[str, Head], frozenset[str]]:
    return dict(ledger.heads), ledger.stopped


# --- accepted -------------------------------------------------------------------------------------


def test_a_session_is_accepted_from_its_open_to_its_release() -> None:
    ledger, line = Ledger("turnlog"), SessionLine()
    commits = [line.open(), line.events(3), line.claim(), line.events(1), line.release()]
    verdicts = [ledger.fold(*record_of(commit)) for commit in commits]
    assert verdicts == [Verdict(ACCEPTED, "s1", commit, "") for commit in commits]
    assert ledger.heads == {"s1": line.head}
    assert line.head == Head(commits[-1].hash, 4, "w1", True)


def test_the_owner_is_who_wrote_the_last_open_or_claim() -> None:
    ledger, line = begun()
    other = line.fork("w2")
    fold(ledger, other.events(), other.release())
    assert ledger.heads["s1"].writer == "w1"
    fold(ledger, other.claim())
    assert ledger.heads["s1"].writer == "w2"


def test_a_session_is_released_only_by_its_last_record() -> None:
    ledger, line = begun()
    assert not ledger.heads["s1"].released
    fold(ledger, line.release())
    assert ledger.heads["s1"].released
    fold(ledger, line.claim(ClaimReason.RESUME))
    assert not ledger.heads["s1"].released


def test_sessions_do_not_touch_each_other() -> None:
    ledger, line = begun()
    other = SessionLine("s2")
    assert fold(ledger, other.open(), line.events(), other.events()) == [ACCEPTED] * 3
    assert ledger.heads == {"s1": line.head, "s2": other.head}


def test_a_body_is_not_looked_at() -> None:
    ledger, line = begun()
    nonsense = resealed(line.events(), body=b"no rows", content_encoding="rot13", key_id="k")
    assert fold(ledger, nonsense) == [ACCEPTED]


def test_later_event_rules_are_not_looked_at() -> None:
    ledger, line = begun()
    assert fold(ledger, resealed(line.events(), semantics=9)) == [ACCEPTED]


# --- duplicate and stale --------------------------------------------------------------------------


def test_the_head_again_is_a_duplicate() -> None:
    ledger, line = Ledger("turnlog"), SessionLine()
    opened = line.open()
    assert fold(ledger, opened, opened, opened) == [ACCEPTED, DUPLICATE, DUPLICATE]
    events = line.events()
    assert fold(ledger, events) == [ACCEPTED]
    again, behind = ledger.fold(*record_of(events)), ledger.fold(*record_of(opened))
    assert again == Verdict(DUPLICATE, "s1", events, "it is the head already")
    assert behind == Verdict(STALE, "s1", opened, "the session exists")


def test_of_two_writers_at_one_head_the_first_in_the_log_wins() -> None:
    for first, second in (("w1", "w2"), ("w2", "w1")):
        ledger, line = begun()
        lines = {"w1": line, "w2": line.fork("w2")}
        claims = {writer: lines[writer].claim() for writer in lines}
        after = {writer: lines[writer].events() for writer in lines}
        assert fold(ledger, claims[first], claims[second]) == [ACCEPTED, STALE]
        assert fold(ledger, after[second], after[first]) == [STALE, ACCEPTED]
        assert ledger.heads["s1"] == lines[first].head


def test_all_behind_a_lost_record_is_stale() -> None:
    ledger, line = begun()
    line.events()  # never reaches the log
    assert fold(ledger, line.events(), line.events(), line.claim()) == [STALE] * 3


def test_records_in_another_order_than_they_were_made_are_stale() -> None:
    ledger, line = begun()
    first, second = line.events(), line.events()
    assert fold(ledger, second, first, second) == [STALE, ACCEPTED, ACCEPTED]


def test_a_seal_makes_what_is_in_flight_stale() -> None:
    ledger, line = begun()
    sealer = line.fork("w1")
    late = line.events()
    assert fold(ledger, sealer.claim(ClaimReason.SEAL), late) == [ACCEPTED, STALE]
    ledger, line = begun()
    sealer, late = line.fork("w1"), line.events()
    assert fold(ledger, late, sealer.claim(ClaimReason.SEAL)) == [ACCEPTED, STALE]


def test_two_claims_of_one_writer_id_differ_by_their_nonce() -> None:
    ledger, line = begun()
    twin = line.fork("w1")
    claim = line.claim()
    same_id = resealed(twin.claim(), nonce=b"another process!")
    assert fold(ledger, claim, same_id) == [ACCEPTED, STALE]


@pytest.mark.parametrize("kind", [Kind.CLAIM, Kind.RELEASE, Kind.EVENTS])
def test_a_session_that_no_open_began_is_stale(kind: Kind) -> None:
    ledger = Ledger("turnlog")
    orphan = make_commit(kind, first_seq=0, prev_hash=bytes(32))
    verdict = ledger.fold(*record_of(orphan))
    assert (verdict.kind, verdict.reason) == (STALE, "the session is unknown")
    assert not ledger.heads


@pytest.mark.parametrize("fields", [{"first_seq": 1}, {"prev_hash": b"p" * 32}])
def test_an_open_that_is_no_beginning_is_stale(fields: dict[str, Any]) -> None:
    ledger = Ledger("turnlog")
    assert fold(ledger, resealed(SessionLine().open(), **fields)) == [STALE]
    assert not ledger.heads


def test_a_second_open_is_stale_wherever_it_hangs() -> None:
    ledger, line = begun()
    head = line.head
    again = SessionLine(writer="w2").open()
    on_head = resealed(again, prev_hash=head.hash, first_seq=head.next_seq)
    assert fold(ledger, again, on_head) == [STALE, STALE]
    assert ledger.heads["s1"] == head


@pytest.mark.parametrize("step", [-1, 1])
def test_a_seq_that_is_not_next_is_stale_even_on_the_head(step: int) -> None:
    ledger, line = begun()
    commit = line.events()
    assert fold(ledger, resealed(commit, first_seq=commit.first_seq + step)) == [STALE]


# --- broken ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, b"", b"\xff", b"\xed\xa0\x80", b"a\x00", b"x" * 256])
def test_a_key_that_names_no_session_is_broken(key: bytes | None) -> None:
    ledger, line = begun()
    values = [encode_commit(line.events()), b"\xc3\x01" + b"newer   ", None]
    for value in values:
        verdict = ledger.fold(key, value)
        assert verdict == Verdict(BROKEN, None, None, "the key names no session")
    assert not ledger.stopped


@pytest.mark.parametrize("value", [None, b"", b"{}", b"\xc3\x01\x00"])
def test_a_value_that_is_no_record_is_broken(value: bytes | None) -> None:
    ledger, _ = begun()
    verdict = ledger.fold(b"s1", value)
    assert (verdict.kind, verdict.session_id, verdict.commit) == (BROKEN, "s1", None)
    assert verdict.reason


@pytest.mark.parametrize(
    "fields", [{"namespace": "other"}, {"namespace": ""}, {"session_id": "s2"}]
)
def test_a_record_of_another_log_is_broken(fields: dict[str, Any]) -> None:
    ledger, line = begun()
    commit = resealed(line.events(), **fields)
    verdict = ledger.fold(b"s1", encode_commit(commit))
    assert verdict[:3] == (BROKEN, "s1", commit)
    assert verdict.reason


@pytest.mark.parametrize("field", ["body", "writer", "hash", "prev_hash", "last_time_ms"])
def test_a_record_whose_hash_does_not_fit_is_broken(field: str) -> None:
    ledger, line = begun()
    commit = line.events()
    value = {"body": b"[]", "writer": "w2", "last_time_ms": 5}.get(field, b"?" * 32)
    tampered = msgspec.structs.replace(commit, **{field: value})
    assert fold(ledger, tampered) == [BROKEN]
    assert fold(ledger, commit) == [ACCEPTED]


# --- newer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", NEWER)
def test_a_newer_record_stops_its_session_and_no_other(what: str) -> None:
    ledger, line = begun()
    head = line.head
    other = SessionLine("s2")
    assert fold(ledger, other.open()) == [ACCEPTED]
    verdict = ledger.fold(*NEWER[what](line.events(), Random(1)))
    assert (verdict.kind, verdict.session_id, verdict.commit) == (NEWER_, "s1", None)
    assert "newer" in verdict.reason
    following = line.fork("w2").claim()
    after = "a record before it is newer than this reader"
    assert ledger.fold(*record_of(following)) == Verdict(NEWER_, "s1", following, after)
    assert fold(ledger, line.events(), line.release(), other.events()) == [NEWER_, NEWER_, ACCEPTED]
    assert ledger.stopped == {"s1"}
    assert ledger.heads["s1"] == head


def test_a_newer_record_stops_a_session_that_was_not_seen_before() -> None:
    ledger, line = Ledger("turnlog"), SessionLine()
    assert ledger.fold(b"s1", forged(line.open(), format=2)).kind is NEWER_
    assert fold(ledger, SessionLine().open()) == [NEWER_]
    assert not ledger.heads


def test_what_can_be_no_record_of_a_stopped_session_stays_broken() -> None:
    ledger, line = begun()
    ledger.fold(b"s1", forged(line.events(), kind="erase"))
    assert ledger.fold(b"s1", b"junk").kind is BROKEN
    assert fold(ledger, msgspec.structs.replace(line.events(), hash=b"?" * 32)) == [BROKEN]


# --- the fold -------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", FAULTS)
def test_no_faulty_record_changes_anything(what: str) -> None:
    ledger, line = begun()
    before = state(ledger)
    commit = line.events()
    for seed in range(20):
        verdict = ledger.fold(*FAULTS[what](commit, Random(seed)))
        if verdict.kind is NEWER_:  # a bit of the fingerprint, the format or the kind
            ledger = Ledger("turnlog", heads=before[0])
        assert verdict.kind in (BROKEN, STALE, NEWER_)
        assert state(ledger) == before
    assert fold(ledger, commit) == [ACCEPTED]


def test_the_random_logs_hold_every_verdict_and_long_sessions() -> None:
    kinds: Counter[VerdictKind] = Counter()
    longest = 0
    for seed in range(50):
        ledger = Ledger("turnlog")
        kinds.update(ledger.fold(*record).kind for record in contended_log(40, seed))
        longest = max([longest, *(head.next_seq for head in ledger.heads.values())])
    # Only a ledger that starts inside a log finds anything unproven.
    assert min(kinds[kind] for kind in VerdictKind if kind is not VerdictKind.UNPROVEN) >= 20
    assert longest >= 15


@given(contended_logs())
def test_only_an_accepted_record_moves_a_head_and_only_to_itself(records: list[Record]) -> None:
    ledger = Ledger("turnlog")
    for record in records:
        heads, stopped = state(ledger)
        kind, session_id, commit, _ = ledger.fold(*record)
        if kind is ACCEPTED and commit is not None and session_id is not None:
            before = heads.get(session_id)
            assert commit.prev_hash == (before.hash if before else bytes(32))
            assert commit.first_seq == (before.next_seq if before else 0)
            heads[session_id] = Head(
                commit.hash,
                commit.first_seq + commit.event_count,
                commit.writer if before is None or commit.kind is Kind.CLAIM else before.writer,
                commit.kind is Kind.RELEASE,
            )
        elif kind is NEWER_ and session_id is not None:
            stopped |= {session_id}
        assert state(ledger) == (heads, stopped)


@given(contended_logs(), st.integers(0, 40))
def test_a_ledger_that_starts_from_heads_goes_on_as_if_it_had_read_all(
    records: list[Record], cut: int
) -> None:
    whole, first = Ledger("turnlog"), Ledger("turnlog")
    expected = [whole.fold(*record) for record in records]
    verdicts = [first.fold(*record) for record in records[:cut]]
    second = Ledger("turnlog", heads=first.heads, stopped=first.stopped)
    verdicts += [second.fold(*record) for record in records[cut:]]
    assert verdicts == expected
    assert state(second) == state(whole)


@given(contended_logs())
@example(contended_log(26, 32637253))
def test_a_log_read_twice_over_has_the_same_heads(records: list[Record]) -> None:
    ledger = Ledger("turnlog")
    verdicts = [ledger.fold(*record) for record in records]
    before = state(ledger)
    tips = {head.hash for head in ledger.heads.values()}
    for record, verdict in zip(records, verdicts, strict=True):
        # What came before the record that it hangs on was stale, and would count the second time.
        if verdict.commit is None or verdict.commit.prev_hash not in tips:
            assert ledger.fold(*record).kind is not ACCEPTED
    assert state(ledger) == before


@given(contended_logs())
def test_what_did_not_count_can_be_left_out(records: list[Record]) -> None:
    whole, short = Ledger("turnlog"), Ledger("turnlog")
    counted = [record for record in records if whole.fold(*record).accepted]
    assert all(short.fold(*record).accepted for record in counted)
    assert short.heads == whole.heads


@given(st.none() | st.binary(max_size=20), st.none() | st.binary(max_size=200))
def test_any_bytes_get_a_verdict(key: bytes | None, value: bytes | None) -> None:
    ledger, _ = begun()
    assert ledger.fold(key, value).kind in (BROKEN, NEWER_)


def test_the_heads_are_a_live_view_that_can_not_be_changed() -> None:
    ledger, line = begun()
    heads: Any = ledger.heads
    with pytest.raises(TypeError):
        heads["s1"] = None
    fold(ledger, line.events())
    assert heads["s1"] == line.head


def test_the_heads_that_a_ledger_starts_from_stay_the_callers() -> None:
    ledger, line = begun()
    given_heads = dict(ledger.heads)
    second = Ledger("turnlog", heads=given_heads)
    fold(second, line.events())
    given_heads.clear()
    assert second.heads["s1"] == line.head
    assert ledger.heads["s1"] != line.head
