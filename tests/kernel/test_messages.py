"""The Messages: one rule a node, Surface order, what is missing is said."""

from __future__ import annotations

from typing import Any

import pytest

from turnlog.events import Header, MissingField, SurfaceRefused, event_row
from turnlog.kernel import Log, messages
from turnlog.kernel.messages import MessageList


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
    ("event", "field"),
    [
        ({"type": "assistant/message", "data": {"turn": 1}}, "data.message"),
        ({"type": "assistant/message", "data": None}, "data.message"),
        (
            {"type": "assistant/message", "data": {"message": {"id": "a"}}},
            "data.message.content",
        ),
        ({"type": "tool/result", "data": {"message": 7}}, "data.message"),
    ],
)
def test_a_missing_message_is_said_with_its_seq(event: dict[str, Any], field: str) -> None:
    with pytest.raises(MissingField) as caught:
        messages(log(user("u"), event))
    assert (caught.value.seq, caught.value.field) == (1, field)


def test_a_field_that_a_stored_message_lacks_is_said_when_it_is_read() -> None:
    found = messages(log({"type": "user/message", "data": {"id": "u"}}, user("v")))
    assert found[0].id == "u"
    with pytest.raises(MissingField):
        _ = found[0].content
    odd = messages(log(user("u"), {"type": "user/message", "data": 7}))[1]
    assert odd.value == 7
    with pytest.raises(MissingField) as caught:
        _ = odd.role
    assert caught.value.seq == 1


def test_a_surface_that_does_not_replay_is_refused() -> None:
    with pytest.raises(SurfaceRefused) as caught:
        messages(log(user("u"), user("v") | {"surfaceOp": "prepend"}))
    assert caught.value.seq == 1


class NotedSurface:
    """A Surface that was replaced once, and that notes from where it is read."""

    replace_generation = 1

    def __init__(self, *nodes: int) -> None:
        self.nodes = list(nodes)
        self.read_from: list[int] = []

    @property
    def node_count(self) -> int:
        return len(self.nodes)

    def nodes_from(self, position: int) -> list[int]:
        self.read_from.append(position)
        return self.nodes[position:]


def test_an_append_after_a_replace_reads_its_own_node_alone() -> None:
    known = MessageList(log(user("u"), user("v")).event)
    surface = NotedSurface(0)
    assert [message.id for message in known.of(surface)] == ["u"]
    surface.nodes.append(1)
    assert [message.id for message in known.of(surface)] == ["u", "v"]
    assert surface.read_from == [0, 1]
