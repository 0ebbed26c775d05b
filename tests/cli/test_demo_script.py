"""The demo's script played without a broker: a log that breaks no rule, whatever is printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnlog.cli import demo_script
from turnlog.cli.demo_agent import Agent
from turnlog.cli.demo_script import ASK_AGAIN, LOOK_UP, OTHER_WAY, SEND, SUMMARY, Call, Turn
from turnlog.kernel import check_request, request_at, view_breaches
from turnlog.session import FolderStore, Session

TURNS = (LOOK_UP, SEND, ASK_AGAIN, OTHER_WAY)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A session that refuses what breaks a rule."""
    with FolderStore(tmp_path) as store, store.create("demo", strict=True) as session:
        yield session


class Listener:
    """Keeps what an agent tells."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def __call__(self, label: str, text: str) -> None:
        self.told.append((label, text))


def test_the_script_is_ascii_and_its_arguments_are_json() -> None:
    for turn in TURNS:
        assert repr(turn).isascii()
        for step in turn.steps:
            if step.call is not None:
                assert json.loads(step.call.arguments)
    assert SUMMARY.isascii()


def test_each_call_of_the_script_names_a_tool_that_its_header_offers() -> None:
    tools = {tool["name"] for tool in demo_script.HEADER["tools"]}
    calls = [step.call for turn in TURNS for step in turn.steps if step.call is not None]
    assert {call.name for call in calls} <= tools
    assert len({call.id for call in calls}) == len(calls)


def test_the_whole_script_keeps_every_rule(session: Session) -> None:
    agent = Agent(session, Listener())
    agent.turn(LOOK_UP)
    agent.compact(LOOK_UP.number, SUMMARY)
    agent.turn(SEND)
    agent.turn(ASK_AGAIN)
    assert session.breaches == ()
    assert view_breaches(session.log) == []
    assert session.acknowledged_seq == session.next_seq


def test_a_compaction_leaves_the_model_one_message(session: Session) -> None:
    agent = Agent(session, Listener())
    agent.turn(LOOK_UP)
    assert len(session.messages()) == 4
    agent.compact(LOOK_UP.number, SUMMARY)
    (message,) = session.messages()
    assert message.content == [{"type": "text", "text": SUMMARY}]


def test_each_request_is_what_the_log_says_of_its_step(session: Session) -> None:
    Agent(session, Listener()).turn(LOOK_UP)
    for step, messages in ((1, 1), (2, 3)):
        request = request_at(session.log, LOOK_UP.number, step)
        assert request is not None
        assert len(request) == messages
        check_request(session.log.prefix(request.seq or 0), request)


def test_a_tools_body_runs_when_its_call_is_durable_and_its_result_is_not_there(
    session: Session,
) -> None:
    seen: list[tuple[Call, int, str]] = []

    def body(call: Call) -> None:
        last = session.log.event(session.next_seq - 1)
        assert last is not None
        seen.append((call, session.acknowledged_seq - session.next_seq, last.type))

    Agent(session, Listener(), body).turn(LOOK_UP)
    assert seen == [(LOOK_UP.steps[0].call, 0, "tool/call")]


def test_what_is_told_is_said_in_the_order_of_the_script(session: Session) -> None:
    listener = Listener()
    Agent(session, listener).turn(LOOK_UP)
    labels = [label for label, _ in listener.told]
    assert labels == ["user", "request", "model", "tool", "result", "request", "model"]
    assert listener.told[1] == ("request", "1 message may leave: all 5 events are durable")


def test_a_turn_without_a_call_asks_the_model_once(session: Session) -> None:
    only = Turn(1, "Hello?", OTHER_WAY.steps)
    listener = Listener()
    Agent(session, listener).turn(only)
    assert [label for label, _ in listener.told] == ["user", "request", "model"]
