"""The Messages: one rule a node, Surface order, what is missing is said."""

from __future__ import annotations

from typing import Any

import pytest

from turnlog.events import Header, MissingField, SurfaceRefused, event_row
from turnlog.kernel import Log, messages


def log(*events: dict[str, Any]) -> Log:
    rows = tuple(
        event_row({"seq": seq, "time": 1, "surfaceOp": "append", **event})
        for seq, event in enumerate(events)
    )
    return Log(Header.new("s", 1), rows)


def user(id: str, **more: Any) -> dict[str, Any]:
    return {"type": "user/message", "data": {"id": id, "role": "user", "content": ["x"], **more}}


def reply(id: str, *content: Any) -> dict[str, Any]:
    message = {"id": id, "role": "assistant", "source": {"kind": "model"}, "content": list(content)}
    return {"type": "assistant/message", "data": {"turn": 1, "step": 1, "message": message}}


def test_each_node_gives_its_message_as_it_is() -> None:
    told = user("u", further={"deep": [1.0, True]})
    result = {"type": "tool/result", "data": {"message": {"id": "r", "content": []}, "meta": 1}}
    found = messages(log(told, reply("a", {"type": "odd"}), result))
    assert [message.value for message in found] == [
        told["data"],
        reply("a", {"type": "odd"})["data"]["message"],
        {"id": "r", "content": []},
    ]
    assert [message.seq for message in found] == [0, 1, 2]
    assert (found[0].id, found[0].role, found[0].content) == ("u", "user", ["x"])
    assert found[1].source == {"kind": "model"}
    assert "seq=0" in repr(found[0])


def test_an_empty_assistant_message_is_none_for_the_model() -> None:
    assert [message.id for message in messages(log(user("u"), reply("a"), user("v")))] == ["u", "v"]


def test_an_empty_user_message_stays() -> None:
    assert len(messages(log(user("u", content=[])))) == 1


def test_a_replace_takes_its_place_in_order() -> None:
    middle = user("sum") | {
        "surfaceOp": {"op": "replace", "start": 0, "end": 1},
        "sourceEventSeqs": [0, 1],
    }
    whole = log(user("u1"), user("u2"), user("u3"), middle)
    assert [message.id for message in messages(whole)] == ["sum", "u3"]
    assert [message.id for message in messages(whole, 3)] == ["u1", "u2", "u3"]
    assert messages(whole, 0) == []


@pytest.mark.parametrize(
    "event",
    [
        {"type": "assistant/message", "data": {"turn": 1}},
        {"type": "assistant/message", "data": None},
        {"type": "assistant/message", "data": {"message": {"id": "a"}}},
        {"type": "tool/result", "data": {"message": 7}},
    ],
)
def test_a_missing_message_is_said_with_its_seq(event: dict[str, Any]) -> None:
    with pytest.raises(MissingField) as caught:
        messages(log(user("u"), event))
    assert caught.value.seq == 1


def test_a_field_that_a_stored_message_lacks_is_said_when_it_is_read() -> None:
    found = messages(log({"type": "user/message", "data": {"id": "u"}}, user("v")))
    assert found[0].id == "u"
    with pytest.raises(MissingField):
        _ = found[0].content
    odd = messages(log({"type": "user/message", "data": 7}))
    assert odd[0].value == 7
    with pytest.raises(MissingField):
        _ = odd[0].role


def test_a_surface_that_does_not_replay_is_refused() -> None:
    with pytest.raises(SurfaceRefused) as caught:
        messages(log(user("u"), user("v") | {"surfaceOp": "prepend"}))
    assert caught.value.seq == 1
