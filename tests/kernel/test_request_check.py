"""The check of a request at dispatch, and whether a provider's cache serves it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from tests.kernel.log_builder import LogBuilder, header_of, message_of, random_logs
from turnlog.events.errors import RequestMismatch
from turnlog.kernel.messages import messages
from turnlog.kernel.request import Request, check_request, derived_request, prefix_reusable

_TOOL = {"name": "read", "parameters": {"type": "object", "properties": {}}}


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
    return Request.of(header_of(**present), [message.value for message in messages(builder.log())])


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
    ("field", "value", "expected", "found"),
    [("temperature", 0.6, "0.5", "0.6"), ("maxTokens", None, "9", "none")],
)
def test_a_mismatch_shows_both_values(field: str, value: Any, expected: str, found: str) -> None:
    builder = _ready()
    with pytest.raises(RequestMismatch) as caught:
        check_request(builder.log(), _sent(builder, **{field: value}))
    assert (caught.value.expected, caught.value.found) == (expected, found)


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
    with pytest.raises(RequestMismatch) as caught:
        check_request(builder.log(), derived_request(builder.log()))
    assert caught.value.field == "step/start"
    builder = LogBuilder()
    builder.begin()
    with pytest.raises(RequestMismatch) as caught:
        check_request(builder.log(), Request.of(header_of(), []))
    assert caught.value.field == "request/header"


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


def test_a_cache_serves_a_request_that_goes_on() -> None:
    short, long = [message_of("one")], [message_of("one"), message_of("two")]
    a, b = Request.of(header_of(system="s"), short), Request.of(header_of(system="s"), long)
    assert prefix_reusable(a, b)
    assert not prefix_reusable(b, a)
    assert not prefix_reusable(b, Request.of(header_of(system="s"), [message_of("two"), *long]))
    assert prefix_reusable(Request.of(header_of(system="s"), []), b)


@pytest.mark.parametrize("field", ["provider", "model", "system", "tools"])
def test_a_cache_does_not_serve_another_route_or_prompt(field: str) -> None:
    other = {"tools": [_TOOL]} if field == "tools" else {field: "other"}
    assert not prefix_reusable(Request.of(header_of(), []), Request.of(header_of(**other), []))


def test_a_cache_serves_another_temperature() -> None:
    assert prefix_reusable(Request.of(header_of(), []), Request.of(header_of(temperature=1), []))


def test_a_request_without_a_header_shares_no_cache_with_one_that_has() -> None:
    assert prefix_reusable(Request.of(None, []), Request.of(None, []))
    assert not prefix_reusable(Request.of(None, []), Request.of(header_of(), []))
    assert not prefix_reusable(Request.of(header_of(), []), Request.of(None, []))


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


def test_a_mismatch_of_a_deep_value_is_shown_without_a_call_stack() -> None:
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    builder = _ready()
    with pytest.raises(RequestMismatch) as caught:
        check_request(builder.log(), _sent(builder, stop=deep))
    assert caught.value.field == "stop"
