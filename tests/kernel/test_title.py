"""The title of a session and its list of tasks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from tests.kernel.log_builder import LogBuilder, any_logs
from turnlog.events.errors import MissingField
from turnlog.kernel.log import Log
from turnlog.kernel.title import TitleFold, TodoFold, title, todo


def test_a_log_without_title_or_message_has_none() -> None:
    builder = LogBuilder()
    assert title(builder.log()) is None
    builder.begin()
    builder.answer("an answer is no title")
    assert title(builder.log()) is None


def test_the_latest_title_wins_over_every_message() -> None:
    builder = LogBuilder()
    builder.user("first message")
    builder.add("session/title", {"title": "old", "sourceSeqs": [0], "source": "llm"})
    builder.add("session/title", {"title": "new"})
    builder.user("later message")
    assert title(builder.log()) == "new"


def test_the_first_message_of_a_person_stands_in_whole() -> None:
    builder = LogBuilder()
    for number in range(25):
        builder.user(f"injected {number}", kind="plugin")
    long = "x" * 20_000
    builder.user(long)
    builder.user("second message")
    assert title(builder.log()) == long


def test_a_title_inside_a_large_log_is_found() -> None:
    builder = LogBuilder()
    builder.user("x" * 500_000)
    builder.add("session/title", {"title": "in the middle"})
    builder.chunks(["y" * 1_000] * 500)
    assert title(builder.log()) == "in the middle"


def test_blank_text_is_no_title() -> None:
    builder = LogBuilder()
    builder.user("")
    builder.user(" \n\t\u3000")
    content: list[Any] = [
        {"type": "image", "text": "a picture"},
        "text",
        {"type": "text", "text": 5},
        {"type": "text", "text": ""},
        {"type": "text", "text": " kept as it stands "},
        {"type": "text", "text": "second block"},
    ]
    data = {"id": "u", "role": "user", "source": {"kind": "user"}, "content": content}
    builder.add("user/message", data, surfaceOp="append")
    builder.add("session/title", {"title": "  "})
    assert title(builder.log()) == " kept as it stands "


@pytest.mark.parametrize("source", [None, {}, {"kind": "agent"}, {"kind": True}])
def test_a_text_that_is_not_a_persons_is_no_title(source: Any) -> None:
    builder = LogBuilder()
    content = [{"type": "text", "text": "injected"}]
    builder.add("user/message", {"source": source, "content": content}, surfaceOp="append")
    assert title(builder.log()) is None


def test_a_replaced_first_message_keeps_its_title() -> None:
    builder = LogBuilder()
    seq = builder.user("what I asked")
    operation = {"op": "replace", "start": seq, "end": seq}
    builder.user("a summary", surface=operation, sourceEventSeqs=[seq], kind="compaction")
    assert title(builder.log()) == "what I asked"


@pytest.mark.parametrize(
    "data", [None, {}, {"content": "text"}, {"source": "user"}, {"source": {"kind": "user"}}]
)
def test_a_malformed_message_does_not_take_the_title_away(data: Any) -> None:
    builder = LogBuilder()
    builder.add("user/message", data)
    builder.user("the next one")
    assert title(builder.log()) == "the next one"


@pytest.mark.parametrize("data", [None, {}, {"title": 5}])
def test_a_title_event_without_title_is_named_unless_another_followed(data: Any) -> None:
    builder = LogBuilder()
    builder.user("hello")
    seq = builder.add("session/title", data)
    with pytest.raises(MissingField) as caught:
        title(builder.log())
    assert (caught.value.seq, caught.value.field) == (seq, "data.title")
    builder.add("session/title", {"title": "named"})
    assert title(builder.log()) == "named"


def test_the_latest_list_of_tasks_is_the_whole_list() -> None:
    builder = LogBuilder()
    assert todo(builder.log()) is None
    tasks = [{"content": "a", "status": "pending", "note": 1}]
    builder.add("todo/write", {"todos": [*tasks, *tasks]})
    builder.add("todo/write", {"todos": tasks})
    assert todo(builder.log()) == tasks
    builder.add("todo/write", {"todos": []})
    assert todo(builder.log()) == []


def test_a_replace_keeps_the_list_of_tasks() -> None:
    builder = LogBuilder()
    seq = builder.user("hello")
    builder.add("todo/write", {"todos": [{"content": "a", "status": "completed"}]})
    operation = {"op": "replace", "start": seq, "end": seq}
    builder.user("summary", surface=operation, sourceEventSeqs=[seq])
    assert todo(builder.log()) == [{"content": "a", "status": "completed"}]


def test_the_list_of_tasks_is_a_copy_each_time() -> None:
    fold = TodoFold()
    builder = LogBuilder()
    builder.add("todo/write", {"todos": [{"content": "a", "status": "pending"}]})
    fold.fold(builder.events()[0])
    found = fold.todos
    assert found is not None
    found[0]["content"] = "b"
    found.clear()
    assert fold.todos == [{"content": "a", "status": "pending"}]


@pytest.mark.parametrize("data", [None, {}, {"todos": {}}])
def test_a_list_of_tasks_that_is_not_there_is_named(data: Any) -> None:
    builder = LogBuilder()
    builder.add("todo/write", data)
    with pytest.raises(MissingField) as caught:
        todo(builder.log())
    assert (caught.value.seq, caught.value.field) == (0, "data.todos")


@settings(max_examples=60)
@given(any_logs())
def test_the_fold_of_each_prefix_is_that_of_the_log_up_to_there(log: Log) -> None:
    titles, todos = TitleFold(), TodoFold()
    for end, event in enumerate(log.events(), 1):
        titles.fold(event)
        todos.fold(event)
        assert titles.title == title(log.prefix(end))
        assert todos.todos == todo(log.prefix(end))


def test_blank_is_what_the_search_text_trims() -> None:
    builder = LogBuilder()
    builder.user("\ufeff \u2003")
    builder.user("\x1c\x85")
    assert title(builder.log()) == "\x1c\x85"
