"""Shared hypothesis strategies: JSON values, chunks, and whole logs, sound and broken.

Values and chunks are drawn piece by piece and shrink well. A log is written by a simulated agent
from a drawn length and seed, so that long ones cost little; it shrinks by its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.broken_logs import Broken, break_log
from tests.log_writer import TEXTS, Value
from tests.simulated_agent import Agent
from turnlog.events.event import Draft, Event, event_of_value
from turnlog.events.gate import MAX_SAFE_INTEGER
from turnlog.events.header import Header
from turnlog.events.jsontext import dumps, loads
from turnlog.events.rows import Row, pack

__all__ = [
    "AgentLog",
    "agent_logs",
    "any_text",
    "broken_logs",
    "chunk_values",
    "drafts",
    "event_values",
    "events_of",
    "headers",
    "json_values",
    "lossless_floats",
    "safe_integers",
    "splits",
    "stored_values",
    "value_of_draft",
]

any_text: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(TEXTS),
    st.text(st.characters(exclude_categories=()), max_size=12),  # lone surrogates included
)
"""Any text that a Python string can be."""

safe_integers: st.SearchStrategy[int] = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER, 2**31, 2**32, -(2**31)]),
    st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER),
)

lossless_floats: st.SearchStrategy[float] = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 0.1, 5e-324, 2.0**53, 1e22, 1e-7, 1.7976931348623157e308]),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x or 0.0),  # no negative zero
)

_scalars = st.one_of(st.none(), st.booleans(), safe_integers, lossless_floats, any_text)


def _nested(scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(any_text, inner, max_size=4)
        ),
        max_leaves=20,
    )


json_values: st.SearchStrategy[Any] = _nested(_scalars)
"""Values that the gate takes."""

stored_values: st.SearchStrategy[Any] = _nested(
    st.one_of(_scalars, st.sampled_from([-0.0, 2**53, -(2**63), 2**64 - 1]))
)
"""Values that a stored log may hold: negative zero and integers up to 64 bits, too."""


@st.composite
def headers(draw: st.DrawFn) -> Header:
    """Headers with any of the optional keys, and further ones."""
    fields: Value = {
        "cwd": st.sampled_from(["/", "/home/a b"]),
        "parentSession": any_text,
        "seedLength": st.integers(0, 9),
        "origin": st.just("subagent"),
        "delegationDepth": st.integers(0, 3),
        "agentPreset": any_text,
    }
    value: Value = {"version": 0, "id": draw(any_text), "createdAt": draw(st.integers(0, 10**13))}
    for key in draw(st.lists(st.sampled_from(sorted(fields)), unique=True)):
        value[key] = draw(fields[key])
    further = st.dictionaries(any_text.map("x-{}".format), json_values, max_size=2)
    return Header.of(value | draw(further))


# --- chunks --------------------------------------------------------------------------------------


@st.composite
def chunk_values(draw: st.DrawFn, max_size: int = 30) -> list[Value]:
    """Events of delta chunks in runs that go on, break, or can't be packed; seqs grow."""
    heads = draw(st.lists(_heads(), min_size=1, max_size=3))
    seq = draw(st.sampled_from([0, 7, 10**6]))
    time = draw(_times)
    values = []
    for _ in range(draw(st.integers(0, max_size))):
        place, chunk, key = draw(st.sampled_from(heads))
        data = {**place, "chunk": {**chunk, key: draw(any_text)}}
        if not draw(st.integers(0, 15)):
            draw(st.sampled_from([data, data["chunk"]]))["more"] = draw(json_values)
        values.append({"type": "assistant/chunk", "seq": seq, "time": time, "data": data})
        seq += draw(st.sampled_from([1, 1, 1, 1, 1, 1, 1, 2]))
        time = draw(st.one_of(st.just(time), st.just(time).map(lambda t: t - 1), _times))
        time = max(time, -MAX_SAFE_INTEGER)
    return values


_times = st.one_of(
    st.integers(1_000, 1_005), st.sampled_from([MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER, 0])
)
_numbers = st.one_of(st.integers(0, 2), st.integers(0, 2).map(float), st.just(1.5), safe_integers)


