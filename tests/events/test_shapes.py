"""The shapes of the core events: each field that is missing or wrong is named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.events.samples import DROP, SAMPLES, changed, paths_of
from tests.exactness import nested
from tests.strategies import any_text, drafts, json_values
from turnlog.events.errors import BadShape
from turnlog.events.event import Draft
from turnlog.events.shapes import (
    check_core_shape,
    check_integers,
    check_message,
    check_stored_shape,
)
from turnlog.events.vocabulary import CORE_TYPES, SURFACE_TYPES

STORED_TYPES = {*SURFACE_TYPES, "request/header"}


def check(name: str, data: Any) -> None:
    check_core_shape(name.split()[0], data)


def test_there_is_a_sample_of_every_core_type() -> None:
    assert {name.split()[0] for name in SAMPLES} == CORE_TYPES


@pytest.mark.parametrize("name", SAMPLES)
def test_valid_data_passes(name: str) -> None:
    check(name, SAMPLES[name])
    check_stored_shape(name.split()[0], SAMPLES[name])
    check_integers(name.split()[0], SAMPLES[name])


@given(drafts())
def test_what_an_agent_writes_passes(draft: Draft) -> None:
    check_core_shape(draft.type, draft.data)
    check_integers(draft.type, draft.data)


@pytest.mark.parametrize("name", SAMPLES)
def test_further_keys_pass_everywhere_but_among_the_markers(name: str) -> None:
    for path in paths_of(SAMPLES[name]):
        data = changed(SAMPLES[name], (*path, "x-further"), [None])
        if path == ("header", "adapterDefaults"):
            with pytest.raises(BadShape) as refused:
                check(name, data)
            assert refused.value.field == "data.header.adapterDefaults.x-further"
        else:
            check(name, data)


@pytest.mark.parametrize("type_", ["goal/change", "x/own", "", "turn/START", "text-chunks"])
@pytest.mark.parametrize("data", [None, {}, {"turn": "x"}])
def test_the_data_of_other_types_is_not_looked_at(type_: str, data: Any) -> None:
    check_core_shape(type_, data)
    check_stored_shape(type_, data)
    check_integers(type_, data)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("data", [None, True, 1, "text", [], [{}]], ids=repr)
def test_data_that_is_no_object_is_refused(name: str, data: Any) -> None:
    with pytest.raises(BadShape) as refused:
        check(name, data)
    assert refused.value.field == "data"


# What may not stand in a field of each kind; a missing field is as wrong as null.
NOT_SEQ: list[Any] = [None, DROP, True, "1", -1, 0.5, 2**53, [], {}]
NOT_INTEGER: list[Any] = [None, DROP, False, "1", 0.5, -(2**53), []]
NOT_STRING: list[Any] = [None, DROP, True, 1, [], {}]
NOT_FILLED: list[Any] = [*NOT_STRING, ""]
NOT_OBJECT: list[Any] = [None, DROP, True, "x", 1, []]
NOT_LIST: list[Any] = [None, DROP, True, "x", 1, {}]
NOT_TRUE: list[Any] = [None, False, 1, "true", {}]


def but_absent(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not DROP]


NOT_TURN_CAUSE = [*NOT_FILLED, "another", "completed"]
NOT_STATUS = [*NOT_FILLED, "done", "Pending"]
NOT_REASON = [*NOT_FILLED, "fallback", "another"]
NOT_TARGET = [*NOT_FILLED, "next", "next-turn "]

FIELDS: list[tuple[str, tuple[str | int, ...], list[Any]]] = [
    ("turn/start", ("turn",), NOT_SEQ),
    ("turn/end", ("turn",), NOT_SEQ),
    ("turn/end", ("reason",), NOT_OBJECT),
    ("turn/end", ("reason", "kind"), NOT_FILLED),
    ("turn/end aborted", ("reason", "reason"), NOT_OBJECT),
    ("turn/end aborted", ("reason", "reason", "kind"), NOT_TURN_CAUSE),
    ("turn/end by a hook", ("reason", "reason", "reason"), NOT_STRING),
    ("turn/end in error", ("reason", "error"), NOT_OBJECT),
    ("turn/end in error", ("reason", "error", "message"), NOT_STRING),
    ("turn/end in error", ("reason", "error", "code"), NOT_STRING),
    ("step/start", ("turn",), NOT_SEQ),
    ("step/start", ("step",), NOT_SEQ),
    ("step/end", ("turn",), NOT_SEQ),
    ("step/end", ("step",), NOT_SEQ),
    ("user/message", ("id",), NOT_FILLED),
    ("user/message", ("role",), [*NOT_FILLED, "assistant", "User"]),
    ("user/message", ("source",), NOT_OBJECT),
    ("user/message", ("source", "kind"), NOT_FILLED),
    ("user/message", ("content",), NOT_LIST),
    ("user/message", ("content", 0), but_absent(NOT_OBJECT)),
    ("user/message", ("content", 0, "type"), NOT_FILLED),
    ("user/message", ("content", 0, "text"), NOT_STRING),
    *[
        (f"assistant/chunk {kind}", (key,), NOT_SEQ)
        for kind in ("text-delta", "finish")
        for key in ("turn", "step")
    ],
    ("assistant/chunk usage", ("chunk",), NOT_OBJECT),
    ("assistant/chunk usage", ("chunk", "type"), NOT_FILLED),
    *[
        (f"assistant/chunk {kind}", ("chunk", "index"), NOT_INTEGER)
        for kind in ("block-start", "text-delta", "reasoning-delta", "tool-call-delta", "block-end")
    ],
    ("assistant/chunk block-start", ("chunk", "blockType"), NOT_STRING),
    ("assistant/chunk text-delta", ("chunk", "text"), NOT_STRING),
    ("assistant/chunk reasoning-delta", ("chunk", "text"), NOT_STRING),
    ("assistant/chunk tool-call-delta", ("chunk", "id"), NOT_STRING),
    ("assistant/chunk tool-call-delta", ("chunk", "name"), but_absent(NOT_STRING)),
    ("assistant/chunk tool-call-delta", ("chunk", "argumentsDelta"), NOT_STRING),
    ("assistant/chunk block-end", ("chunk", "block"), NOT_OBJECT),
    ("assistant/chunk usage", ("chunk", "usage"), NOT_OBJECT),
    ("assistant/chunk finish", ("chunk", "reason"), [DROP]),
    ("assistant/message", ("turn",), NOT_SEQ),
    ("assistant/message", ("step",), NOT_SEQ),
    ("assistant/message", ("message",), NOT_OBJECT),
    ("assistant/message", ("message", "id"), NOT_FILLED),
    ("assistant/message", ("message", "role"), [*NOT_FILLED, "user"]),
    ("assistant/message", ("message", "source"), NOT_OBJECT),
    ("assistant/message", ("message", "source", "kind"), [*NOT_FILLED, "user"]),
    ("assistant/message", ("message", "source", "provider"), NOT_FILLED),
    ("assistant/message", ("message", "source", "model"), NOT_FILLED),
    ("assistant/message", ("message", "content"), NOT_LIST),
    ("assistant/message", ("message", "content", 0, "text"), NOT_STRING),
    ("assistant/message", ("message", "content", 2, "id"), NOT_STRING),
    ("assistant/message", ("message", "content", 2, "name"), NOT_STRING),
    ("assistant/message", ("message", "content", 2, "arguments"), NOT_STRING),
    ("assistant/message", ("interrupted",), NOT_TRUE),
    ("tool/call", ("turn",), NOT_SEQ),
    ("tool/call", ("step",), NOT_SEQ),
    ("tool/call", ("callId",), NOT_FILLED),
    ("tool/call", ("name",), NOT_STRING),
    ("tool/call", ("arguments",), NOT_STRING),
    ("tool/result", ("turn",), NOT_SEQ),
    ("tool/result", ("step",), NOT_SEQ),
    ("tool/result", ("message",), NOT_OBJECT),
    ("tool/result", ("message", "id"), NOT_FILLED),
    ("tool/result", ("message", "role"), [*NOT_FILLED, "assistant"]),
    ("tool/result", ("message", "source"), NOT_OBJECT),
    ("tool/result", ("message", "source", "kind"), [*NOT_FILLED, "user"]),
    ("tool/result", ("message", "source", "callId"), NOT_FILLED),
    ("tool/result", ("message", "content"), [*NOT_LIST, [], [{}, {}]]),
    ("tool/result", ("message", "content", 0), but_absent(NOT_OBJECT)),
    ("tool/result", ("message", "content", 0, "type"), [*NOT_FILLED, "text"]),
    ("tool/result", ("message", "content", 0, "toolCallId"), [*NOT_FILLED, "c2"]),
    ("tool/result", ("message", "content", 0, "content"), NOT_LIST),
    ("tool/result", ("message", "content", 0, "content", 0), but_absent(NOT_OBJECT)),
    ("tool/result", ("message", "content", 0, "content", 0, "text"), NOT_STRING),
    ("tool/result", ("error",), but_absent(NOT_OBJECT)),
    ("tool/result", ("error", "name"), NOT_STRING),
    ("tool/result", ("error", "code"), NOT_STRING),
    ("todo/write", ("todos",), NOT_LIST),
    ("todo/write", ("todos", 0), but_absent(NOT_OBJECT)),
    ("todo/write", ("todos", 0, "content"), NOT_STRING),
    ("todo/write", ("todos", 0, "status"), NOT_STATUS),
    ("request/header", ("header",), NOT_OBJECT),
    ("request/header", ("header", "config"), NOT_OBJECT),
    ("request/header", ("header", "config", "provider"), NOT_FILLED),
    ("request/header", ("header", "config", "model"), NOT_FILLED),
    ("request/header", ("header", "config", "reasoningEffort"), but_absent(NOT_FILLED)),
    ("request/header", ("header", "adapterDefaults"), but_absent(NOT_OBJECT)),
    ("request/header", ("header", "adapterDefaults", "reasoningEffort"), NOT_TRUE),
    ("request/header", ("header", "adapterDefaults", "maxTokens"), NOT_TRUE),
    ("request/header", ("reason",), NOT_REASON),
    ("request/context", ("provider",), NOT_FILLED),
    ("request/context", ("model",), NOT_FILLED),
    ("request/context", ("contextWindow",), but_absent(NOT_SEQ)),
    ("agent/inbox/spliced", ("target",), NOT_TARGET),
    ("agent/inbox/spliced", ("start",), NOT_SEQ),
    ("agent/inbox/spliced", ("removedCount",), but_absent(NOT_SEQ)),
    ("agent/inbox/spliced", ("inserted",), NOT_LIST),
    ("agent/inbox/spliced", ("inserted", 0), but_absent(NOT_OBJECT)),
    ("agent/inbox/spliced", ("inserted", 0, "id"), NOT_FILLED),
    ("agent/inbox/spliced", ("inserted", 0, "role"), [*NOT_FILLED, "assistant"]),
    ("agent/inbox/spliced", ("inserted", 0, "source", "kind"), NOT_FILLED),
    ("agent/inbox/spliced", ("inserted", 0, "content"), NOT_LIST),
    ("agent/inbox/spliced", ("inserted", 0, "content", 0, "text"), NOT_STRING),
    ("agent/inbox/spliced", ("outcome",), [*but_absent(NOT_FILLED), "done"]),
]


def field_of(path: tuple[str | int, ...]) -> str:
    parts = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path]
    return "data" + "".join(parts)


@pytest.mark.parametrize(
    ("name", "path", "wrong"), FIELDS, ids=[f"{name}: {field_of(path)}" for name, path, _ in FIELDS]
)
def test_a_field_that_is_wrong_or_missing_is_named(
    name: str, path: tuple[str | int, ...], wrong: list[Any]
) -> None:
    for value in wrong:
        with pytest.raises(BadShape) as refused:
            check(name, changed(SAMPLES[name], path, value))
        assert refused.value.field == field_of(path)
        assert refused.value.found
        assert refused.value.expected


OPTIONAL: list[tuple[str, tuple[str | int, ...]]] = [
    ("assistant/chunk tool-call-delta", ("chunk", "name")),
    ("assistant/chunk finish", ("chunk", "replayState")),
    ("assistant/message", ("interrupted",)),
    ("assistant/message", ("usage",)),
    ("tool/result", ("error",)),
    ("tool/result", ("meta",)),
    ("tool/result", ("message", "content", 0, "isError")),
    ("request/header", ("header", "adapterDefaults")),
    ("request/header", ("header", "system")),
    ("request/context", ("contextWindow",)),
    ("agent/inbox/spliced", ("removedCount",)),
    ("agent/inbox/spliced", ("outcome",)),
]


@pytest.mark.parametrize(("name", "path"), OPTIONAL, ids=str)
def test_an_optional_field_may_be_absent(name: str, path: tuple[str | int, ...]) -> None:
    check(name, changed(SAMPLES[name], path, DROP))


EMPTY: list[tuple[str, tuple[str | int, ...], Any]] = [
    ("turn/end", ("reason", "kind"), "some other kind"),
    ("turn/end by a hook", ("reason", "reason", "reason"), ""),
    ("user/message", ("content",), []),
    ("user/message", ("source", "kind"), "plugin"),
    ("user/message", ("content", 0), {"type": "x-unknown", "text": 1}),
    ("user/message", ("content", 0), {"type": "image"}),
    ("assistant/message", ("message", "content"), []),
    ("assistant/chunk usage", ("chunk",), {"type": "x-unknown", "index": "none"}),
    ("assistant/chunk block-start", ("chunk", "index"), -1),
    ("tool/call", ("name",), ""),
    ("tool/result", ("message", "content", 0, "content"), []),
    ("todo/write", ("todos",), []),
    ("agent/inbox/spliced", ("inserted",), []),
    ("agent/inbox/spliced", ("target",), "next-step"),
    *[("todo/write", ("todos", 0, "status"), s) for s in ("in_progress", "completed")],
    *[("request/header", ("reason",), reason) for reason in ("resume", "change")],
    *[
        ("turn/end aborted", ("reason", "reason", "kind"), cause)
        for cause in ("parent", "disposed", "legacy")
    ],
    *[("turn/end", ("reason", "kind"), k) for k in ("blocked", "max-tokens", "interrupted")],
]


@pytest.mark.parametrize(("name", "path", "value"), EMPTY, ids=str)
def test_a_value_at_the_edge_of_its_shape_passes(
    name: str, path: tuple[str | int, ...], value: Any
) -> None:
    check(name, changed(SAMPLES[name], path, value))


@pytest.mark.parametrize("marker", ["reasoningEffort", "maxTokens"])
def test_a_marker_without_its_value_in_the_config_is_named(marker: str) -> None:
    data = changed(SAMPLES["request/header"], ("header", "config", marker), DROP)
    with pytest.raises(BadShape) as refused:
        check_stored_shape("request/header", data)
    assert refused.value.field == f"data.header.adapterDefaults.{marker}"


# Fields that append wants as `int`; a reader takes 1.0, too.
INTEGERS = sorted(
    {
        (name, path)
        for name, path, wrong in FIELDS
        for none in (NOT_SEQ, NOT_INTEGER, but_absent(NOT_SEQ))
        if wrong == none
    }
)


@pytest.mark.parametrize(("name", "path"), INTEGERS, ids=str)
def test_a_whole_float_is_an_integer_for_readers_alone(
    name: str, path: tuple[str | int, ...]
) -> None:
    data = changed(SAMPLES[name], path, 1.0)
    check(name, data)
    with pytest.raises(BadShape) as refused:
        check_integers(name.split()[0], data)
    assert refused.value.field == field_of(path)
    check_integers(name.split()[0], changed(SAMPLES[name], path, 2**53 - 1))


# --- what restore looks at -----------------------------------------------------------------------

STORED_FIELDS = [
    (name, path, wrong)
    for name, path, wrong in FIELDS
    if name in STORED_TYPES
    and (path[:1] in (("message",), ("header",)) or name == "user/message")
    and "content" not in path[:-1]
]


@pytest.mark.parametrize(
    ("name", "path", "wrong"),
    STORED_FIELDS,
    ids=[f"{name}: {field_of(path)}" for name, path, _ in STORED_FIELDS],
)
def test_restore_checks_messages_and_request_headers(
    name: str, path: tuple[str | int, ...], wrong: list[Any]
) -> None:
    for value in wrong:
        with pytest.raises(BadShape) as refused:
            check_stored_shape(name, changed(SAMPLES[name], path, value))
        assert refused.value.field == field_of(path)


UNCHECKED = [
    (name, path, wrong)
    for name, path, wrong in FIELDS
    if name.split()[0] not in STORED_TYPES
    or path[0] in ("turn", "step", "error", "interrupted")
    or path[:3] == ("message", "content", 2)
    or (name == "user/message" and "content" in path[:-1])
]


@pytest.mark.parametrize(
    ("name", "path", "wrong"),
    UNCHECKED,
    ids=[f"{name}: {field_of(path)}" for name, path, _ in UNCHECKED],
)
def test_restore_does_not_look_at_other_fields(
    name: str, path: tuple[str | int, ...], wrong: list[Any]
) -> None:
    for value in wrong:
        check_stored_shape(name.split()[0], changed(SAMPLES[name], path, value))


@pytest.mark.parametrize("reason", [DROP, None, 7, "another"])
def test_a_stored_header_may_have_any_reason_or_none(reason: Any) -> None:
    check_stored_shape("request/header", changed(SAMPLES["request/header"], ("reason",), reason))


def test_the_reason_fallback_is_an_older_form_everywhere() -> None:
    data = changed(SAMPLES["request/header"], ("reason",), "fallback")
    for judge in (check_core_shape, check_stored_shape):
        with pytest.raises(BadShape, match="older form") as refused:
            judge("request/header", data)
        assert refused.value.field == "data.reason"


# --- messages and depth --------------------------------------------------------------------------


def test_a_message_is_checked_for_its_role_and_source() -> None:
    message = SAMPLES["user/message"]
    check_message(message, "user", "here")
    check_message(message, "user", "here", source_kind="user")
    with pytest.raises(BadShape) as refused:
        check_message(message, "assistant", "here")
    assert refused.value.field == "here.role"
    with pytest.raises(BadShape) as refused:
        check_message(message, "user", "here", source_kind="tool")
    assert refused.value.field == "here.source.kind"


@given(st.sampled_from(sorted(SAMPLES)), json_values)
def test_any_value_anywhere_is_taken_or_refused_by_field(name: str, value: Any) -> None:
    for path in paths_of(SAMPLES[name]):
        field = refused_field(name, changed(SAMPLES[name], path, value))
        assert field in ("", "data") or field.startswith("data.")


def refused_field(name: str, data: Any) -> str:
    """The field that is refused, or nothing."""
    try:
        check(name, data)
    except BadShape as error:
        return error.field
    return ""


@given(any_text)
def test_arguments_are_opaque(text: str) -> None:  # field case A4
    check("tool/call", changed(SAMPLES["tool/call"], ("arguments",), text))
    path = ("message", "content", 2, "arguments")
    check("assistant/message", changed(SAMPLES["assistant/message"], path, text))


@pytest.mark.parametrize("value", [nested(100_000), nested(100_000, objects=True)], ids=["l", "o"])
def test_depth_is_no_limit(value: Any) -> None:
    for name, sample in SAMPLES.items():
        for path in paths_of(sample):
            for key in (*path_keys(sample, path), "x-further"):
                assert len(refused_field(name, put(sample, (*path, key), value))) < 1_000


def path_keys(data: Any, path: tuple[str | int, ...]) -> list[str]:
    for step in path:
        data = data[step]
    return list(data)


def put(data: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """Like `changed`, but the value itself goes in: copying it would need a stack."""
    if not path:
        return value
    copied: Any = data.copy()
    old = data.get(path[0]) if isinstance(data, dict) else data[path[0]]
    copied[path[0]] = put(old, path[1:], value)
    return copied


@pytest.mark.parametrize("key", ["toolCallId", "content"])
@pytest.mark.parametrize("value", [DROP, None, 7, {}], ids=repr)
def test_a_result_block_is_checked_in_any_message(key: str, value: Any) -> None:
    block = {"type": "tool-result", "toolCallId": "c1", "content": []}
    for name, path in (
        ("user/message", ("content", 0)),
        ("tool/result", ("message", "content", 0, "content", 0)),
    ):
        check(name, changed(SAMPLES[name], path, block))
        data = changed(SAMPLES[name], path, changed(block, (key,), value))
        assert refused_field(name, data) == f"{field_of(path)}.{key}"


def test_results_inside_results_are_checked_at_any_depth() -> None:
    block: Any = {"type": "text", "text": 7}
    for _ in range(50_000):
        block = {"type": "tool-result", "toolCallId": "c1", "content": [block]}
    data = changed(SAMPLES["tool/result"], ("message", "content", 0, "content"), [])
    data["message"]["content"][0]["content"] = [block]
    with pytest.raises(BadShape) as refused:
        check("tool/result", data)
    assert refused.value.field.startswith("data.message.content[0].content[0].content[0]")
    assert len(refused.value.field) < 1_000
