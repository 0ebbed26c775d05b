"""The human transcript: its items, its pages, and the live fold."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.exactness import nested
from tests.kernel.turn_logs import (
    NOT_STARTED,
    Value,
    call,
    chunk,
    events,
    log_of,
    other,
    packed,
    result,
    says,
    sound_logs,
    step_end,
    step_start,
    turn_end,
    turn_start,
    user,
    with_drafts,
)
from tests.kernel.view_logs import chunk_of_kind, late, retry, splits, view_logs
from turnlog.events.errors import BrokenLog, MissingField
from turnlog.events.header import Header
from turnlog.events.jsontext import deep_equal
from turnlog.events.rows import Row, event_row
from turnlog.kernel.anchors import ItemKey
from turnlog.kernel.log import Log
from turnlog.kernel.messages import messages
from turnlog.kernel.repair import repair
from turnlog.kernel.stream_attempt import AttemptEnd, StreamAttempt
from turnlog.kernel.tool_card import ToolCard, ToolState
from turnlog.kernel.transcript import Item, TranscriptFold, transcript
from turnlog.kernel.transcript_items import (
    LineageMarker,
    MessageItem,
    Price,
    ReplaceMarker,
    TurnEnd,
)

_OUTCOME_UNKNOWN = {"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"}


def _items(*values: Value) -> list[Item]:
    return list(transcript(log_of(*values)))


def _cards(*values: Value) -> list[ToolCard]:
    return [item for item in _items(*values) if isinstance(item, ToolCard)]


def _only(kind: type[Any], *values: Value) -> Any:
    (item,) = (item for item in _items(*values) if isinstance(item, kind))
    return item


def _states(*values: Value) -> list[str]:
    return [str(card.state) for card in _cards(*values)]


def _wire(item: Any) -> str:
    """The item in short: its kind and its key."""
    return f"{type(item).__name__} {item.key.seq}.{item.key.ordinal}"


# --- the course of a session ---------------------------------------------------------------------


def test_a_turn_reads_from_top_to_bottom() -> None:
    items = _items(
        turn_start(),
        user("question"),
        step_start(),
        chunk("ans"),
        says("c", "d"),
        call("c"),
        result("c"),
        result("d", is_error=True, error=NOT_STARTED),
        step_end(),
        turn_end(),
    )
    assert [_wire(item) for item in items] == [
        "MessageItem 1.1",
        "StreamAttempt 3.1",
        "MessageItem 4.1",
        "ToolCard 4.2",
        "ToolCard 4.3",
        "TurnEnd 9.1",
    ]
    assert all(item.final for item in items)


def test_events_that_no_reader_follows_make_no_item() -> None:
    assert _items(turn_start(), step_start(), other("todo/write", todos=[]), step_end()) == []


# --- messages ------------------------------------------------------------------------------------


def test_a_message_item_has_its_event_and_its_message() -> None:
    item = _only(MessageItem, turn_start(), {**user("hi"), "time": 7})
    assert (item.key, item.spans, item.event_type) == ((1, 1), ((1, 2),), "user/message")
    assert (item.role, item.source, item.time_ms) == ("user", {"kind": "user"}, 7)
    assert item.content == [{"type": "text", "text": "hi"}]
    item.message.clear()
    item.content.clear()
    assert item.message["content"] == item.content == [{"type": "text", "text": "hi"}]


def test_an_empty_assistant_message_is_shown_with_its_usage() -> None:
    message = {"id": "m", "role": "assistant", "source": {"kind": "model"}, "content": []}
    data = {"turn": 1, "step": 1, "message": message, "usage": {"outputTokens": 0}}
    value = {"type": "assistant/message", "data": data, "surfaceOp": "append"}
    item = _only(MessageItem, value)
    assert (item.content, item.usage, item.role) == ([], {"outputTokens": 0}, "assistant")
    assert messages(log_of(value)) == []


@pytest.mark.parametrize(("mark", "cut"), [({}, False), ({"interrupted": True}, True)])
def test_a_message_that_was_cut_off_says_so(mark: Value, cut: bool) -> None:
    value = says()
    value["data"] |= mark
    assert _only(MessageItem, value).interrupted is cut
    assert _only(MessageItem, says()).usage is None


@pytest.mark.parametrize(
    "text", ["\x1b[2J\x07", "<img src=x onerror=alert(1)>", "\ud83d", "a\0b", "\u202e", "\r\b"]
)
def test_hostile_text_is_unchanged(text: str) -> None:
    assert _only(MessageItem, user(text)).content[0]["text"] == text
    assert _only(ToolCard, other("tool/call", name=text, arguments=text)).began[1:] == (text, text)
    assert _only(StreamAttempt, chunk(text)).blocks[0].texts == (text,)
    assert _only(ToolCard, result(text=text)).result.content[0]["text"] == text


def test_content_of_any_depth_is_unchanged() -> None:
    deep = nested(20_000, "leaf")
    said, asked = user(), says("c")
    said["data"]["content"] = asked["data"]["message"]["content"][1]["arguments"] = deep
    end = chunk_of_kind("block-end", index=0, block=deep)
    message, attempt, _, card, result_card, turn_end_item = _items(
        said, end, asked, other("tool/result", message=deep), other("turn/end", reason=deep)
    )
    assert isinstance(message, MessageItem)
    assert isinstance(attempt, StreamAttempt)
    assert isinstance(card, ToolCard)
    assert isinstance(result_card, ToolCard)
    assert isinstance(turn_end_item, TurnEnd)
    assert deep_equal(message.content, deep)
    assert deep_equal(attempt.blocks[0].block, deep)
    assert card.asked == (2, "read", None)
    assert result_card.result is not None
    assert deep_equal(result_card.result.message, deep)
    assert deep_equal(turn_end_item.reason, deep)


@pytest.mark.parametrize(
    ("value", "read", "field"),
    [
        ({"type": "user/message"}, "message", "data"),
        (other("user/message"), "content", "data.content"),
        (other("assistant/message"), "message", "data.message"),
        (other("assistant/message", message={}), "source", "data.message.source"),
        ({"type": "assistant/message"}, "usage", "data"),
        ({"type": "turn/end"}, "reason", "data"),
        (other("turn/end", turn=1), "reason", "data.reason"),
    ],
)
def test_an_item_says_what_is_missing_when_that_is_read(
    value: Value, read: str, field: str
) -> None:
    rows = tuple(
        event_row({"seq": seq, "time": 1, **value})
        for seq, value in enumerate([user("a"), value, user("b")])
    )
    items = list(transcript(Log(Header.new("s", 1), rows)))
    assert [item.key.seq for item in items] == [0, 1, 2]
    with pytest.raises(MissingField) as caught:
        getattr(items[1], read)
    assert (caught.value.seq, caught.value.field) == (1, field)


def test_a_result_says_what_is_missing_when_that_is_read() -> None:
    for value, read, field in [
        (other("tool/result"), "message", "data.message"),
        (other("tool/result", message={}), "content", "data.message.content[0].content"),
        (
            other("tool/result", message={"content": [{}]}),
            "content",
            "data.message.content[0].content",
        ),
    ]:
        card = _only(ToolCard, user(), value)
        assert (card.key.seq, card.call_id, card.state) == (1, None, ToolState.RESULT)
        with pytest.raises(MissingField) as caught:
            getattr(card.result, read)
        assert (caught.value.seq, caught.value.field) == (1, field)


def test_a_message_of_a_damaged_surface_operation_is_shown() -> None:
    values: list[Value] = [other("user/message", content=[]), {**user(), "surfaceOp": 1}]
    assert [_wire(item) for item in _items(*values)] == ["MessageItem 0.1", "MessageItem 1.1"]


# --- tool cards ----------------------------------------------------------------------------------


def test_a_card_goes_from_intent_through_running_to_its_result() -> None:
    course = [says("c"), call("c"), result("c", text="done")]
    assert [_states(*course[:length])[-1] for length in (1, 2, 3)] == [
        "intent",
        "running",
        "result",
    ]
    (card,) = _cards(*course)
    assert (card.key, card.spans, card.call_id) == ((0, 2), ((0, 3),), "c")
    assert card.asked == (0, "read", "{}")
    assert card.began == (1, "read", "{}")
    assert card.result is not None
    assert (card.result.seq, card.result.content) == (2, [{"type": "text", "text": "done"}])
    assert card.result.message["id"] == "r-c"
    assert (card.time_ms, card.earlier, card.final) == (1_000, None, True)


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({}, ToolState.RESULT),
        ({"is_error": False}, ToolState.RESULT),
        ({"is_error": 1}, ToolState.RESULT),
        ({"is_error": True}, ToolState.ERROR),
        ({"error": {"name": "E", "code": "C"}}, ToolState.ERROR),
        ({"error": {"code": "C"}}, ToolState.ERROR),
        ({"error": NOT_STARTED}, ToolState.ERROR),
        ({"is_error": True, "error": NOT_STARTED}, ToolState.NOT_STARTED),
        ({"is_error": True, "error": _OUTCOME_UNKNOWN}, ToolState.OUTCOME_UNKNOWN),
    ],
)
def test_the_result_decides_the_state(fields: Any, state: ToolState) -> None:
    (card,) = _cards(says("c"), call("c"), result("c", **fields))
    assert card.state is state
    assert card.result is not None
    assert card.result.is_error is (fields.get("is_error") is True)
    error = fields.get("error", {})
    assert (card.result.error_name, card.result.error_code) == (
        error.get("name"),
        error.get("code"),
    )


@pytest.mark.parametrize("closing", [step_end(), turn_end(), turn_start(2)])
def test_a_card_without_a_result_is_closed_with_its_step_or_turn(closing: Value) -> None:
    assert _states(says("c", "d"), call("d"), closing) == ["not-started", "outcome-unknown"]
    asked, began = _cards(says("c", "d"), call("d"), closing)
    assert (asked.result, began.result) == (None, None)
    assert asked.final
    assert began.final


@pytest.mark.parametrize(
    "going_on", [user(), says("d"), step_start(1, 2), other("session/end-seed")]
)
def test_a_card_stays_open_over_other_events(going_on: Value) -> None:
    assert _states(says("c"), call("c"), going_on)[0] == "running"


def test_a_call_that_no_message_named_is_a_card_of_its_own() -> None:
    (card,) = _cards(turn_start(), call("c"), result("c"))
    assert (card.key, card.asked, card.state) == ((1, 1), None, ToolState.RESULT)
    assert card.began == (1, "read", "{}")


def test_a_result_of_an_unknown_call_is_a_card_of_its_own() -> None:
    (card,) = _cards(turn_start(), result("c"))
    assert (card.key, card.asked, card.began, card.earlier) == ((1, 1), None, None, None)
    assert (card.state, card.call_id) == (ToolState.RESULT, "c")
    (failed,) = _cards(turn_start(), result("c", is_error=True, error=_OUTCOME_UNKNOWN))
    assert failed.result is not None
    assert failed.result.is_error
    assert failed.result.error_code == _OUTCOME_UNKNOWN["code"]


def test_a_second_result_is_shown_beside_the_first() -> None:
    first, second = _cards(says("c"), call("c"), result("c", text="1"), result("c", text="2"))
    assert first.result is not None
    assert second.result is not None
    assert (first.result.content[0]["text"], second.result.content[0]["text"]) == ("1", "2")
    assert (second.key, second.earlier) == ((3, 1), first.key)


def test_a_result_after_the_turns_end_changes_no_earlier_card() -> None:
    values = [says("c"), call("c"), result("c", is_error=True, error=_OUTCOME_UNKNOWN), step_end()]
    first, real, logged = _cards(*values, turn_end(), result("c"), late("c", is_error=True))
    assert [str(card.state) for card in (first, real, logged)] == [
        "outcome-unknown",
        "result",
        "error",
    ]
    assert real.earlier == logged.earlier == first.key
    assert logged.result is not None
    assert logged.result.event_type == "tool/late-result"


def test_a_result_after_its_step_is_a_card_of_its_own() -> None:
    closed, stray = _cards(says("c"), call("c"), step_end(), result("c"))
    assert (closed.state, closed.result) == (ToolState.OUTCOME_UNKNOWN, None)
    assert (stray.state, stray.key, stray.earlier) == (ToolState.RESULT, (3, 1), closed.key)


def test_a_late_result_settles_no_open_card() -> None:
    assert _states(says("c"), late("c")) == ["intent", "result"]


def test_naming_a_call_again_begins_a_card() -> None:
    first, second = _cards(says("c"), call("c"), says("c"), result("c"))
    assert [str(card.state) for card in (first, second)] == ["outcome-unknown", "result"]
    assert (first.key, second.key) == ((0, 2), (2, 2))


def test_calling_a_running_call_again_begins_a_card() -> None:
    first, second = _cards(says("c"), call("c"), call("c"), result("c"))
    assert [str(card.state) for card in (first, second)] == ["outcome-unknown", "result"]
    assert (second.key, second.asked) == ((2, 1), None)


def test_a_message_that_replaces_names_no_card_and_its_call_is_one() -> None:
    cards = _cards(user(), says("c", over=(0,)), call("c"))
    assert [(card.key, str(card.state)) for card in cards] == [((2, 1), "running")]


def test_a_block_without_an_id_is_a_card_that_only_its_step_closes() -> None:
    nameless = says(None, None)
    assert _states(nameless, result("c")) == ["intent", "intent", "result"]
    assert _states(nameless, step_end()) == ["not-started", "not-started"]
    assert _cards(nameless)[0].call_id is None
    assert _states(other("tool/call", name="read"), turn_end()) == ["outcome-unknown"]


def test_opaque_arguments_are_as_they_came() -> None:
    value = says("c")
    value["data"]["message"]["content"][1]["arguments"] = '{"command": "ls'
    (card,) = _cards(value, other("tool/call", callId="c", name=7, arguments=["x"]))
    assert card.asked is not None
    assert card.asked.arguments == '{"command": "ls'
    assert card.began == (1, None, None)


def test_repair_settles_every_card() -> None:
    log = log_of(turn_start(), step_start(), says("c", "d"), call("c"))
    repaired = with_drafts(log, repair(log))
    cards = [item for item in transcript(repaired) if isinstance(item, ToolCard)]
    assert [str(card.state) for card in cards] == ["outcome-unknown", "not-started"]
    assert all(card.result is not None for card in cards)


# --- replaces, turns, lineage, streams -----------------------------------------------------------


def test_a_replace_is_a_marker_and_takes_nothing_away() -> None:
    before = [user("a"), says("c"), call("c"), result("c")]
    price = other("compaction/summary", shadowedTokenCount=70)
    marker, *rest = _items(*before, price, user("sum", over=(0, 1)), user("b"))[3:]
    assert _items(*before) == _items(*before, price, user("sum", over=(0, 1)))[:3]
    assert isinstance(marker, ReplaceMarker)
    assert (marker.key, marker.spans, marker.event_type) == ((5, 1), ((4, 6),), "user/message")
    assert (marker.start, marker.end, marker.shadowed, marker.refusal) == (0, 1, (0, 1), None)
    assert marker.price == Price(4, "compaction/summary", 70)
    assert marker.content == [{"type": "text", "text": "sum"}]
    assert marker.time_ms == 1_005
    assert [_wire(item) for item in rest] == ["MessageItem 6.1"]


def test_a_price_belongs_to_the_replace_directly_after_it() -> None:
    price = other("compaction/prune")
    marker = _only(ReplaceMarker, user(), price, turn_start(), user("s", over=(0,)))
    assert (marker.price, marker.spans) == (None, ((3, 4),))
    priced = _only(ReplaceMarker, user(), price, user("s", over=(0,)))
    assert priced.price == Price(1, "compaction/prune", None)


def test_a_pruned_result_is_a_marker_and_its_card_stays() -> None:
    course = [says("c"), call("c"), result("c", text="long")]
    items = _items(*course, result("c", text="cut", over=(2,)))
    assert items[:2] == _items(*course)
    (marker,) = items[2:]
    assert isinstance(marker, ReplaceMarker)
    assert (marker.shadowed, marker.event_type) == ((2,), "tool/result")


def test_a_replace_that_the_surface_refuses_is_a_marker_with_the_reason() -> None:
    marker = _only(ReplaceMarker, user(), user("s", over=(7,)))
    assert (marker.start, marker.end, marker.shadowed) == (7, 7, ())
    assert "7" in marker.refusal
    odd = _only(ReplaceMarker, {**user(), "surfaceOp": {"op": "replace", "start": -1}})
    assert (odd.start, odd.end) == (None, None)
    assert odd.refusal is not None


def test_a_turn_end_has_its_reason() -> None:
    item = _only(TurnEnd, turn_start(), turn_end(1, "blocked"))
    assert (item.key, item.spans) == ((1, 1), ((1, 2),))
    assert (item.turn, item.reason_kind, item.reason) == (1, "blocked", {"kind": "blocked"})
    assert item.time_ms == 1_001
    odd = _only(TurnEnd, other("turn/end", turn="1", reason={}))
    assert (odd.turn, odd.reason_kind, odd.reason) == (None, None, {})


def _fork(length: int, **header: Any) -> list[Item]:
    values = [user(str(n)) for n in range(length)]
    parent = {"version": 0, "id": "s", "createdAt": 1, **header}
    return list(transcript(log_of(*values, header=Header.of(parent))))


def test_lineage_stands_at_the_seed_boundary() -> None:
    items = _fork(3, parentSession="p", seedLength=2, origin="subagent")
    assert [_wire(item) for item in items] == [
        "MessageItem 0.1",
        "MessageItem 1.1",
        "LineageMarker 2.0",
        "MessageItem 2.1",
    ]
    marker = items[2]
    assert isinstance(marker, LineageMarker)
    assert (marker.parent_session, marker.seed_length, marker.origin) == ("p", 2, "subagent")
    assert (marker.spans, marker.final) == ((), True)


@pytest.mark.parametrize(
    ("header", "at"),
    [
        ({}, None),
        ({"seedLength": 0}, 0),
        ({"parentSession": "p"}, 0),
        ({"seedLength": 1}, 1),
        ({"seedLength": 2}, None),
    ],
)
def test_lineage_comes_with_the_first_event_after_the_seed(header: Any, at: int | None) -> None:
    markers = [item for item in _fork(2, **header) if isinstance(item, LineageMarker)]
    assert [marker.key.seq for marker in markers] == ([] if at is None else [at])


def test_a_failed_attempt_stays_and_the_message_stands_after_the_good_one() -> None:
    items = _items(step_start(), chunk("Here is"), retry(), chunk("Here"), says(), step_end())
    assert [_wire(item) for item in items] == [
        "StreamAttempt 1.1",
        "StreamAttempt 3.1",
        "MessageItem 4.1",
    ]
    assert [item.end for item in items[:2] if isinstance(item, StreamAttempt)] == [
        AttemptEnd.RETRY,
        AttemptEnd.MESSAGE,
    ]


# --- live ----------------------------------------------------------------------------------------


def test_a_fold_tells_which_items_an_event_begins_or_changes() -> None:
    fold = TranscriptFold(Header.new("s", 1, seedLength=1))
    values = [user(), chunk("a"), chunk("b"), says("c", "d"), call("c"), step_end(), user()]
    assert [fold.fold(event) for event in events(log_of(*values))] == [
        [(0, 1)],
        [(1, 0), (1, 1)],
        [(1, 1)],
        [(1, 1), (3, 1), (3, 2), (3, 3)],
        [(3, 2)],
        [(3, 2), (3, 3)],
        [(6, 1)],
    ]


def test_what_was_closed_is_not_touched_again() -> None:
    fold = TranscriptFold(Header.new("s", 1))
    course = log_of(says("c", None), chunk(), step_end(), turn_end())
    assert [fold.fold(event) for event in events(course)][2:] == [
        [(1, 1), (0, 2), (0, 3)],
        [(3, 1)],
    ]


def test_an_item_grows_under_its_key_and_what_was_handed_out_does_not() -> None:
    fold = TranscriptFold(Header.new("s", 1))
    asked, began = events(log_of(says("c"), call("c")))
    key = fold.fold(asked)[1]
    before = fold.item(key)
    fold.fold(began)
    after = fold.item(key)
    assert isinstance(before, ToolCard)
    assert isinstance(after, ToolCard)
    assert (before.state, after.state) == (ToolState.INTENT, ToolState.RUNNING)
    assert fold.item(ItemKey(9, 1)) is None
    fold.items().clear()
    assert len(fold.items()) == 2


def test_what_is_settled_is_forgotten_and_an_open_item_holds_back_what_comes_after_it() -> None:
    fold = TranscriptFold(Header.new("s", 1))
    first, second, third, fourth = events(log_of(user(), says("c"), user(), step_end()))
    fold.fold(first)
    assert [_wire(item) for item in fold.settle()] == ["MessageItem 0.1"]
    assert fold.held_from is None
    fold.fold(second)
    fold.fold(third)
    assert [_wire(item) for item in fold.settle()] == ["MessageItem 1.1"]
    assert fold.held_from == 1
    fold.fold(fourth)
    assert [_wire(item) for item in fold.settle()] == ["ToolCard 1.2", "MessageItem 2.1"]
    assert (fold.settle(), fold.items(), fold.item(ItemKey(1, 2))) == ([], [], None)


def test_a_page_shows_its_cards_as_the_whole_log_has_them() -> None:
    log = log_of(says("c"), call("c"), user(), result("c"))
    (_, card) = transcript(log, 0, 1)
    assert isinstance(card, ToolCard)
    assert card.state is ToolState.RESULT
    (_, as_of) = transcript(log.prefix(2))
    assert isinstance(as_of, ToolCard)
    assert as_of.state is ToolState.RUNNING


def test_a_page_of_open_items_is_half_open_too() -> None:
    log = log_of(says("c"), user(), chunk())
    assert [_wire(item) for item in transcript(log, 2)] == ["StreamAttempt 2.1"]
    assert [_wire(item) for item in transcript(log, 1, 2)] == ["MessageItem 1.1"]
    assert [_wire(item) for item in transcript(log, 0, 1)] == ["MessageItem 0.1", "ToolCard 0.2"]


def test_a_page_reads_no_further_than_its_items_can_change() -> None:
    readable = log_of(user(), user()).rows
    log = Log(Header.new("s", 1), (*readable, Row(b"no JSON", 2)))
    assert len(list(transcript(log, 0, 2))) == 2
    assert list(transcript(log, 1, 1)) == []
    with pytest.raises(BrokenLog):
        list(transcript(log))
    opened = log_of(says("c"), chunk(), result("c")).rows
    log = Log(Header.new("s", 1), (*opened, Row(b"no JSON", 3)))
    assert [_wire(item) for item in transcript(log, 0, 1)] == ["MessageItem 0.1", "ToolCard 0.2"]


def test_a_damaged_log_with_repeated_seqs_is_read_to_its_end() -> None:
    values = [says("c"), user("a"), {**says("d"), "seq": 0}, {**user("b"), "seq": -1}, step_end()]
    items = _items(*values)
    assert [_wire(item) for item in items] == [
        "MessageItem 0.1",
        "ToolCard 0.2",
        "MessageItem 1.1",
        "MessageItem 0.1",
        "ToolCard 0.2",
        "MessageItem -1.1",
    ]
    assert all(item.final for item in items)


# --- laws ----------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(view_logs(), st.data())
def test_live_equals_after_reload_for_every_split(log: Log, data: st.DataObject) -> None:
    fold = TranscriptFold(log.header)
    settled: list[Item] = []
    all_events = log.events()
    for length, prefix in splits(log):
        assert [*settled, *fold.items()] == list(transcript(prefix)), length
        if data.draw(st.booleans()):
            settled += fold.settle()
        for event in all_events:
            fold.fold(event)
            break


@settings(max_examples=100)
@given(view_logs(), st.lists(st.integers(0, 26), max_size=4))
def test_pages_of_any_partition_join_to_the_whole(log: Log, cuts: list[int]) -> None:
    bounds = [0, *sorted(cuts), None]
    pages = [list(transcript(log, a or 0, b)) for a, b in pairwise(bounds)]
    assert [item for page in pages for item in page] == list(transcript(log))


@settings(max_examples=100)
@given(view_logs())
def test_items_are_in_the_order_of_their_keys_and_each_key_is_one_items(log: Log) -> None:
    items = list(transcript(log))
    keys = [item.key for item in items]
    assert keys == sorted(set(keys))
    for item in items:
        if not isinstance(item, LineageMarker):
            assert item.spans[0].start <= item.key.seq < item.spans[0].end or isinstance(
                item, ReplaceMarker
            )
            assert all(span.start < span.end for span in item.spans)


@settings(max_examples=100)
@given(view_logs())
def test_an_item_that_is_final_never_changes(log: Log) -> None:
    final: dict[ItemKey, Item] = {}
    for _, prefix in splits(log):
        now = {item.key: item for item in transcript(prefix)}
        for key, item in final.items():
            assert now[key] == item
        final = {key: item for key, item in now.items() if item.final}


@settings(max_examples=100)
@given(view_logs())
def test_packed_rows_give_the_same_transcript(log: Log) -> None:
    assert list(transcript(packed(log))) == list(transcript(log))


@settings(max_examples=100)
@given(sound_logs())
def test_the_messages_of_the_model_are_all_shown_and_a_replace_hides_none(log: Log) -> None:
    shown = {
        seq for item in transcript(log) for start, end in item.spans for seq in range(start, end)
    }
    appended = {event.seq for event in log.events() if event.appends}
    assert appended | {message.seq for message in messages(log)} <= shown


_NOISE = st.sampled_from([other("vendor/noise", n=1), other("plan/mode"), other("hook/invoked")])


@settings(max_examples=100)
@given(sound_logs(), st.data())
def test_log_only_noise_does_not_change_what_a_reader_sees(log: Log, data: st.DataObject) -> None:
    values: list[Value] = []
    moved: dict[int, int] = {}
    for event in log.events():
        if data.draw(st.booleans()):
            values.append(data.draw(_NOISE))
        moved[event.seq] = len(values)
        value = event.to_json()
        del value["seq"]
        operation = value.get("surfaceOp")
        if isinstance(operation, dict):
            value["surfaceOp"] = {
                "op": "replace",
                "start": moved[operation["start"]],
                "end": moved[operation["end"]],
            }
            value["sourceEventSeqs"] = [moved[seq] for seq in value["sourceEventSeqs"]]
        values.append(value)
    quiet = [_seen(item, moved) for item in transcript(log)]
    noisy = [_seen(item, None) for item in transcript(log_of(*values))]
    assert noisy == quiet


def _seen(item: Item, moved: dict[int, int] | None) -> tuple[Any, ...]:
    """What a reader sees of an item, its seqs as they are after the noise."""

    def at(seq: int) -> int:
        return seq if moved is None else moved[seq]

    place = (type(item).__name__, at(item.key.seq), item.key.ordinal)
    match item:
        case MessageItem():
            return (*place, item.message)
        case ToolCard():
            content = None if item.result is None else item.result.content
            return (*place, item.call_id, item.state, item.final, content)
        case StreamAttempt():
            return (*place, item.number, item.end, [block.texts for block in item.blocks])
        case ReplaceMarker():
            return (*place, item.message, [at(seq) for seq in item.shadowed], item.refusal)
        case _:
            return (*place, item.final)
