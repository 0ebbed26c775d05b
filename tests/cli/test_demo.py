"""The demo on a real broker: what it prints, leaves in the log, and would find wrong."""

from __future__ import annotations

import re
import signal
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.cli.command import turnlog
from turnlog.broker import ensure_topics
from turnlog.cli.demo_checks import Check, Evidence, check_child, check_session, gather
from turnlog.cli.demo_child import Child, ChildFailed
from turnlog.cli.demo_process import IN_TOOL, fork_of
from turnlog.events import Kind
from turnlog.kernel import Log, VerdictKind, repair
from turnlog.log import KafkaSettings, KafkaStore
from turnlog.session import SessionStore

HEADINGS = (
    "1. An agent works, in a process of its own",
    "2. A second process tries to write to the same session",
    "3. The agent is killed inside its tool",
    "4. A new process takes over, goes on, and forks",
    "Transcript: all that happened, by event numbers",
    "What the model saw at each step",
    "The repair, appended when the session was taken over",
    "The lineage, and the fork's own part",
    "Verification, by the records of the partitions alone",
)


class Demo(NamedTuple):
    """One run of the demo: what it printed, by heading, and where it wrote."""

    printed: str
    parts: dict[str, str]
    settings: KafkaSettings
    session_id: str


@pytest.fixture(scope="module")
def demo(kafka: str) -> Demo:
    """The demo, run once on a namespace of its own, in 80 columns."""
    settings = KafkaSettings(bootstrap=kafka, namespace=f"test-{uuid.uuid4().hex[:12]}")
    done = turnlog("demo", "--namespace", settings.namespace, KAFKA_BOOTSTRAP=kafka, COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, "")
    found = re.search(r"^Session (demo-\w+): partition", done.stdout, re.MULTILINE)
    assert found is not None
    return Demo(done.stdout, _parts(done.stdout), settings, found[1])


@pytest.fixture(scope="module")
def store(demo: Demo) -> Iterator[SessionStore]:
    """A store that reads what the demo left."""
    with KafkaStore(demo.settings) as store:
        yield store


def evidence_of(demo: Demo, session_id: str) -> Evidence:
    meta = ensure_topics(demo.settings.bootstrap, demo.settings.namespace).meta
    return gather(demo.settings, session_id, meta.layouts[0])


def wrong(checks: list[Check]) -> set[str]:
    return {check.name for check in checks if not check.ok}


def _parts(printed: str) -> dict[str, str]:
    """What stands below each heading, which has a rule below it."""
    lines = printed.splitlines()
    parts: dict[str, list[str]] = {}
    part: list[str] = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if set(after) == {"-"}:
            part = parts.setdefault(re.sub(r" +\d+\.\d s$", "", line), [])
        elif set(line) != {"-"}:
            part.append(line)
    return {heading: "\n".join(lines) for heading, lines in parts.items()}


# --- what it prints ------------------------------------------------------------------------------


def test_its_parts_come_in_order_and_fit_80_columns_of_ascii(demo: Demo) -> None:
    assert tuple(demo.parts) == HEADINGS
    assert demo.printed.isascii()
    assert max(map(len, demo.printed.splitlines())) == 80


