"""What every store promises, whichever backend keeps its logs."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest

from tests.session.backends import Backend
from tests.session.talk import HEADER, assistant, chunk, result, run_turn, say, user
from turnlog.events import (
    CallerError,
    Closed,
    Conflict,
    Draft,
    Header,
    ImportConflict,
    InvalidBoundary,
    OpenTurn,
    OutcomeUnknown,
    OwnedElsewhere,
    PresetMismatch,
    Replace,
    RestoreRefused,
    SessionExists,
    Superseded,
    UnknownRequiredType,
    UnknownSession,
    event_row,
    expand,
)
from turnlog.kernel import Log, messages, trace_session
from turnlog.session import Session


def types(log: Log) -> list[str]:
    return [event.type for event in log.events()]


def values(log: Log) -> list[object]:
    return [event.to_json() for event in log.events()]


def test_flushed_events_are_what_another_store_reads(backend: Backend) -> None:
    session = backend.store().create("s")
    run_turn(session)
    session.flush()
    assert values(backend.store().read("s")) == values(session.log)


def test_flush_acknowledges_all_that_was_appended(backend: Backend) -> None:
    session = backend.store(window_s=60).create("s")
    say(session, "u1")
    assert session.acknowledged_seq == 0
    head = session.flush()
    assert (head.next_seq, session.acknowledged_seq, head.released) == (1, 1, False)


def test_the_window_writes_without_a_flush(backend: Backend) -> None:
    store = backend.store(window_s=0.01)
    session = store.create("s")
    say(session, "u1")
    done = threading.Event()
    for _ in range(1000):
        if session.acknowledged_seq == 1:
            done.set()
            break
        threading.Event().wait(0.02)
    assert done.is_set()


def test_an_existing_id_is_refused(backend: Backend) -> None:
    store = backend.store()
    store.create("s")
    with pytest.raises(SessionExists):
        store.create("s")
    with pytest.raises(SessionExists):
        backend.store().create("s")


def test_an_unknown_id_is_refused(backend: Backend) -> None:
    store = backend.store()
    for act in (store.read, store.open, store.fork):
        with pytest.raises(UnknownSession):
            act("nobody")


def test_ids_that_look_alike_are_different_sessions(backend: Backend) -> None:
    store = backend.store()
    ids = ["A", "a", "../a", "a/b", "a%2fb", ".a", "é", "e\u0301", "x" * 255, "☃" * 255, "☃" * 254]
    for index, id in enumerate(ids):
        say(store.create(id), f"u{index}")
    store.close()
    after = backend.store()
    assert [messages(after.read(id))[0].id for id in ids] == [f"u{i}" for i in range(len(ids))]
    assert sorted(info.id for info in after.sessions()) == sorted(ids)


def test_a_released_session_is_opened_without_take_over(backend: Backend) -> None:
    with backend.store() as store:
        run_turn(store.create("s"))
    session = backend.store().open("s")
    assert types(session.log)[-2:] == ["turn/end", "session/end-seed"]
    assert session.first_live_seq == session.next_seq - 1
    assert session.acknowledged_seq == session.next_seq


def test_reopening_adds_no_second_end_seed(backend: Backend) -> None:
    with backend.store() as store:
        run_turn(store.create("s"))
    for _ in range(2):
        with backend.store() as store:
            store.open("s")
    assert types(backend.store().read("s")).count("session/end-seed") == 1


def test_a_held_session_is_owned_elsewhere(backend: Backend) -> None:
    first = backend.store()
    first.create("s").flush()
    with pytest.raises(OwnedElsewhere) as caught:
        backend.store().open("s")
    assert caught.value.writer
    assert caught.value.host
    assert caught.value.last_time_ms


def test_a_take_over_supersedes_the_first_writer(backend: Backend) -> None:
    first = backend.store(window_s=60).create("s")
    say(first, "u1")
    first.flush()
    say(first, "lost")
    second = backend.store().open("s", take_over=True)
    say(second, "u2")
    second.flush()
    with pytest.raises(Superseded) as caught:
        first.flush()
    assert [event.data["id"] for event in first.not_landed] == ["lost"]
    assert second.head is not None
    assert caught.value.head.writer == second.head.writer
    for act in (lambda: say(first, "more"), first.messages, lambda: first.log, first.flush):
        with pytest.raises(Superseded):
            act()
    ids = [message.id for message in messages(backend.store().read("s"))]
    assert ids == ["u1", "u2"]


def test_a_superseded_session_can_be_opened_again(backend: Backend) -> None:
    store = backend.store(window_s=60)
    first = store.create("s")
    first.flush()
    backend.store().open("s", take_over=True)
    with suppress(Superseded):  # a store may hear of it before it is asked
        say(first, "lost")
    with pytest.raises(Superseded):
        first.flush()
    again = store.open("s", take_over=True)
    say(again, "u1")
    again.flush()
    assert [message.id for message in messages(store.read("s"))] == ["u1"]


def test_opening_repairs_an_open_turn_and_ends_the_seed(backend: Backend) -> None:
    store = backend.store()
    session = store.create("s")
    session.append("turn/start", {"turn": 1})
    session.append("step/start", {"turn": 1, "step": 1})
    call = {"type": "tool-call", "id": "c1", "name": "bash", "arguments": "{}"}
    session.append(
        "assistant/message",
        {"turn": 1, "step": 1, "message": assistant("a1", call)},
        surface="append",
    )
    with session.tool_call(1, 1, "c1", "bash", "{}"):
        pass
    before = session.next_seq
    session.detach()
    resumed = backend.store().open("s")
    added = types(resumed.log)[before:]
    assert added == ["tool/result", "step/end", "turn/end", "session/end-seed"]
    result_event = next(iter(resumed.log.events(before, before + 1)))
    assert result_event.data["error"]["code"] == "TOOL_OUTCOME_UNKNOWN"
    assert resumed.breaches == ()


def test_opening_without_repair_leaves_the_turn_open(backend: Backend) -> None:
    with backend.store() as store:
        store.create("s").append("turn/start", {"turn": 1})
    session = backend.store().open("s", repair=False)
    assert types(session.log) == ["turn/start", "session/end-seed"]


def test_a_log_with_an_unknown_required_type_is_read_but_not_resumed(backend: Backend) -> None:
    store = backend.store()
    rows = [event_row({"type": "later/thing", "seq": 0, "time": 1, "data": {}})]
    store.import_log(Header.new("s", 1), rows)
    assert types(store.read("s")) == ["later/thing"]
    for _ in range(2):
        with pytest.raises(UnknownRequiredType) as caught:
            store.open("s")
        assert (caught.value.type, caught.value.seq) == ("later/thing", 0)
    assert types(store.read("s")) == ["later/thing"]


def test_another_preset_is_refused_and_leaves_the_session_free(backend: Backend) -> None:
    with backend.store() as store:
        store.create("s", header=Header.new("s", 1, agentPreset="plan"))
    store = backend.store()
    with pytest.raises(PresetMismatch):
        store.open("s", preset="build")
    assert store.open("s", preset="plan").header.agent_preset == "plan"


def test_an_imported_log_is_kept_bit_for_bit_and_released(backend: Backend) -> None:
    source = Session.create("s")
    run_turn(source)
    log = source.log
    store = backend.store()
    assert store.import_log(log.header, log.rows).added == log.next_seq
    assert [row.text for row in store.read("s").rows] == [row.text for row in log.rows]
    assert store.open("s").next_seq == log.next_seq + 1


def test_importing_again_adds_only_what_is_missing(backend: Backend) -> None:
    source = Session.create("s")
    run_turn(source)
    store = backend.store()
    store.import_log(source.header, source.log.rows)
    assert store.import_log(source.header, source.log.rows).added == 0
    run_turn(source, 2)
    longer = source.log
    done = store.import_log(longer.header, longer.rows)
    assert done.added == longer.next_seq - done.first_added > 0
    assert values(store.read("s")) == values(longer)
    assert store.import_log(longer.header, longer.prefix(3).rows).added == 0


def test_importing_into_a_session_that_is_open_here_is_refused(backend: Backend) -> None:
    store = backend.store()
    session = store.create("s")
    run_turn(session)
    session.flush()
    same = session.log
    longer = Session.from_restore("s", [event.to_json() for event in same], same.header)
    run_turn(longer, 2)
    with pytest.raises(OwnedElsewhere):
        store.import_log(same.header, longer.log.rows)
    assert store.import_log(same.header, same.rows).added == 0
    run_turn(session, 2)
    session.flush()
    assert store.read("s").next_seq == session.next_seq


def test_importing_a_different_log_names_the_seq_and_changes_nothing(backend: Backend) -> None:
    store = backend.store()
    one, other = Session.create("s"), Session.create("s", header=None)
    say(one, "u1")
    say(one, "u2")
    store.import_log(one.header, one.log.rows)
    say(other, "u1")
    say(other, "different")
    rows = [
        event_row(mine.to_json() | {"time": theirs.time_ms})
        for mine, theirs in zip(other.log.events(), one.log.events(), strict=True)
    ]
    with pytest.raises(ImportConflict) as caught:
        store.import_log(one.header, rows)
    assert caught.value.seq == 1
    assert values(store.read("s")) == values(one.log)


def test_a_log_that_restore_refuses_is_not_imported(backend: Backend) -> None:
    store = backend.store()
    rows = [event_row({"type": "turn/start", "seq": 1, "time": 1, "data": {"turn": 1}})]
    with pytest.raises(RestoreRefused) as caught:
        store.import_log(Header.new("s", 1), rows)
    assert caught.value.index == 0
    with pytest.raises(UnknownSession):
        store.read("s")


@pytest.mark.parametrize("where", ["live here", "live elsewhere", "cold"])
def test_a_fork_inherits_the_parent_and_leaves_it_untouched(backend: Backend, where: str) -> None:
    store = backend.store()
    parent = (backend.store() if where == "live elsewhere" else store).create(
        "p", header=Header.new("p", 1, cwd="/w", agentPreset="plan")
    )
    run_turn(parent)
    parent.flush()
    before = values(parent.log)
    if where == "cold":
        parent.detach()
    child = store.fork("p", child_id="c", origin="subagent")
    assert values(child.log)[:-1] == before
    assert types(child.log)[-1] == "session/end-seed"
    assert values(store.read("p")) == before
    header = child.header
    assert (header.parent_session, header.seed_length, header.cwd) == ("p", len(before), "/w")
    assert (header.agent_preset, header.origin, header.delegation_depth) == (None, "subagent", 1)
    theirs = [message.value for message in messages(store.read("p"))]
    assert [message.value for message in child.messages()] == theirs
    assert child.first_live_seq == len(before)
    assert child.acknowledged_seq == child.next_seq


def test_a_fork_at_a_boundary_takes_no_more(backend: Backend) -> None:
    store = backend.store()
    parent = store.create("p")
    run_turn(parent)
    first = parent.next_seq
    run_turn(parent, 2)
    child = store.fork(parent, boundary=first - 1, child_id="c")
    assert child.header.seed_length == first
    assert child.next_seq == first + 1


def test_an_empty_session_can_be_forked(backend: Backend) -> None:
    store = backend.store()
    store.create("p")
    child = store.fork("p", child_id="c")
    assert (child.header.seed_length, types(child.log)) == (0, ["session/end-seed"])


def test_a_fork_inside_an_open_turn_is_refused_or_trimmed_when_asked(backend: Backend) -> None:
    store = backend.store()
    parent = store.create("p")
    run_turn(parent)
    closed = parent.next_seq
    parent.append("turn/start", {"turn": 2})
    with pytest.raises(OpenTurn):
        store.fork("p", child_id="c")
    with pytest.raises(InvalidBoundary):
        store.fork("p", boundary=99, child_id="c")
    assert store.fork("p", boundary="last-closed-turn", child_id="c").header.seed_length == closed


def test_a_fork_under_an_existing_id_is_refused(backend: Backend) -> None:
    store = backend.store()
    store.create("p")
    store.create("c")
    with pytest.raises(SessionExists):
        store.fork("p", child_id="c")
    store.fork("p", child_id="d")
    with pytest.raises(SessionExists):
        backend.store().fork("p", child_id="d")


def test_lineage_follows_forks_of_forks(backend: Backend) -> None:
    store = backend.store()
    store.create("root")
    store.fork("root", child_id="child")
    store.fork("child", child_id="grandchild")
    lineage = trace_session([info.header for info in store.sessions()], "grandchild")
    assert lineage.to_json()["ancestors"] == ["child", "root"]


def test_append_all_lands_in_order_and_whole(backend: Backend) -> None:
    session = backend.store(window_s=60).create("s")
    good = [Draft("user/message", user("u1"), "append"), chunk("a"), chunk("b")]
    for bad in (
        Draft("turn/start", {}),
        Draft("user/message", user("u2"), Replace(9, 9), [1]),
        Draft("own/thing", {}),
    ):
        with pytest.raises(CallerError):
            session.append_all([*good, bad])
    session.flush()
    assert backend.store().read("s").next_seq == 0
    session.append_all(good)
    session.flush()
    assert types(backend.store().read("s")) == ["user/message", *["assistant/chunk"] * 2]


def test_a_repeated_request_with_expected_seq_gives_the_stored_events(backend: Backend) -> None:
    session = backend.store().create("s")
    first = session.append("user/message", user("u1"), surface="append", expected_seq=0)
    say(session, "u2")
    again = session.append("user/message", user("u1"), surface="append", expected_seq=0)
    assert again.to_json() == first.to_json()
    assert session.next_seq == 2
    with pytest.raises(Conflict):
        session.append("user/message", user("other"), surface="append", expected_seq=0)
    with pytest.raises(Conflict):
        session.append_all(
            [Draft("user/message", user(id), "append") for id in ("u1", "u2", "u3")],
            expected_seq=0,
        )


def test_detach_flushes_and_refuses_appends(backend: Backend) -> None:
    store = backend.store(window_s=60)
    session = store.create("s")
    say(session, "u1")
    session.detach()
    session.detach()
    with pytest.raises(Closed):
        say(session, "u2")
    assert store.live() == []
    assert backend.store().read("s").next_seq == 1


def test_a_vetoed_session_stays_empty_and_free(backend: Backend) -> None:
    store = backend.store()

    def veto(session: Session) -> None:
        raise PermissionError("not here")

    remove = store.observe_created(veto)
    with pytest.raises(PermissionError):
        store.create("s")
    remove()
    assert store.live() == []
    assert types(store.open("s").log) == ["session/end-seed"]


def test_a_seed_is_part_of_the_new_log(backend: Backend) -> None:
    source = Session.create("x")
    run_turn(source)
    seed = values(source.log)
    session = backend.store().create("s", seed=seed)
    assert values(backend.store().read("s"))[: len(seed)] == seed
    assert types(session.log)[-1] == "session/end-seed"


def test_reading_waits_for_a_head(backend: Backend) -> None:
    session = backend.store(window_s=60).create("s")
    head = session.flush()
    say(session, "u1")
    later = threading.Timer(0.3, session.flush)
    later.start()
    assert backend.store().read("s", wait=head._replace(next_seq=1)).next_seq == 1
    later.join()


def test_reading_waits_no_longer_than_it_was_told(backend: Backend) -> None:
    session = backend.store(window_s=60).create("s")
    head = session.flush()
    say(session, "u1")
    with pytest.raises(OutcomeUnknown) as caught:
        backend.store().read("s", wait=head._replace(next_seq=1), timeout_s=0.2)
    assert caught.value.first_seq == 0


def test_odd_text_survives(backend: Backend) -> None:
    session = backend.store().create("s")
    texts = ["a\x00b", "\\u0000", "cut \ud83d", "line\u2028\u2029\x85end", "\r\n", "😀"]
    for index, text in enumerate(texts):
        say(session, f"u{index}", text)
    session.append("plan/mode", {"deep": _nested(5000)})
    session.flush()
    found = messages(backend.store().read("s"))
    assert [message.content[0]["text"] for message in found] == texts


def test_a_late_result_tells_the_model_and_changes_nothing_earlier(backend: Backend) -> None:
    session = backend.store().create("s")
    session.append("turn/start", {"turn": 1})
    session.append("step/start", {"turn": 1, "step": 1})
    call = {"type": "tool-call", "id": "c1", "name": "bash", "arguments": "{}"}
    message = {"turn": 1, "step": 1, "message": assistant("a1", call)}
    session.append("assistant/message", message, surface="append")
    with session.tool_call(1, 1, "c1", "bash", "{}"):
        pass
    session.detach()
    store = backend.store()
    session = store.open("s")
    before = len(session.messages())
    late = session.append_late_result(1, 1, "c1", result("r1", "c1", "the real answer"))
    assert [event.type for event in late] == ["tool/late-result", "user/message"]
    assert len(session.messages()) == before + 1
    session.detach()
    assert store.open("s").next_seq > 0


def test_the_inbox_survives_and_is_claimed_in_order(backend: Backend) -> None:
    with backend.store() as store:
        session = store.create("s")
        session.splice_inbox("next-turn", 0, inserted=[user("t1"), user("t2")])
        session.splice_inbox("next-step", 0, inserted=[user("n1")])
    session = backend.store().open("s")
    assert [message["id"] for message in session.claim_inbox("next-turn")] == ["n1", "t1"]
    assert [message.id for message in session.inbox.next_turn] == ["t2"]
    assert session.claim_inbox("next-step") == []


def test_a_request_header_of_the_last_lifetime_stays_in_force(backend: Backend) -> None:
    with backend.store() as store:
        run_turn(store.create("s"))
    assert backend.store().open("s").request().header == HEADER


def test_stored_rows_are_packed(backend: Backend) -> None:
    session = backend.store().create("s")
    session.append_all([chunk(f"t{i}") for i in range(50)])
    session.flush()
    log = backend.store().read("s")
    assert len(log.rows) == 1
    assert [event.data["chunk"]["text"] for event in expand(log.rows)] == [
        f"t{i}" for i in range(50)
    ]


def _nested(depth: int) -> object:
    value: object = None
    for _ in range(depth):
        value = [value]
    return value
