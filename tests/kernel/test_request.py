"""The request header, the request of a step, and the request check."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernel.log_builder import LogBuilder, any_logs, message_of, random_logs
from turnlog.events.errors import BadShape, MissingField, NotLossless, RequestMismatch
from turnlog.kernel.attempts import attempts, request_at
from turnlog.kernel.log import Log
from turnlog.kernel.messages import messages
from turnlog.kernel.request import (
    Request,
    RequestFold,
    check_request,
    context_to_log,
    derived_request,
    header_to_log,
    prefix_reusable,
)
from turnlog.kernel.request_header import canonical, header_differences, headers_equal

_TOOL = {"name": "read", "parameters": {"type": "object", "properties": {}}}


def _header(**config: Any) -> dict[str, Any]:
    names = {"system", "tools", "adapterDefaults"} & config.keys()
    top: dict[str, Any] = {name: config.pop(name) for name in names}
    return {"config": {"provider": "p", "model": "m", **config}, **top}


def _texts(request: Request | None) -> list[str]:
    assert request is not None
    return [message["content"][0]["text"] for message in request.messages]


# --- the header's canonical form and equality ----------------------------------------------------


def test_canonical_keeps_the_whole_config_and_what_is_not_empty() -> None:
    header = _header(
        note={"x": 1}, system=" ", tools=[_TOOL], adapterDefaults={"maxTokens": True}, maxTokens=9
    )
    assert canonical({**header, "note": 1}) == header


@pytest.mark.parametrize("empty", [{"system": ""}, {"tools": []}, {"adapterDefaults": {}}])
def test_canonical_drops_what_is_empty(empty: dict[str, Any]) -> None:
    assert canonical(_header(**empty)) == _header()


def test_canonical_shares_nothing_with_the_header() -> None:
    header = _header(tools=[copy.deepcopy(_TOOL)], stop=["a"])
    before = copy.deepcopy(header)
    form = canonical(header)
    form["config"]["stop"].append("b")
    form["tools"][0]["name"] = "write"
    assert header == before


@pytest.mark.parametrize(
    ("header", "field"),
    [
        (None, "header"),
        ([], "header"),
        ({}, "header.config"),
        ({"config": None}, "header.config"),
        ({"config": ["p"]}, "header.config"),
    ],
)
def test_a_header_without_config_is_refused(header: Any, field: str) -> None:
    with pytest.raises(BadShape) as caught:
        canonical(header)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("a", "b", "differing"),
    [
        (_header(), _header(), ()),
        (_header(maxTokens=9), _header(maxTokens=9.0), ()),
        (_header(note=1), _header(note=2), ()),
        (_header(system=""), _header(), ()),
        (_header(tools=[]), _header(), ()),
        (_header(provider="q"), _header(), ("provider",)),
        (_header(model="n"), _header(), ("model",)),
        (_header(reasoningEffort="low"), _header(reasoningEffort="high"), ("reasoningEffort",)),
        (_header(temperature=0), _header(), ("temperature",)),
        (_header(temperature=True), _header(temperature=1), ("temperature",)),
        (_header(maxTokens=0), _header(), ("maxTokens",)),
        (_header(stop=[]), _header(), ("stop",)),
        (_header(stop=["a", "b"]), _header(stop=["b", "a"]), ("stop",)),
        (_header(adapterDefaults={"maxTokens": True}), _header(), ("adapterDefaults",)),
        (_header(adapterDefaults={"reasoningEffort": True}), _header(), ("adapterDefaults",)),
        (
            _header(adapterDefaults={"maxTokens": True}),
            _header(adapterDefaults={"reasoningEffort": True}),
            ("adapterDefaults",),
        ),
        (_header(system="s"), _header(system="s "), ("system",)),
        (_header(tools=[_TOOL]), _header(), ("tools",)),
        (_header(tools=[_TOOL, {"n": 1}]), _header(tools=[{"n": 1}, _TOOL]), ("tools",)),
        (_header(tools=[{"n": 1}]), _header(tools=[{"n": 1.0}]), ()),
        (_header(tools=[{"n": 1}]), _header(tools=[{"n": True}]), ("tools",)),
        (
            _header(tools=[{"a": [{"x": 1, "y": 2}]}]),
            _header(tools=[{"a": [{"y": 2, "x": 1}]}]),
            ("tools",),
        ),
    ],
)
def test_headers_differ_by_what_the_model_is_asked(
    a: Any, b: Any, differing: tuple[str, ...]
) -> None:
    assert header_differences(a, b) == header_differences(b, a) == differing
    assert headers_equal(a, b) is (not differing)


def test_a_deep_tool_schema_is_compared_without_a_call_stack() -> None:
    def nested(inner: Any) -> Any:
        value: Any = inner
        for _ in range(100_000):
            value = {"properties": [value]}
        return _header(tools=[value])

    deep, other = nested({"a": 1, "b": 2}), nested({"b": 2, "a": 1})
    assert headers_equal(canonical(deep), deep)
    assert not headers_equal(deep, other)


# --- the header and context in force -------------------------------------------------------------


def test_the_latest_header_and_context_are_in_force() -> None:
    builder = LogBuilder()
    builder.header(system="old")
    builder.add("request/context", {"provider": "p", "model": "m", "contextWindow": 5, "note": 1})
    builder.header("change", system="new", tools=[])
    builder.add("request/context", {"provider": "q", "model": "m", "note": 2})
    request = derived_request(builder.log())
    assert request.header == _header(system="new")
    assert request.context == {"provider": "q", "model": "m", "note": 2}


def test_without_a_header_or_context_none_is_in_force() -> None:
    request = derived_request(LogBuilder().log())
    assert (request.header, request.context, request.messages, request.seq) == (None, None, [], 0)


@pytest.mark.parametrize("data", [{}, {"header": 5}, {"header": {"config": []}}, None])
def test_a_stored_header_without_config_is_named_unless_another_followed(data: Any) -> None:
    builder = LogBuilder()
    builder.user("hello")
    builder.add("request/header", data)
    with pytest.raises(MissingField) as caught:
        derived_request(builder.log())
    assert caught.value.seq == 1
    builder.header()
    assert derived_request(builder.log()).header == _header()


def test_what_a_request_returns_can_not_change_it() -> None:
    builder = LogBuilder()
    builder.header(tools=[_TOOL])
    builder.add("request/context", {"provider": "p", "model": "m"})
    builder.user("hello")
    request = derived_request(builder.log())
    header, context, found = request.header, request.context, request.messages
    assert header is not None
    before = copy.deepcopy((header, context, found))
    header["tools"].clear()
    context["model"] = "n"
    found[0]["content"].clear()
    found.clear()
    assert (request.header, request.context, request.messages) == before


def test_a_request_of_values_is_a_copy_made_by_the_gate() -> None:
    header, message = _header(stop=["a"]), message_of("hello")
    request = Request.of(header, [message])
    header["config"]["stop"].append("b")
    message["content"].clear()
    assert request.header == _header(stop=["a"])
    assert request.messages == [message_of("hello")]
    with pytest.raises(NotLossless):
        Request.of(_header(temperature=float("nan")), [])
    with pytest.raises(NotLossless):
        Request.of(None, [{"id": {1, 2}}])


# --- what is logged before a request -------------------------------------------------------------


def test_the_logs_first_header_is_initial_also_in_a_later_lifetime() -> None:
    builder = LogBuilder()
    assert header_to_log(builder.log(), _header()) == "initial"
    builder.add("session/end-seed", {})
    assert header_to_log(builder.log(), _header(), first_of_lifetime=True) == "initial"


def test_a_new_lifetime_logs_its_header_even_where_it_is_equal() -> None:
    builder = LogBuilder()
    builder.header()
    builder.add("session/end-seed", {})
    assert header_to_log(builder.log(), _header()) == "resume"
    assert header_to_log(builder.log(), _header(model="n")) == "resume"
    builder.header("resume")
    assert header_to_log(builder.log(), _header()) is None


def test_the_caller_may_say_whether_a_lifetime_is_new() -> None:
    builder = LogBuilder()
    builder.header()
    assert header_to_log(builder.log(), _header(), True) == "resume"
    builder.add("session/end-seed", {})
    assert header_to_log(builder.log(), _header(), False) is None


def test_within_a_lifetime_only_an_unequal_header_is_logged() -> None:
    builder = LogBuilder()
    builder.header(system="s")
    assert header_to_log(builder.log(), _header(system="s", note=1)) is None
    assert header_to_log(builder.log(), _header(system="t")) == "change"


def test_a_header_to_log_needs_a_config() -> None:
    builder = LogBuilder()
    with pytest.raises(BadShape):
        header_to_log(builder.log(), {})
    builder.header()
    with pytest.raises(BadShape):
        header_to_log(builder.log(), {}, True)


@pytest.mark.parametrize(
    ("context", "logged"),
    [
        ({"provider": "p", "model": "m", "contextWindow": 5, "note": 2}, False),
        ({"provider": "p", "model": "m", "contextWindow": 5.0}, False),
        ({"provider": "q", "model": "m", "contextWindow": 5}, True),
        ({"provider": "p", "model": "n", "contextWindow": 5}, True),
        ({"provider": "p", "model": "m", "contextWindow": 6}, True),
        ({"provider": "p", "model": "m"}, True),
    ],
)
def test_a_context_is_logged_when_provider_model_or_capacity_changed(
    context: dict[str, Any], logged: bool
) -> None:
    builder = LogBuilder()
    builder.header()
    assert context_to_log(builder.log(), context)
    builder.add("request/context", {"provider": "p", "model": "m", "contextWindow": 5, "note": 1})
    assert context_to_log(builder.log(), context) is logged
    assert header_to_log(builder.log(), _header()) is None


# --- the request of a step -----------------------------------------------------------------------


@pytest.mark.parametrize("packed", [True, False])
def test_a_steps_request_holds_what_stood_just_before_its_first_chunk(packed: bool) -> None:
    builder = LogBuilder()
    builder.user("before")
    builder.begin()
    builder.user("inside the step")
    builder.header()
    first = builder.chunks(["a", "b", "c", "d"]) - 3
    builder.user("while it streams")
    builder.header("change", system="later")
    builder.answer()
    request = request_at(builder.log(packed=packed), 1, 1)
    assert request is not None
    assert _texts(request) == ["before", "inside the step"]
    assert (request.header, request.seq) == (_header(), first)


def test_a_call_without_chunks_begins_with_its_message_or_its_retry() -> None:
    builder = LogBuilder()
    builder.user("one")
    builder.begin()
    message = builder.answer()
    builder.begin(1, 2)
    builder.user("two")
    retry = builder.retry(1, 2, started=False)
    builder.user("three")
    builder.answer("late", 1, 2)
    log = builder.log()
    assert attempts(log, 1, 1) == (message,)
    assert attempts(log, 1, 2) == (retry,)
    assert _texts(request_at(log, 1, 2)) == ["one", "ok", "two"]


def test_a_call_that_streams_in_several_runs_begins_once() -> None:
    builder = LogBuilder()
    builder.begin()
    first = builder.chunks(["a", "b", "c"]) - 2
    builder.user("while it streams")
    builder.chunks(["d", "e", "f"])
    builder.answer()
    assert attempts(builder.log(packed=True), 1, 1) == (first,)
    assert attempts(builder.log(packed=False), 1, 1) == (first,)


def test_each_attempt_after_a_started_retry_has_its_own_request() -> None:
    builder = LogBuilder()
    asked = builder.user("a long question")
    builder.begin()
    first = builder.chunks(["Here is ", "the ", "plan"]) - 2
    builder.retry()
    operation = {"op": "replace", "start": asked, "end": asked}
    builder.user("a short one", surface=operation, sourceEventSeqs=[asked])
    builder.header("change", system="terse")
    second = builder.chunks(["Here is ", "the ", "plan"]) - 2
    builder.answer("Here is the plan")
    log = builder.log()
    assert attempts(log, 1, 1) == (first, second)
    assert _texts(request_at(log, 1, 1, 0)) == ["a long question"]
    assert _texts(request_at(log, 1, 1, 1)) == ["a short one"]
    last = request_at(log, 1, 1)
    assert last is not None
    assert (last.seq, last.header) == (second, _header(system="terse"))
    assert _texts(request_at(log, 1, 1, -2)) == ["a long question"]


def test_a_retry_that_made_no_call_is_no_attempt() -> None:
    builder = LogBuilder()
    builder.begin()
    first = builder.chunks(["a"])
    builder.retry()
    builder.retry(1, 2)
    builder.add("step/end", {"turn": 1, "step": 1})
    assert attempts(builder.log(), 1, 1) == (first,)


def test_a_step_or_attempt_that_made_no_call_has_no_request() -> None:
    builder = LogBuilder()
    builder.header()
    builder.begin()
    assert request_at(builder.log(), 1, 1) is None
    builder.answer()
    log = builder.log()
    assert request_at(log, 1, 1, 0) is not None
    assert request_at(log, 1, 1, -1) is not None
    assert request_at(log, 1, 1, 1) is None
    assert request_at(log, 1, 1, -2) is None
    assert request_at(log, 1, 2) is None
    assert request_at(log, 2, 1) is None


def test_a_step_is_named_by_value_and_true_is_not_one() -> None:
    builder = LogBuilder()
    builder.add("assistant/chunk", {"turn": True, "step": 1, "chunk": {"type": "finish"}})
    builder.add("assistant/chunk", None)
    named = builder.add("assistant/chunk", {"turn": 1.0, "step": 1, "chunk": {"type": "finish"}})
    assert attempts(builder.log(), 1, 1) == (named,)


# --- the request check ---------------------------------------------------------------------------


def _ready() -> LogBuilder:
    builder = LogBuilder()
    builder.user("one")
    builder.begin()
    builder.header(
        config={"provider": "p", "model": "m", "temperature": 0.5, "maxTokens": 9, "stop": ["a"]},
        system="s",
        tools=[_TOOL],
    )
    builder.user("two")
    return builder


def _sent(builder: LogBuilder, **config: Any) -> Request:
    full: dict[str, Any] = {"temperature": 0.5, "maxTokens": 9, "stop": ["a"]}
    full |= {"system": "s", "tools": [_TOOL]} | config
    present = {key: value for key, value in full.items() if value is not None}
    return Request.of(_header(**present), [message.value for message in messages(builder.log())])


def test_the_request_that_the_log_says_passes() -> None:
    builder = _ready()
    check_request(builder.log(), derived_request(builder.log()))
    check_request(builder.log(), _sent(builder))
    check_request(builder.log(), Request.of(_sent(builder).header, messages(builder.log())))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", "n"),
        ("system", "t"),
        ("system", None),
        ("temperature", 0.6),
        ("temperature", None),
        ("maxTokens", 8),
        ("stop", ["b"]),
        ("stop", None),
        ("tools", []),
        ("tools", [_TOOL, _TOOL]),
    ],
)
def test_a_request_that_asks_otherwise_is_stopped(field: str, value: Any) -> None:
    builder = _ready()
    with pytest.raises(RequestMismatch) as caught:
        check_request(builder.log(), _sent(builder, **{field: value}))
    assert caught.value.field == field
    assert caught.value.expected != caught.value.found


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda found: found[:-1], "2"),
        (lambda found: [*found, message_of("three")], "2"),
        (lambda found: found[::-1], "index 0"),
        (lambda found: [found[0], {**found[1], "content": []}], "event 4 at index 1"),
        (lambda found: [], "2"),
    ],
    ids=["one less", "one more", "other order", "other content", "none"],
)
def test_a_request_with_other_messages_is_stopped(
    change: Callable[[list[Any]], list[Any]], place: str
) -> None:
    builder = _ready()
    request = Request.of(_sent(builder).header, change(_sent(builder).messages))
    with pytest.raises(RequestMismatch) as caught:
        check_request(builder.log(), request)
    assert caught.value.field == "messages"
    assert place in caught.value.expected


def test_a_request_taken_before_an_append_is_stopped_after_it() -> None:
    builder = _ready()
    stale = derived_request(builder.log())
    builder.user("steering")
    with pytest.raises(RequestMismatch):
        check_request(builder.log(), stale)


def test_a_request_needs_a_step_and_a_header_in_the_log() -> None:
    builder = LogBuilder()
    builder.user("one")
    builder.header()
    with pytest.raises(RequestMismatch, match="step/start"):
        check_request(builder.log(), derived_request(builder.log()))
    builder = LogBuilder()
    builder.begin()
    with pytest.raises(RequestMismatch, match="request/header"):
        check_request(builder.log(), Request.of(_header(), []))


def test_a_request_without_a_header_is_stopped() -> None:
    builder = _ready()
    with pytest.raises(RequestMismatch) as caught:
        check_request(builder.log(), Request.of(None, messages(builder.log())))
    assert caught.value.field == "header"


def test_neither_a_mismatch_nor_a_request_shows_the_prompt() -> None:
    builder = _ready()
    assert repr(derived_request(builder.log())) == "Request(seq=5, messages=2)"
    with pytest.raises(RequestMismatch) as caught:
        check_request(builder.log(), _sent(builder, system="a secret"))
    assert "secret" not in str(caught.value)


# --- the cache of a provider ---------------------------------------------------------------------


def test_a_cache_serves_a_request_that_goes_on() -> None:
    short, long = [message_of("one")], [message_of("one"), message_of("two")]
    a, b = Request.of(_header(system="s"), short), Request.of(_header(system="s"), long)
    assert prefix_reusable(a, b)
    assert not prefix_reusable(b, a)
    assert not prefix_reusable(b, Request.of(_header(system="s"), [message_of("two"), *long]))
    assert prefix_reusable(Request.of(_header(system="s"), []), b)


@pytest.mark.parametrize("field", ["provider", "model", "system", "tools"])
def test_a_cache_does_not_serve_another_route_or_prompt(field: str) -> None:
    other = {"tools": [_TOOL]} if field == "tools" else {field: "other"}
    assert not prefix_reusable(Request.of(_header(), []), Request.of(_header(**other), []))


def test_a_cache_serves_another_temperature() -> None:
    assert prefix_reusable(Request.of(_header(), []), Request.of(_header(temperature=1), []))


def test_a_request_without_a_header_shares_no_cache_with_one_that_has() -> None:
    assert prefix_reusable(Request.of(None, []), Request.of(None, []))
    assert not prefix_reusable(Request.of(None, []), Request.of(_header(), []))
    assert not prefix_reusable(Request.of(_header(), []), Request.of(None, []))


# --- laws ----------------------------------------------------------------------------------------


def _values(request: Request) -> Any:
    return request.header, request.context, request.messages


@settings(max_examples=60)
@given(any_logs())
def test_the_fold_of_each_prefix_is_the_state_at_its_end(log: Log) -> None:
    fold = RequestFold()
    for end, event in enumerate(log.events(), 1):
        fold.fold(event)
        prefix = log.prefix(end)
        incremental = fold.request(messages(log, end), end)
        scratch = derived_request(prefix)
        at_end = derived_request(log, end)
        assert _values(incremental) == _values(scratch) == _values(at_end)
        assert incremental.seq == scratch.seq == at_end.seq == end
        assert fold.header_to_log(_header()) == header_to_log(prefix, _header())


@settings(max_examples=60)
@given(random_logs(), st.integers(0, 5))
def test_log_only_events_change_no_request(builder: LogBuilder, pick: int) -> None:
    before = derived_request(builder.log())
    known = attempts(builder.log(), pick, 1)
    builder.add("plugin/noise", {"header": _header(model="other"), "turn": pick, "step": 1})
    builder.add("todo/write", {"todos": []})
    builder.splice("next-turn", 0, 0, [message_of("queued", id="noise")])
    after = derived_request(builder.log())
    assert _values(after) == _values(before)
    assert attempts(builder.log(), pick, 1) == known
    assert prefix_reusable(before, after)
    assert prefix_reusable(after, before)


@settings(max_examples=60)
@given(random_logs())
def test_a_request_serves_itself_and_passes_its_own_check(builder: LogBuilder) -> None:
    builder.begin()
    builder.header()
    log = builder.log()
    request = derived_request(log)
    assert prefix_reusable(request, request)
    check_request(log, request)
    check_request(log, Request.of(request.header, request.messages))


def _attempts_one_by_one(log: Log, turn: int, step: int) -> tuple[int, ...]:
    """The same answer by looking at the events of one step at a time."""
    named: list[tuple[int, str]] = []
    for event in log.events():
        data = event.data
        if type(data) is dict and (data.get("turn"), data.get("step")) == (turn, step):
            named.append((event.seq, event.type))
    calls = ("assistant/chunk", "assistant/message", "llm/retry")
    starts = [0, *(seq for seq, name in named if name == "llm/retry-started")]
    firsts = [
        min((s for s, name in named if s >= start and name in calls), default=-1)
        for start in starts
    ]
    return tuple(sorted({seq for seq in firsts if seq >= 0}))


@settings(max_examples=100)
@given(random_logs(), st.integers(0, 3), st.integers(0, 3))
def test_attempts_of_packed_and_plain_logs_are_those_of_the_events(
    builder: LogBuilder, turn: int, step: int
) -> None:
    expected = _attempts_one_by_one(builder.log(packed=False), turn, step)
    assert attempts(builder.log(packed=False), turn, step) == expected
    assert attempts(builder.log(), turn, step) == expected
    for index, seq in enumerate(expected):
        request = request_at(builder.log(), turn, step, index)
        assert request is not None
        assert _values(request) == _values(derived_request(builder.log(end=seq)))
