"""Laws of the log, on logs of a simulated agent."""

from __future__ import annotations

import io
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import AgentLog, agent_logs, broken_logs, event_values, splits
from turnlog.events import (
    CallerError,
    Draft,
    Event,
    MissingField,
    Row,
    event_row,
    expand,
    pack,
    read_jsonl,
    write_jsonl,
)
from turnlog.kernel import (
    Log,
    SessionState,
    documents,
    invariants,
    messages,
    plan_fork,
    repair,
    restore,
    statistics,
)
from turnlog.session import Session

LOG_ONLY = [
    Draft("plan/mode", {"noise": 1}),
    Draft("hook/invoked", None),
    Draft("session/title", {}),
]


def values(rows: Any) -> list[Any]:
    return [event.to_json() for event in expand(rows)]


@given(agent_logs())
def test_the_same_events_give_the_same_state(log: AgentLog) -> None:
    one, other = restore(log.header, log.rows), restore(log.header, map(event_row, log.values))
    assert one.state.save() == other.state.save()
    assert values(one.log.rows) == values(other.log.rows) == log.values


@given(agent_logs(), st.data())
def test_the_state_is_the_same_however_the_log_is_split(log: AgentLog, data: st.DataObject) -> None:
    whole = SessionState()
    for event in log.events:
        whole.apply(event)
    pieces = SessionState()
    for start, end in data.draw(splits(len(log.values))):
        pieces.apply(log.events[start:end])
    assert pieces.save() == whole.save()


@given(agent_logs(), st.data())
def test_a_saved_state_goes_on_as_if_it_had_not_been_saved(
    log: AgentLog, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(log.values)))
    state = SessionState()
    state.apply(log.events[:cut])
    loaded = SessionState.load(state.save())
    loaded.apply(log.events[cut:])
    state.apply(log.events[cut:])
    assert loaded.save() == state.save()
    assert loaded.nodes == state.nodes


@given(broken_logs())
def test_a_refused_batch_leaves_the_state_as_it_was(broken: Any) -> None:
    state = SessionState()
    events = [event for value in broken.values for event in _readable(value)]
    for start in range(0, len(events), 3):
        before = state.save()
        try:
            state.apply(events[start : start + 3])
        except (CallerError, MissingField):  # a result without data has no identity to replace
            assert state.save() == before
            return


@given(agent_logs())
def test_messages_asked_for_after_each_event_are_those_from_scratch(log: AgentLog) -> None:
    session = Session.create("s")
    for draft in log.drafts[:40]:
        session.append_all([draft])
        mine = [message.value for message in session.messages()]
        assert mine == [message.value for message in messages(session.log)]


@given(agent_logs(), st.integers(0, 80))
def test_log_only_events_never_change_the_messages(log: AgentLog, where: int) -> None:
    noisy, quiet = Session.create("s"), Session.create("s")
    quiet.append_all([Draft("plan/mode", {})] * 3)
    noisy.append_all(LOG_ONLY)
    before = [message.value for message in noisy.messages()]
    noisy.append_all(LOG_ONLY)
    assert [message.value for message in noisy.messages()] == before
    cut = min(where, len(log.drafts))
    session = Session.create("s")
    for draft in log.drafts[:cut]:
        session.append_all([draft])
    before = [message.value for message in session.messages()]
    session.append_all(LOG_ONLY)
    assert [message.value for message in session.messages()] == before


@given(event_values())
def test_packing_and_expanding_is_the_identity(events: list[Any]) -> None:
    rows = list(pack(_events(events)))
    assert values(rows) == events
    assert values(pack(expand(rows))) == events


@given(event_values(), st.data())
def test_any_mixture_of_packed_and_plain_rows_is_the_same_log(
    events: list[Any], data: st.DataObject
) -> None:
    rows: list[Row] = []
    for start, end in data.draw(splits(len(events))):
        rows += pack(_events(events[start:end]))
    assert values(rows) == events


@given(agent_logs())
def test_writing_and_reading_jsonl_is_the_identity(log: AgentLog) -> None:
    file = io.BytesIO()
    write_jsonl(file, log.header, log.rows)
    file.seek(0)
    header, rows = read_jsonl(file)
    assert [row.text for row in rows] == [row.text for row in log.rows]
    assert header.value == {"delegationDepth": 0} | log.header.value


@given(agent_logs(), st.data())
def test_a_fork_is_a_prefix_with_equal_messages(log: AgentLog, data: st.DataObject) -> None:
    parent = Log(log.header, tuple(log.rows))
    if not log.values:
        return
    boundary = data.draw(st.integers(0, len(log.values) - 1))
    try:
        plan = plan_fork(parent, boundary)
    except CallerError:
        return
    assert values(plan.rows) == log.values[: boundary + 1]
    child = Log(log.header, plan.rows)
    mine = [message.value for message in messages(child)]
    assert mine == [message.value for message in messages(parent, boundary + 1)]


@given(agent_logs(), st.integers(0, 80))
def test_repairing_twice_adds_nothing(log: AgentLog, cut: int) -> None:
    session = Session.create("s")
    for draft in log.drafts[: min(cut, len(log.drafts))]:
        session.append_all([draft])
    broken = len(session.breaches)
    for closer in repair(session.log):
        session.append_all([closer])
    assert repair(session.log) == []
    assert invariants(session.log).open_turn is None
    assert len(session.breaches) == broken


@given(agent_logs(), st.integers(0, 80))
def test_a_prefix_is_the_log_of_its_events(log: AgentLog, end: int) -> None:
    whole = Log(log.header, tuple(log.rows))
    prefix = whole.prefix(min(end, len(log.values)))
    assert values(prefix.rows) == log.values[:end]
    assert list(map(Event.to_json, whole.events(end))) == log.values[end:]


@given(agent_logs())
def test_reopening_adds_no_event(log: AgentLog) -> None:
    once = Session.from_restore("session", log.values, log.header)
    again = Session.from_restore("session", values(once.log.rows), log.header)
    assert values(again.log.rows) == values(once.log.rows)


@given(agent_logs())
@settings(max_examples=50)
def test_views_answer_alike_for_packed_and_plain_rows(log: AgentLog) -> None:
    packed = Log(log.header, tuple(log.rows))
    plain = Log(log.header, tuple(map(event_row, log.values)))
    assert statistics(packed) == statistics(plain)
    assert list(documents(packed)) == list(documents(plain))
    assert invariants(packed) == invariants(plain)


def _events(stored: list[Any]) -> list[Event]:
    return [event for value in stored for event in event_row(value).events()]


def _readable(value: Any) -> list[Event]:
    try:
        return event_row(value).events()
    except Exception:  # noqa: BLE001 - what can't be read at all is not this law's concern
        return []
