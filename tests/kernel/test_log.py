"""Logs of packed rows: lookups, prefixes, and rows that grow."""

from __future__ import annotations

from typing import Any

import pytest

from turnlog.events import Event, Header, Row, event_row, expand
from turnlog.kernel import Log, RowLog


def delta(seq: int, text: str = "x", index: int = 0) -> Event:
    chunk = {"type": "text-delta", "index": index, "text": text}
    data = {"turn": 1, "step": 1, "chunk": chunk}
    return event_row({"type": "assistant/chunk", "seq": seq, "time": seq, "data": data}).events()[0]


def noted(seq: int) -> Event:
    return event_row({"type": "plan/mode", "seq": seq, "time": seq, "data": {}}).events()[0]


def mixed(length: int = 20) -> list[Event]:
    return [noted(seq) if seq % 7 == 0 else delta(seq, index=seq // 9) for seq in range(length)]


def grown(events: list[Event]) -> RowLog:
    rows = RowLog()
    for event in events:
        rows.append(event)
    return rows


def values(events: Any) -> list[Any]:
    return [event.to_json() for event in events]


def test_rows_hold_what_was_appended_packed() -> None:
    events = mixed()
    rows = grown(events)
    assert values(expand(rows.rows())) == values(events)
    assert rows.next_seq == len(events)
    assert sum(row.packed for row in rows.rows()) == 3


def test_asking_for_rows_changes_nothing() -> None:
    rows = grown([delta(0), delta(1)])
    assert [row.count for row in rows.rows()] == [1, 1]
    rows.append(delta(2))
    assert [(row.count, row.packed) for row in rows.rows()] == [(3, True)]


def test_the_next_seq_follows_every_event() -> None:
    rows = RowLog()
    assert rows.next_seq == 0
    for event in [noted(0), noted(1), delta(2), delta(3), noted(4), noted(5)]:
        rows.append(event)
        assert rows.next_seq == event.seq + 1
        found = rows.event(event.seq)
        assert found is not None
        assert found.to_json() == event.to_json()


@pytest.mark.parametrize("text", ["x", "x" * 1_000, "\x00" * 100_000])
def test_a_run_ends_before_its_row_could_fill_a_commit(text: str) -> None:
    events = [delta(seq, text) for seq in range(3_000 if len(text) < 10 else 200)]
    rows = grown(events).rows()
    assert len(rows) > 1
    assert max(row.count for row in rows) <= 1_024
    assert max(len(row.text) for row in rows) < 2 * 1024 * 1024
    assert values(expand(rows)) == values(events)


def test_a_seal_ends_the_run() -> None:
    rows = grown([delta(0), delta(1), delta(2)])
    rows.end_run()
    rows.end_run()
    for seq in range(3, 6):
        rows.append(delta(seq))
    assert [row.count for row in rows.rows()] == [3, 3]


def test_a_group_has_rows_of_its_own() -> None:
    rows = grown([delta(0), delta(1), delta(2)])
    rows.extend([delta(3), delta(4), delta(5), noted(6), delta(7)])
    rows.append(delta(8))
    assert [row.count for row in rows.rows()] == [3, 3, 1, 1, 1]
    assert values(expand(rows.rows())) == values(
        [*map(delta, range(6)), noted(6), delta(7), delta(8)]
    )


@pytest.mark.parametrize("start", range(21))
def test_rows_from_any_seq_on_are_the_events_from_there(start: int) -> None:
    events = mixed()
    rows = grown(events)
    assert values(expand(rows.rows(start))) == values(events[start:])
    sealed = RowLog(grown(events).rows())
    assert values(expand(sealed.rows(start))) == values(events[start:])


@pytest.mark.parametrize("seq", range(20))
def test_an_event_is_found_by_its_seq(seq: int) -> None:
    events = mixed()
    rows = grown(events)
    log = rows.log(Header.new("s", 1))
    for holder in (rows, log):
        found = holder.event(seq)
        assert found is not None
        assert found.to_json() == events[seq].to_json()
        assert holder.event(20) is None


def test_a_log_is_its_events_in_a_loop() -> None:
    assert [event.seq for event in grown(mixed()).log(Header.new("s", 1))] == list(range(20))
    assert list(Log(Header.new("s", 1), ())) == []


def test_events_between_seqs_are_half_open() -> None:
    log = grown(mixed()).log(Header.new("s", 1))
    for start in range(21):
        for end in range(start, 22):
            assert [event.seq for event in log.events(start, end)] == list(
                range(start, min(end, 20))
            )
    assert [event.seq for event in log.events(18)] == [18, 19]
    assert [event.seq for event in log.events(end=2)] == [0, 1]


@pytest.mark.parametrize("end", [0, 1, 4, 8, 19, 20])
def test_a_prefix_ends_where_it_says(end: int) -> None:
    log = grown(mixed()).log(Header.new("s", 1))
    assert values(log.prefix(end).events()) == values(mixed()[:end])
    assert log.prefix(end).next_seq == end


def test_rows_go_on_after_stored_rows() -> None:
    rows = RowLog(grown(mixed(10)).rows())
    assert rows.next_seq == 10
    rows.append(noted(10))
    assert rows.next_seq == 11
    assert len(list(expand(rows.rows()))) == 11


def test_a_sparse_log_is_read_row_by_row() -> None:
    sparse = [noted(3), noted(9), noted(2)]
    log = Log(Header.new("s", 1), tuple(Row(event.text, event.seq) for event in sparse))
    assert [event.seq for event in log.events()] == [3, 9, 2]
    assert log.next_seq == 3


def test_a_log_of_sealed_rows_holds_no_event_beyond_them() -> None:
    assert grown([noted(0)]).event(1) is None


def test_a_log_has_the_header_that_it_is_asked_with() -> None:
    header = Header.new("s", 1)
    assert grown(mixed()).log(header).header is header


def test_a_prefix_that_ends_inside_the_first_row_begins_at_the_first_event() -> None:
    events = [delta(seq) for seq in range(5)]
    log = grown(events).log(Header.new("s", 1))
    assert values(log.prefix(2).events()) == values(events[:2])


def test_rows_that_begin_at_a_rows_start_are_left_as_they_are() -> None:
    rows = RowLog()
    for first in (0, 3, 6):
        rows.extend([delta(seq) for seq in range(first, first + 3)])
    assert rows.rows(3) == rows.rows()[1:]
    assert [row.count for row in rows.rows(3)] == [3, 3]


def test_added_rows_end_the_run_and_stay_as_they_are() -> None:
    more = RowLog()
    more.extend([delta(seq) for seq in range(3, 6)])
    more.extend([delta(seq) for seq in range(6, 9)])
    rows = grown([delta(0), delta(1), delta(2)])
    added = more.rows()
    rows.extend_rows(added)
    assert rows.next_seq == 9
    assert rows.rows()[1:] == added
    rows.append(noted(9))
    assert values(expand(rows.rows())) == values([*map(delta, range(9)), noted(9)])