def test_an_ascii_terminal_of_120_columns_gets_as_many_as_can_be_read(
    kafka: str, namespace: str
) -> None:
    env = {"KAFKA_BOOTSTRAP": kafka, "COLUMNS": "120", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = turnlog("demo", "--namespace", namespace, **env)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert max(map(len, done.stdout.splitlines())) == 100


def test_it_shows_the_agent_at_work_up_to_the_tool_in_which_it_dies(demo: Demo) -> None:
    lines = demo.parts[HEADINGS[0]].splitlines()
    assert lines[0] == "  user       Which of my notes are due today?"
    assert "  model      I will look at the notes. (6 chunks)" in lines
    assert (
        '  tool       send_mail {"to":"ada@example.org","file":"plan.txt"}; event 44' in lines[-2]
    )
    assert IN_TOOL not in demo.printed


def test_the_second_process_is_told_who_holds_the_session(demo: Demo) -> None:
    assert re.match(
        r"  told no    OwnedElsewhere: writer [0-9a-f]{8} on .* holds it;", demo.parts[HEADINGS[1]]
    )


def test_it_shows_that_the_call_was_durable_before_the_tool_began(demo: Demo) -> None:
    said = demo.parts[HEADINGS[2]]
    assert "SIGKILL" in said
    assert "45 events; the last is tool/call" in said


def test_the_new_process_restores_all_and_appends_the_repair(demo: Demo) -> None:
    said = demo.parts[HEADINGS[3]]
    assert "take-over  45 events restored, 4 appended by the repair" in said
    assert f"fork       {fork_of(demo.session_id)} inherits events 0 to 30, turn 1" in said


def test_the_transcript_keeps_what_the_compaction_took_from_the_model(demo: Demo) -> None:
    said = demo.parts[HEADINGS[4]]
    assert "  1       user       Which of my notes are due today?" in said
    assert "compaction 4 messages -> So far:" in said
    assert re.search(r"send_mail .* ->\s+outcome-unknown$", said, re.MULTILINE)
    assert "turn end   turn 2, interrupted" in said


def test_of_each_request_it_shows_what_was_new(demo: Demo) -> None:
    lines = demo.parts[HEADINGS[5]].splitlines()
    assert [line.strip() for line in lines if line.startswith("  turn")] == [
        "turn 1, step 1   1 message",
        "turn 1, step 2   3 messages, the first 1 as before",
        "turn 2, step 1   2 messages, all of it new",
        "turn 3, step 1   5 messages, the first 2 as before",
        "turn 3, step 2   7 messages, the first 5 as before",
    ]
    assert any(line.startswith("      4 user       [result] This tool call was") for line in lines)


def test_the_repair_says_what_the_model_is_told(demo: Demo) -> None:
    said = demo.parts[HEADINGS[6]]
    assert "  45      tool/result       TOOL_OUTCOME_UNKNOWN" in said
    assert 'the model reads: "This tool call was interrupted after it began' in said
    assert [line.split()[1] for line in said.splitlines() if re.match(r"  4\d", line)] == [
        "tool/result",
        "step/end",
        "turn/end",
        "session/end-seed",
    ]


def test_the_lineage_names_both_and_the_fork_saw_the_turn_before_the_compaction(
    demo: Demo,
) -> None:
    said = demo.parts[HEADINGS[7]]
    assert f"  root       {demo.session_id}, 87 events" in said
    assert f"  +- child   {fork_of(demo.session_id)}, 49 events, the first 31 of them" in said
    assert "  turn 2, step 1   5 messages, the first 3 as before" in said


def test_every_check_is_ok(demo: Demo) -> None:
    said = demo.parts[HEADINGS[8]]
    assert "12 checks, 0 wrong" in said
    assert "WRONG" not in said
    names = [line.split()[0] for line in said.splitlines() if line[13:15] == "ok"]
    each = ["chain", "ledger", "events", "reader", "view"]
    assert names == [*each, "repair", *each, "fork"]


# --- what it leaves in the log -------------------------------------------------------------------


def test_two_sessions_stand_in_its_namespace_and_both_are_released(
    demo: Demo, store: SessionStore
) -> None:
    infos = {info.id: info for info in store.sessions()}
    assert set(infos) == {demo.session_id, fork_of(demo.session_id)}
    assert all(info.released for info in infos.values())


def test_the_call_of_the_killed_tool_has_the_repairs_result_alone(
    demo: Demo, store: SessionStore
) -> None:
    log = store.read(demo.session_id)
    types = [event.type for event in log.events(44, 50)]
    closing = ["tool/result", "step/end", "turn/end", "session/end-seed"]
    assert types == ["tool/call", *closing, "turn/start"]
    results = [
        event.data["message"]["source"]["callId"]
        for event in log.events()
        if event.type == "tool/result"
    ]
    assert results == ["c1", "c2", "c3"]
    assert [draft.type for draft in repair(log.prefix(45))] == closing[:-1]


def test_the_fork_begins_with_the_parents_very_events(demo: Demo, store: SessionStore) -> None:
    parent, child = store.read(demo.session_id), store.read(fork_of(demo.session_id))
    seed = child.header.seed_length
    assert seed == 31
    texts = [[event.text for event in log.events(0, seed)] for log in (parent, child)]
    assert texts[0] == texts[1]


def test_two_writers_held_the_session_and_no_record_is_stale(demo: Demo) -> None:
    evidence = evidence_of(demo, demo.session_id)
    holders = [
        commit.writer for commit in evidence.commits if commit.kind in {Kind.OPEN, Kind.CLAIM}
    ]
    assert len(holders) == len(set(holders)) == 2
    assert set(evidence.verdicts) == {VerdictKind.ACCEPTED}


# --- what its checks would find ------------------------------------------------------------------


@pytest.fixture(scope="module")
def own(demo: Demo) -> Evidence:
    return evidence_of(demo, demo.session_id)


@pytest.fixture(scope="module")
def log(demo: Demo, store: SessionStore) -> Log:
    return store.read(demo.session_id)


def test_the_true_records_pass(own: Evidence, log: Log) -> None:
    assert wrong(check_session(own, log)) == set()


@pytest.mark.parametrize("place", [0, 3])
def test_a_missing_record_breaks_the_chain(own: Evidence, log: Log, place: int) -> None:
    left = own._replace(records=own.records[:place] + own.records[place + 1 :])
    assert {"chain", "ledger"} <= wrong(check_session(left, log))


def test_a_cut_tail_is_seen_only_because_the_session_is_not_released(
    own: Evidence, log: Log
) -> None:
    cut = own._replace(records=own.records[:-1])
    assert wrong(check_session(cut, log)) == {"ledger"}


def test_a_broken_record_of_the_session_is_wrong(own: Evidence, log: Log) -> None:
    record = own.records[2]
    verdict = record.verdict._replace(kind=VerdictKind.BROKEN, reason="bent")
    records = (*own.records, record._replace(verdict=verdict))
    checks = check_session(own._replace(records=records), log)
    assert wrong(checks) == {"ledger"}
    assert "bent" in {check.found for check in checks}


def test_a_reader_that_misses_an_event_is_wrong(own: Evidence, log: Log) -> None:
    assert wrong(check_session(own, log.prefix(log.next_seq - 1))) == {"reader"}


def test_no_records_are_no_proof(own: Evidence, log: Log) -> None:
    nothing = Evidence(own.session_id, own.namespace, own.partition, (), Counter())
    assert wrong(check_session(nothing, log)) == {"chain", "ledger", "events", "reader"}


def test_a_fork_is_checked_against_the_very_parent(demo: Demo, own: Evidence) -> None:
    child = evidence_of(demo, fork_of(demo.session_id))
    assert check_child(child, own).ok
    assert not check_child(child, child).ok
    assert not check_child(own, child).ok
    assert not check_child(child, own._replace(records=own.records[:1])).ok


# --- its processes -------------------------------------------------------------------------------


@pytest.fixture
def nowhere() -> KafkaSettings:
    return KafkaSettings(bootstrap="127.0.0.1:1", namespace="none")


def test_a_process_that_fails_is_one_line_with_its_own_words(nowhere: KafkaSettings) -> None:
    with Child("dance", nowhere, "s") as child, pytest.raises(ChildFailed) as failed:
        child.expect(0)
    assert (failed.value.code, failed.value.exit_code) == (2, 2)
    assert str(failed.value).startswith("the demo's process 'dance' ended with exit code 2: ")
    assert "\n" not in str(failed.value)


def test_a_process_that_ends_before_its_line_has_failed(nowhere: KafkaSettings) -> None:
    with Child("dance", nowhere, "s") as child, pytest.raises(ChildFailed):
        child.show(until=IN_TOOL)


def test_a_process_without_a_broker_tells_so_by_its_exit_code(nowhere: KafkaSettings) -> None:
    with Child("intrude", nowhere, "s") as child, pytest.raises(ChildFailed) as failed:
        child.expect(4)
    assert failed.value.exit_code == 5


def test_a_process_that_still_runs_is_ended_with_its_block(nowhere: KafkaSettings) -> None:
    with Child("begin", nowhere, "s") as child:
        assert child.ended is None
    assert child.ended == -signal.SIGKILL


@pytest.mark.parametrize(
    ("code", "ended", "exit_code"),
    [
        (-9, "was ended by SIGKILL", 1),
        (-200, "was ended by signal 200", 1),
        (None, "did not end", 1),
        (1, "ended with exit code 1", 1),
        (130, "ended with exit code 130", 130),
    ],
)
def test_how_a_process_ended_is_said_and_becomes_the_exit_code(
    code: int | None, ended: str, exit_code: int
) -> None:
    failed = ChildFailed("begin", code, "")
    assert str(failed) == f"the demo's process 'begin' {ended}"
    assert failed.exit_code == exit_code