@st.composite
def _heads(draw: st.DrawFn) -> tuple[Value, Value, str]:
    place = {"turn": draw(_numbers), "step": draw(_numbers)}
    kind = draw(st.sampled_from(["text-delta", "reasoning-delta", "tool-call-delta"]))
    chunk: Value = {"type": kind, "index": draw(_numbers)}
    if kind != "tool-call-delta":
        return place, chunk, "text"
    chunk["id"] = draw(st.sampled_from(["a", "b", ""]))
    if draw(st.booleans()):
        chunk["name"] = draw(st.sampled_from(["bash", ""]))
    return place, chunk, "argumentsDelta"


# --- logs ----------------------------------------------------------------------------------------


class AgentLog(NamedTuple):
    """A well-formed log: its header, and its events as drafts and as stored values."""

    header: Header
    drafts: list[Draft]
    values: list[Value]

    @property
    def events(self) -> list[Event]:
        """The events, as if read from storage: new views each time."""
        return events_of(self.values)

    @property
    def rows(self) -> list[Row]:
        """The events as packed rows."""
        return list(pack(self.events))


@st.composite
def agent_logs(draw: st.DrawFn, max_events: int = 80) -> AgentLog:
    """Well-formed logs of a simulated agent, of up to about that many events; some are forks."""
    events = draw(st.integers(0, max_events))
    return agent_log(events, draw(st.integers(0, 2**32 - 1)))


def agent_log(events: int, seed: int) -> AgentLog:
    """Write a log of about so many events; the same for the same arguments."""
    random = Random(seed)
    agent = Agent(random)
    fields: Value = {"cwd": "/work"} if random.random() < 0.5 else {}
    if random.random() < 0.2:
        agent.run(random.randint(0, events))
        agent.fork()
        fields |= {"parentSession": "parent", "seedLength": agent.seed_length}
    agent.run(events)
    header = Header.new("session", 1_700_000_000_000, **fields)
    values = [value_of_draft(draft, seq) for seq, draft in enumerate(agent.drafts)]
    return AgentLog(header, agent.drafts, values)


def broken_logs(max_events: int = 80) -> st.SearchStrategy[Broken]:
    """Logs that break one rule, which they name with the event at fault."""

    def broken(log: AgentLog, seed: int) -> Broken:
        return break_log(log.header, log.values, Random(seed))

    return st.builds(broken, agent_logs(max_events), st.integers(0, 2**32 - 1))


def drafts() -> st.SearchStrategy[Draft]:
    """Single drafts of all types that the simulated agent writes, further keys in their data."""

    def extended(log: AgentLog, index: int, further: Value) -> Draft:
        draft = log.drafts[index % len(log.drafts)]
        if isinstance(draft.data, dict):
            draft = draft._replace(data={**further, **draft.data})
        return draft

    further = st.dictionaries(any_text.map("x-{}".format), json_values, max_size=2)
    logs = agent_logs().filter(lambda log: len(log.drafts) > 0)
    return st.builds(extended, logs, st.integers(0, 1_000), further)


def event_values(max_events: int = 80) -> st.SearchStrategy[list[Value]]:
    """Stored events of well-formed logs, with any JSON where the core does not look."""

    def filled(log: AgentLog, value: Any) -> list[Value]:
        return [
            event | {"data": value} if event["type"] in ("plan/mode", "x/unknown") else event
            for event in log.values
        ]

    return st.builds(filled, agent_logs(max_events), stored_values)


def events_of(values: Sequence[Value]) -> list[Event]:
    """Read stored values as events; the values stay the caller's."""
    texts = list(map(dumps, values))
    return [event_of_value(loads(text), text) for text in texts]


def value_of_draft(draft: Draft, seq: int) -> Value:
    """Give the stored value of a draft in JSON form, in the key order that the gate writes."""
    value = {"type": draft.type, "seq": seq, "time": draft.time_ms, "data": draft.data}
    if draft.surface is not None:
        value["surfaceOp"] = draft.surface
    if draft.sources is not None:
        value["sourceEventSeqs"] = list(draft.sources)
    if draft.ignorable:
        value["ignorable"] = True
    return value


@st.composite
def splits(draw: st.DrawFn, length: int) -> list[tuple[int, int]]:
    """Ways to cut `range(length)` into pieces, empty ones included: half-open ranges in order."""
    cuts = sorted(draw(st.lists(st.integers(0, length), max_size=6)))
    return list(zip([0, *cuts], [*cuts, length], strict=True))
