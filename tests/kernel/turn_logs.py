"""Logs of turns for the tests: factories of event values, and strategies of sound and wild logs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from turnlog.events.admit import admit
from turnlog.events.event import Draft, Event
from turnlog.events.header import Header
from turnlog.events.rows import Row, event_row, pack
from turnlog.events.vocabulary import Registry
from turnlog.kernel.log import Log

NOT_STARTED = {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}

Value = dict[str, Any]


def log_of(*values: Value, header: Header | None = None) -> Log:
    """The log of event values; seq and time are given where a value has none."""
    rows = tuple(
        event_row({"type": "", "seq": seq, "time": 1_000 + seq, **value})
        for seq, value in enumerate(values)
    )
    return Log(header or Header.new("s", 1), rows)


def packed(log: Log) -> Log:
    return Log(log.header, tuple(pack(log.events())))


def with_drafts(log: Log, drafts: Iterable[Draft]) -> Log:
    """The log after the drafts were appended, each through the gate."""
    rows: list[Row] = list(log.rows)
    for draft in drafts:
        seq = Log(log.header, tuple(rows)).next_seq
        rows.append(Row(admit(draft, seq, 9_999, Registry()).text, seq))
    return Log(log.header, tuple(rows))


def events(log: Log) -> list[Event]:
    return list(log.events())


def turn_start(turn: Any = 1) -> Value:
    return {"type": "turn/start", "data": {"turn": turn}}


def turn_end(turn: Any = 1, kind: str = "completed") -> Value:
    return {"type": "turn/end", "data": {"turn": turn, "reason": {"kind": kind}}}


def step_start(turn: Any = 1, step: Any = 1) -> Value:
    return {"type": "step/start", "data": {"turn": turn, "step": step}}


def step_end(turn: Any = 1, step: Any = 1) -> Value:
    return {"type": "step/end", "data": {"turn": turn, "step": step}}


def chunk(text: str = "x", turn: Any = 1, step: Any = 1) -> Value:
    delta = {"type": "text-delta", "index": 0, "text": text}
    return {"type": "assistant/chunk", "data": {"turn": turn, "step": step, "chunk": delta}}


def says(*call_ids: Any, turn: Any = 1, step: Any = 1, over: tuple[int, ...] = ()) -> Value:
    """An assistant message that names calls; `over` are the seqs that it replaces."""
    common = {"type": "tool-call", "name": "read", "arguments": "{}"}
    calls = [{**common, "id": call_id} for call_id in call_ids]
    message = {
        "id": "m",
        "role": "assistant",
        "source": {"kind": "model", "provider": "p", "model": "m"},
        "content": [{"type": "text", "text": "so"}, *calls],
    }
    data = {"turn": turn, "step": step, "message": message}
    return {"type": "assistant/message", "data": data, **_placed(over)}


def call(call_id: Any = "c", turn: Any = 1, step: Any = 1) -> Value:
    data = {"turn": turn, "step": step, "callId": call_id, "name": "read", "arguments": "{}"}
    return {"type": "tool/call", "data": data}


def result_message(call_id: Any = "c", text: str = "done", is_error: Any = None) -> Value:
    block: Value = {"type": "tool-result", "toolCallId": call_id}
    block["content"] = [{"type": "text", "text": text}]
    if is_error is not None:
        block["isError"] = is_error
    source = {"kind": "tool", "callId": call_id}
    return {"id": f"r-{call_id}", "role": "user", "source": source, "content": [block]}


def result(
    call_id: Any = "c",
    turn: Any = 1,
    step: Any = 1,
    *,
    text: str = "done",
    is_error: Any = None,
    error: Any = None,
    over: tuple[int, ...] = (),
) -> Value:
    data = {"turn": turn, "step": step, "message": result_message(call_id, text, is_error)}
    if error is not None:
        data["error"] = error
    return {"type": "tool/result", "data": data, **_placed(over)}


def user(text: str = "hi", over: tuple[int, ...] = ()) -> Value:
    content = [{"type": "text", "text": text}]
    data = {"id": f"u-{text}", "role": "user", "source": {"kind": "user"}, "content": content}
    return {"type": "user/message", "data": data, **_placed(over)}


def other(type: str, **data: Any) -> Value:
    return {"type": type, "data": data}


def _placed(over: tuple[int, ...]) -> Value:
    if not over:
        return {"surfaceOp": "append"}
    operation = {"op": "replace", "start": over[0], "end": over[-1]}
    return {"surfaceOp": operation, "sourceEventSeqs": sorted(over)}


def _says_all(call_ids: list[str], turn: int, step: int) -> Value:
    return says(*call_ids, turn=turn, step=step)


_NUMBERS = st.integers(0, 3)
_IDS = st.sampled_from(["c", "d", "é"])
_WILD = st.one_of(
    st.builds(turn_start, _NUMBERS),
    st.builds(turn_end, _NUMBERS),
    st.builds(step_start, _NUMBERS, _NUMBERS),
    st.builds(step_end, _NUMBERS, _NUMBERS),
    st.builds(chunk, turn=_NUMBERS, step=_NUMBERS),
    st.builds(_says_all, st.lists(_IDS, max_size=3), _NUMBERS, _NUMBERS),
    st.builds(call, _IDS, _NUMBERS, _NUMBERS),
    st.builds(result, _IDS, _NUMBERS, _NUMBERS),
    st.builds(result, _IDS, _NUMBERS, _NUMBERS, is_error=st.just(True), error=st.just(NOT_STARTED)),
    st.just(user()),
    st.just(other("request/context", provider="p", model="m")),
    st.just(other("plan/mode")),
)


@st.composite
def wild_logs(draw: st.DrawFn) -> Log:
    """Logs of core events in any order: most break some relation, none lacks a field."""
    values = draw(st.lists(_WILD, max_size=24))
    return log_of(*values)


@st.composite
def sound_logs(draw: st.DrawFn) -> Log:
    """Logs that keep every relation and whose Surface replays; they may end anywhere."""
    values: list[Value] = []
    nodes: list[int] = []
    turn = step = 0
    turn_is_open = step_is_open = False
    named: list[str] = []
    pending: list[str] = []
    for _ in range(draw(st.integers(0, 40))):
        moves = ["user", "other", "replace"]
        if not turn_is_open:
            moves += ["turn/start"] * 3
        elif not step_is_open:
            moves += ["turn/end", "step/start", "step/start", "context"]
        else:
            moves += ["says", "says", "step/end", "chunk", "chunks"]
            moves += ["call"] * 2 * bool(named) + ["result"] * 3 * bool(pending)
            moves += ["not-started"] * bool(named)
        move = draw(st.sampled_from(moves))
        if move == "turn/start":
            turn, step, turn_is_open = turn + 1, 0, True
            values.append(turn_start(turn))
        elif move == "turn/end":
            turn_is_open = False
            values.append(turn_end(turn))
        elif move == "step/start":
            step, step_is_open, named, pending = step + 1, True, [], []
            values.append(step_start(turn, step))
        elif move == "step/end":
            step_is_open = False
            values.append(step_end(turn, step))
        elif move == "says":
            ids = [f"c{len(values)}-{k}" for k in range(draw(st.integers(0, 3)))]
            named += ids
            values.append(says(*ids, turn=turn, step=step))
        elif move == "call":
            call_id = named.pop(draw(st.integers(0, len(named) - 1)))
            pending.append(call_id)
            values.append(call(call_id, turn, step))
        elif move == "result":
            call_id = pending.pop(draw(st.integers(0, len(pending) - 1)))
            values.append(result(call_id, turn, step))
        elif move == "not-started":
            call_id = named.pop(0)
            values.append(result(call_id, turn, step, is_error=True, error=NOT_STARTED))
        elif move == "chunk" or move == "chunks":
            count = 1 if move == "chunk" else 4
            values += [chunk(turn=turn, step=step) for _ in range(count)]
        elif move == "replace" and nodes:
            start = draw(st.integers(0, len(nodes) - 1))
            end = draw(st.integers(start, len(nodes) - 1))
            seq = len(values)
            values.append(user(f"sum {seq}", over=tuple(nodes[start : end + 1])))
            nodes[start : end + 1] = [seq]
        elif move == "context":
            values.append(other("request/context", provider="p", model="m"))
        elif move == "other":
            values.append(other("plan/mode"))
        else:
            values.append(user(f"u{len(values)}"))
        if values and values[-1].get("surfaceOp") == "append":
            nodes.append(len(values) - 1)
    return log_of(*values)
