"""Imports of logs that are read anew each time: as those in memory, and never kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.backends import Backend
from tests.session.talk import run_turn
from tests.strategies import AgentLog, agent_logs
from turnlog.events import (
    BadSessionId,
    Header,
    ImportConflict,
    RestoreRefused,
    TooLarge,
    UnknownSession,
)
from turnlog.events.jsonl import MAX_LINE_BYTES
from turnlog.events.rows import Row, event_row, expand, pack
from turnlog.kernel import Log
from turnlog.session import MemoryStore, Session, plan_import
from turnlog.session.checked import check_log, first_difference


class Reread:
    """Rows that are made anew each time, as those of a file are; `reads` counts how often."""

    def __init__(self, *versions: Iterable[Row]) -> None:
        self._versions = [list(rows) for rows in versions]
        self.reads = 0

    def __iter__(self) -> Iterator[Row]:
        version = self._versions[min(self.reads, len(self._versions) - 1)]
        self.reads += 1
        return iter(version)


def turns(count: int) -> Log:
    session = Session.create("s")
    for turn in range(1, count + 1):
        run_turn(session, turn)
    return session.log


def values(rows: Iterable[Row]) -> list[object]:
    return [event.to_json() for event in expand(rows)]


def test_a_streamed_log_is_stored_bit_for_bit(backend: Backend) -> None:
    log, store = turns(3), backend.store()
    rows = Reread(log.rows)
    assert store.import_log(log.header, rows).added == log.next_seq
    assert rows.reads == 2
    assert [row.text for row in store.read("s").rows] == [row.text for row in log.rows]


def test_what_is_missing_is_added_from_inside_a_packed_row_on(backend: Backend) -> None:
    log, store = turns(2), backend.store()
    packed = next(row for row in log.rows if row.packed)
    inside = packed.first_seq + 2
    beginning = list(pack(event for event in expand(log.rows) if event.seq < inside))
    store.import_log(log.header, beginning)
    done = store.import_log(log.header, Reread(log.rows))
    assert (done.first_added, done.next_seq) == (inside, log.next_seq)
    assert values(store.read("s").rows) == values(log.rows)
    assert store.import_log(log.header, Reread(log.rows)).added == 0


def test_a_log_of_many_stretches_lands_whole(backend: Backend) -> None:
    data = {"title": "x" * 1_000_000, "sourceSeqs": [], "source": {"kind": "user"}}
    rows = [
        event_row({"type": "session/title", "seq": seq, "time": seq, "data": data})
        for seq in range(20)
    ]
    store = backend.store()
    assert store.import_log(Header.new("s", 1), Reread(rows)).added == 20
    assert [row.text for row in store.read("s").rows] == [row.text for row in rows]
    assert store.open("s").next_seq == 21


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (lambda log: log.rows[:-1], "changed"),
        (lambda log: [*log.rows, *later(log)], "changed"),
        (lambda log: [*log.rows[:2], *log.rows[3:]], "expected"),
    ],
    ids=["shorter", "longer", "another"],
)
def test_a_log_that_changes_meanwhile_is_refused_and_what_landed_goes_on(
    backend: Backend, second: Callable[[Log], Iterable[Row]], reason: str
) -> None:
    log, store = turns(1), backend.store()
    with pytest.raises(RestoreRefused, match=reason):
        store.import_log(log.header, Reread(log.rows, second(log)))
    # It is released, and the whole log adds what is missing.
    assert store.import_log(log.header, log.rows).next_seq == log.next_seq
    assert values(store.read("s").rows) == values(log.rows)


def later(log: Log) -> list[Row]:
    data = {"turn": 9}
    return [event_row({"type": "x/y", "seq": log.next_seq, "time": 1, "data": data})]


def test_nothing_is_written_of_a_log_that_is_refused(backend: Backend) -> None:
    store, log = backend.store(), turns(1)
    with pytest.raises(RestoreRefused):
        store.import_log(log.header, Reread([*log.rows, *log.rows]))
    with pytest.raises(UnknownSession):
        store.read("s")


@pytest.mark.parametrize("id", ["", "a\0b", "x" * 256, "\ud800"])
def test_an_id_that_no_store_takes_is_refused(backend: Backend, id: str) -> None:
    header = Header.of({"version": 0, "id": id, "createdAt": 1})
    nothing: list[Row] = []
    for rows in (nothing, Reread(nothing)):
        with pytest.raises(BadSessionId):
            backend.store().import_log(header, rows)


def test_a_row_that_no_reader_of_a_file_takes_back_is_refused() -> None:
    data = {"title": "x" * MAX_LINE_BYTES, "sourceSeqs": [], "source": {"kind": "user"}}
    row = event_row({"type": "session/title", "seq": 0, "time": 1, "data": data})
    for rows in ([row], Reread([row])):
        with pytest.raises(TooLarge):
            check_log(Header.new("s", 1), rows)


def test_a_plan_says_what_an_import_does_and_does_nothing() -> None:
    with MemoryStore() as store:
        log = turns(1)
        assert plan_import(store, log.header, log.rows).added == log.next_seq
        assert list(store.sessions()) == []


def test_a_plan_names_what_is_there_and_what_differs(backend: Backend) -> None:
    store, log, longer = backend.store(), turns(1), turns(2)
    store.import_log(longer.header, log.rows)
    assert plan_import(store, longer.header, log.rows).added == 0
    other = [event_row({**event.to_json(), "time": 5}) for event in log]
    with pytest.raises(ImportConflict) as caught:
        plan_import(store, longer.header, other)
    assert caught.value.seq == 0
    assert store.read("s").next_seq == log.next_seq


@given(log=agent_logs(), start=st.integers(0, 200))
def test_a_streamed_log_gives_what_a_kept_one_gives(log: AgentLog, start: int) -> None:
    rows = list(pack(expand(map(event_row, log.values))))
    kept, streamed = check_log(log.header, rows), check_log(log.header, Reread(rows))
    assert streamed.next_seq == kept.next_seq
    start = min(start, kept.next_seq)
    assert values(streamed.rows(start)) == values(kept.rows(start)) == log.values[start:]


@given(log=agent_logs(), at=st.integers(0, 200), forms=st.tuples(st.booleans(), st.booleans()))
def test_two_logs_differ_where_their_events_do(
    log: AgentLog, at: int, forms: tuple[bool, bool]
) -> None:
    plain = list(map(event_row, log.values))
    changed = [
        event_row({**value, "time": -7} if seq == at else value)
        for seq, value in enumerate(log.values)
    ]
    one, other = (
        list(pack(expand(rows))) if packed else rows
        for rows, packed in zip((plain, changed), forms, strict=True)
    )
    assert first_difference(one, one) is None
    assert first_difference(one[: len(one) // 2], one) is None
    assert first_difference(one, other) == (at if at < len(plain) else None)
