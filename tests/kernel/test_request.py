"""The request that a log says: header and context in force, and what is logged before it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernel.log_builder import LogBuilder, any_logs, header_of, message_of, random_logs
from turnlog.events.errors import BadShape, MissingField, NotLossless
from turnlog.kernel.attempts import attempts
from turnlog.kernel.log import Log
from turnlog.kernel.messages import messages
from turnlog.kernel.request import (
    Request,
    RequestFold,
    context_to_log,
    derived_request,
    header_to_log,
    prefix_reusable,
)

_TOOL = {"name": "read", "parameters": {"type": "object", "properties": {}}}


def test_the_latest_header_and_context_are_in_force() -> None:
    builder = LogBuilder()
    builder.header(system="old")
    builder.add("request/context", {"provider": "p", "model": "m", "contextWindow": 5, "note": 1})
    builder.header("change", system="new", tools=[])
    builder.add("request/context", {"provider": "q", "model": "m", "note": 2})
    request = derived_request(builder.log())
    assert request.header == header_of(system="new")
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
    assert caught.value.field in ("data.header", "data.header.config")
    builder.header()
    assert derived_request(builder.log()).header == header_of()


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
    header, message = header_of(stop=["a"]), message_of("hello")
    request = Request.of(header, [message])
    header["config"]["stop"].append("b")
    message["content"].clear()
    assert request.header == header_of(stop=["a"])
    assert request.messages == [message_of("hello")]
    with pytest.raises(NotLossless):
        Request.of(header_of(temperature=float("nan")), [])
    with pytest.raises(NotLossless):
        Request.of(None, [{"id": {1, 2}}])


def test_the_logs_first_header_is_initial_also_in_a_later_lifetime() -> None:
    builder = LogBuilder()
    assert header_to_log(builder.log(), header_of()) == "initial"
    builder.add("session/end-seed", {})
    assert header_to_log(builder.log(), header_of(), first_of_lifetime=True) == "initial"


def test_a_new_lifetime_logs_its_header_even_where_it_is_equal() -> None:
    builder = LogBuilder()
    builder.header()
    builder.add("session/end-seed", {})
    assert header_to_log(builder.log(), header_of()) == "resume"
    assert header_to_log(builder.log(), header_of(model="n")) == "resume"
    builder.header("resume")
    assert header_to_log(builder.log(), header_of()) is None


def test_the_caller_may_say_whether_a_lifetime_is_new() -> None:
    builder = LogBuilder()
    builder.header()
    assert header_to_log(builder.log(), header_of(), True) == "resume"
    builder.add("session/end-seed", {})
    assert header_to_log(builder.log(), header_of(), False) is None


def test_within_a_lifetime_only_an_unequal_header_is_logged() -> None:
    builder = LogBuilder()
    builder.header(system="s")
    assert header_to_log(builder.log(), header_of(system="s", note=1)) is None
    assert header_to_log(builder.log(), header_of(system="t")) == "change"


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
    assert header_to_log(builder.log(), header_of()) is None


def test_a_capacity_of_null_is_not_one_that_is_absent() -> None:
    absent = {"provider": "p", "model": "m"}
    null = {**absent, "contextWindow": None}
    for known, new in ((absent, null), (null, absent)):
        builder = LogBuilder()
        builder.add("request/context", known)
        assert context_to_log(builder.log(), new)
        assert not context_to_log(builder.log(), known)


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
        assert fold.header_to_log(header_of()) == header_to_log(prefix, header_of())


@settings(max_examples=60)
@given(random_logs(), st.integers(0, 5))
def test_log_only_events_change_no_request(builder: LogBuilder, pick: int) -> None:
    before = derived_request(builder.log())
    known = attempts(builder.log(), pick, 1)
    builder.add("plugin/noise", {"header": header_of(model="other"), "turn": pick, "step": 1})
    builder.add("todo/write", {"todos": []})
    builder.splice("next-turn", 0, 0, [message_of("queued", id="noise")])
    after = derived_request(builder.log())
    assert _values(after) == _values(before)
    assert attempts(builder.log(), pick, 1) == known
    assert prefix_reusable(before, after)
    assert prefix_reusable(after, before)
