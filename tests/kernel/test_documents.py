"""Search documents: searchable text, its trimming, and the Surface state."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from tests.kernel.turn_logs import Value, call, chunk, log_of, other, packed, result, turn_end, user
from tests.kernel.view_logs import readable_logs, splits
from turnlog.events.errors import MissingField
from turnlog.events.header import Header
from turnlog.events.rows import event_row
from turnlog.kernel.documents import DocumentFold, documents
from turnlog.kernel.log import Log


def _texts(*values: Value) -> list[str]:
    return [document.text for document in documents(log_of(*values))]


def _said(*content: Any) -> Value:
    message = {"id": "m", "role": "assistant", "content": list(content)}
    data = {"turn": 1, "step": 1, "message": message}
    return {"type": "assistant/message", "data": data, "surfaceOp": "append"}


def _text(text: Any) -> Value:
    return {"type": "text", "text": text}


def _call_block(name: Any, arguments: Any) -> Value:
    return {"type": "tool-call", "id": "c", "name": name, "arguments": arguments}


def test_a_document_has_the_place_and_time_of_its_event() -> None:
    log = Log(Header.new("s 1", 5), log_of(chunk(), {**user(" a "), "time": 77}).rows)
    assert [(d.session, d.seq, d.type, d.time_ms, d.text) for d in documents(log)] == [
        ("s 1", 1, "user/message", 77, "a")
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (_said(_text(" a "), _call_block("n", "{} "), _text("b")), "a\nn\n{}\nb"),
        (_said({"type": "reasoning", "text": "r"}, _text("a")), "a"),
        (_said({"type": "image", "text": "no"}, {"type": "zz", "content": [_text("no")]}), None),
        (_said(_text("\n"), _text("")), None),
        (_said(_text(None), _text(7), {"type": "text"}, _call_block(1, None), 3, None), None),
        (_said({"type": "tool-result", "content": [_text("a"), _call_block("n", "x")]}), "a\nn\nx"),
        (_said({"type": "tool-result", "content": "no"}, {"type": "tool-result"}), None),
        (call(), "read\n{}"),
        (other("tool/call", name=" n ", arguments=""), "n"),
        (other("tool/call", callId="c"), None),
        (result(text=" a ", error={"name": "E", "code": "C"}), "a\nE\nC"),
        (result(text="", error={"name": "", "code": " C "}), "C"),
        (
            other(
                "todo/write", todos=[{"content": "a", "status": "pending"}, {"content": " b "}, 1]
            ),
            "pending\na\nb",
        ),
        (other("todo/write", todos=[]), None),
        (turn_end(kind="aborted"), "aborted"),
        (turn_end(kind="max-tokens"), "max-tokens"),
        (turn_end(kind="interrupted"), "interrupted"),
        (turn_end(kind="completed"), None),
        (turn_end(kind="blocked"), None),
        (other("turn/end", reason={"kind": "error", "error": {"message": " m "}}), "error\nm"),
        (other("turn/end", reason={"kind": "error"}), "error"),
        (other("turn/end", turn=1), None),
        (chunk("a"), None),
        (other("vendor/x", content=[_text("a")]), None),
    ],
)
def test_the_text_of_an_event_is_what_its_type_says(value: Value, text: str | None) -> None:
    assert _texts(value) == ([] if text is None else [text])


@pytest.mark.parametrize(
    "space", "\t\n\v\f\r \xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
)
def test_ecmascript_white_space_is_trimmed(space: str) -> None:
    assert _texts(user(f"{space}a{space}b{space}")) == [f"a{space}b"]


@pytest.mark.parametrize("char", "\x85\x1c\x1d\x1e\x1f\u200b\u180e\0")
def test_what_ecmascript_does_not_count_as_white_space_stays(char: str) -> None:
    assert _texts(user(f"{char}a{char}")) == [f"{char}a{char}"]


@pytest.mark.parametrize("arguments", ['{"command": "ls', "", "7", "\ud83d", "\0", "[" * 100_000])
def test_arguments_are_opaque_text(arguments: str) -> None:
    wanted = "\n".join(part for part in ("read", arguments) if part)
    value = other("tool/call", name="read", arguments=arguments)
    assert _texts(value, _said(_call_block("read", arguments))) == [wanted, wanted]


def test_result_blocks_of_any_depth_give_their_inner_blocks_in_reading_order() -> None:
    block = _text("inside")
    for _ in range(20_000):
        block = {"type": "tool-result", "content": [_text("x"), block]}
    (text,) = _texts(_said(_text("before"), block, _text("after")))
    assert text == "\n".join(["before", *["x"] * 20_000, "inside", "after"])


def test_each_document_is_current_shadowed_or_log_only() -> None:
    log = log_of(user("a"), call(), user("b"), user("sum", over=(0, 2)), user("c"))
    assert [(d.seq, str(d.surface)) for d in documents(log)] == [
        (0, "shadowed"),
        (1, "log-only"),
        (2, "shadowed"),
        (3, "current"),
        (4, "current"),
    ]


@pytest.mark.parametrize(
    "refused",
    [
        user("b", over=(7,)),
        {**user("b"), "surfaceOp": 1},
        {**user("b"), "sourceEventSeqs": [9]},
        {**call(), "surfaceOp": "append"},
    ],
)
def test_what_the_surface_refuses_is_searchable_and_log_only(refused: Value) -> None:
    found = list(documents(log_of(user("a"), refused, user("c", over=(0,)))))
    assert [str(document.surface) for document in found] == ["shadowed", "log-only", "current"]


@pytest.mark.parametrize("seq", [2, -1])
def test_an_event_out_of_order_is_searchable_and_log_only(seq: int) -> None:
    found = list(documents(log_of({**user("a"), "seq": 3}, {**user("b"), "seq": seq}, user("c"))))
    assert [str(document.surface) for document in found] == ["current", "log-only", "log-only"]
    (first,) = documents(log_of({**user("a"), "seq": -1}))
    assert str(first.surface) == "log-only"


def test_a_repeated_seq_is_searchable_and_shadows_nothing() -> None:
    replacing = {**user("c", over=(0,)), "seq": 0}
    found = list(documents(log_of(user("a"), user("b"), replacing)))
    assert [(document.text, str(document.surface)) for document in found] == [
        ("a", "current"),
        ("b", "current"),
        ("c", "current"),
    ]


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"type": "user/message"}, "data"),
        (other("user/message", role="user"), "data.content"),
        (other("assistant/message", turn=1), "data.message"),
        (other("assistant/message", message=[]), "data.message"),
        (other("assistant/message", message={"content": "text"}), "data.message.content"),
        (other("tool/result", message={}), "data.message.content"),
        (other("todo/write"), "data.todos"),
    ],
)
def test_the_field_that_is_not_there_is_named_after_the_documents_before_it(
    value: Value, field: str
) -> None:
    rows = (event_row({"time": 1, "seq": 1, **value}),)
    found = documents(Log(Header.new("s", 1), log_of(user("a")).rows + rows))
    assert next(found).text == "a"
    with pytest.raises(MissingField) as caught:
        next(found)
    assert (caught.value.seq, caught.value.field) == (1, field)


def test_a_fold_takes_nothing_of_an_event_that_lacks_its_text() -> None:
    fold = DocumentFold("s")
    (missing,) = log_of({**other("user/message"), "surfaceOp": "append"}).events()
    with pytest.raises(MissingField):
        fold.fold(missing)
    (event,) = log_of(user("a")).events()
    fold.fold(event)
    assert [(d.seq, str(d.surface)) for d in fold.documents] == [(0, "current")]


def test_a_list_of_documents_is_the_callers() -> None:
    fold = DocumentFold("s")
    for event in log_of(user("a")).events():
        fold.fold(event)
    fold.documents.clear()
    assert len(fold.documents) == 1


@settings(max_examples=100)
@given(readable_logs())
def test_the_fold_at_every_split_is_that_of_the_log_up_to_there(log: Log) -> None:
    fold = DocumentFold(log.header.id)
    events = log.events()
    for length, prefix in splits(log):
        assert fold.documents == list(documents(prefix)), length
        for event in events:
            fold.fold(event)
            break


@settings(max_examples=60)
@given(readable_logs())
def test_packed_rows_give_the_same_documents(log: Log) -> None:
    assert list(documents(packed(log))) == list(documents(log))
