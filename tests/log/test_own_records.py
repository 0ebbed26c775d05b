"""What is let through, and in which order, where a record waits for its delivery report."""

import pytest

from turnlog.events import Header
from turnlog.events.commit import Commit
from turnlog.log.commits import CommitMaker
from turnlog.log.messages import Record
from turnlog.log.own_records import OwnRecords


def commit() -> Commit:
    maker = CommitMaker("n", "s", "w", {})
    return maker.open(Header.of({"version": 0, "id": "s", "createdAt": 1}), None, bytes(16), 1)


def record(offset: int, value: bytes) -> Record:
    return Record(offset, b"s", value)


def offsets(own: OwnRecords) -> list[int]:
    found = []
    while (next_record := own.next()) is not None:
        found.append(next_record.offset)
    return found


@pytest.fixture
def own() -> OwnRecords:
    return OwnRecords(waits_for_reports=True)


def test_without_reports_all_are_let_through_and_known_by_their_bytes() -> None:
    own = OwnRecords(waits_for_reports=False)
    made = commit()
    own.expect(b"mine", made)
    own.put(record(0, b"mine"))
    assert own.commits[b"mine"] is made
    assert offsets(own) == [0]
    assert not own.is_holding


def test_a_record_waits_for_its_report_and_holds_back_those_behind_it(own: OwnRecords) -> None:
    own.expect(b"mine", commit())
    for offset, value in enumerate([b"before", b"mine", b"behind"]):
        own.put(record(offset, value))
    assert offsets(own) == [0]
    assert own.is_holding
    own.reported(b"mine", delivered=True)
    assert offsets(own) == [1, 2]


def test_a_report_that_comes_first_is_not_waited_for(own: OwnRecords) -> None:
    own.expect(b"mine", commit())
    own.reported(b"mine", delivered=True)
    own.put(record(0, b"mine"))
    assert offsets(own) == [0]


def test_what_was_read_and_is_reported_lost_is_to_be_repeated_until_a_copy_is_delivered(
    own: OwnRecords,
) -> None:
    made = commit()
    own.expect(b"mine", made)
    own.reported(b"mine", delivered=False)
    assert own.to_repeat() is None  # it may not stand in the log at all
    own.put(record(0, b"mine"))
    for _ in range(2):
        assert offsets(own) == []
        assert own.to_repeat() == (b"mine", made)
        own.expect(b"mine", made)
        assert own.to_repeat() is None  # the copy is on its way
        own.reported(b"mine", delivered=False)
    own.reported(b"mine", delivered=True)
    assert own.to_repeat() is None
    assert offsets(own) == [0]


def test_without_its_producer_every_report_is_one_of_failure(own: OwnRecords) -> None:
    own.expect(b"mine", commit())
    own.put(record(0, b"mine"))
    own.all_failed()
    again = own.to_repeat()
    assert again is not None
    assert again[0] == b"mine"


def test_what_can_not_count_any_more_holds_nothing_back(own: OwnRecords) -> None:
    own.expect(b"mine", commit())
    own.put(record(0, b"mine"))
    own.put(record(1, b"claim of another"))
    own.expect_none()
    assert offsets(own) == [0, 1]
    assert dict(own.commits) == {}
