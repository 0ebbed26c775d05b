"""Event traces: replaces and citations, both ways."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from tests.kernel.turn_logs import call, chunk, log_of, other, packed, result, sound_logs, user
from tests.kernel.view_logs import splits, view_logs
from turnlog.events.errors import BadShape
from turnlog.kernel.log import Log
from turnlog.kernel.surface import surface_of
from turnlog.kernel.surface_history import SurfaceState
from turnlog.kernel.trace import EventTraces, trace_event


def test_a_replaced_event_names_the_next_replace_and_the_chain_to_the_last() -> None:
    log = log_of(user("a"), user("b"), user("s1", over=(0, 1)), user("s2", over=(2,)))
    trace = trace_event(log, 0)
    assert trace.surface is SurfaceState.SHADOWED
    assert (trace.replaced_by, trace.replacement_chain) == (2, (2, 3))
    assert trace_event(log, 2).replacement_chain == (3,)
    assert trace_event(log, 3).surface is SurfaceState.CURRENT


def test_what_a_replace_shadowed_is_in_surface_order() -> None:
    # The summary 3 stands before 2, so the range from 3 to 2 is in order.
    log = log_of(user("a"), user("b"), user("c"), user("s", over=(0, 1)), user("t", over=(3, 2)))
    assert trace_event(log, 4).replaced_event_seqs == (3, 2)
    assert trace_event(log, 4).source_event_seqs == (2, 3)
    assert trace_event(log, 0).replaced_event_seqs == ()


def test_citations_are_followed_both_ways() -> None:
    cited = {**result(), "sourceEventSeqs": [1, 0]}
    log = log_of(chunk(), call(), cited, {**user(), "sourceEventSeqs": [1]})
    assert trace_event(log, 2).source_event_seqs == (1, 0)
    assert trace_event(log, 1).derived_event_seqs == (2, 3)
    assert trace_event(log, 0).derived_event_seqs == (2,)
    assert trace_event(log, 0).surface is SurfaceState.LOG_ONLY


def test_sources_are_as_recorded_and_only_later_events_derive() -> None:
    log = log_of({**user("a"), "sourceEventSeqs": [0, 1, 1, "x", True, 2.0]}, user("b"))
    assert trace_event(log, 0).source_event_seqs == (0, 1, 1, 2)
    assert trace_event(log, 1).derived_event_seqs == ()
    assert trace_event(log, 0).derived_event_seqs == ()


def test_an_event_that_cites_twice_derives_once() -> None:
    log = log_of(user("a"), {**user("b"), "sourceEventSeqs": [0, 0]})
    assert trace_event(log, 0).derived_event_seqs == (1,)


def test_a_log_only_event_with_a_surface_operation_is_log_only() -> None:
    operation = {"op": "replace", "start": 0, "end": 0}
    log = log_of(user("a"), {**other("vendor/x"), "surfaceOp": operation, "sourceEventSeqs": [0]})
    assert trace_event(log, 0).surface is SurfaceState.CURRENT
    assert trace_event(log, 0).derived_event_seqs == (1,)
    assert trace_event(log, 1).surface is SurfaceState.LOG_ONLY


@pytest.mark.parametrize("seq", [-1, 4, 2**60, 0.5, True, "0", None])
def test_a_seq_that_the_log_does_not_have_is_refused(seq: Any) -> None:
    log = packed(log_of(chunk(), chunk(), chunk(), chunk()))
    assert trace_event(log, 3).seq == 3
    with pytest.raises(BadShape) as caught:
        trace_event(log, seq)
    assert (caught.value.field, caught.value.expected) == ("seq", "a seq below 4")


def test_the_refusal_shows_the_seq_that_was_asked_for() -> None:
    with pytest.raises(BadShape) as caught:
        trace_event(log_of(user("a"), user("b")), 2)
    assert (caught.value.expected, caught.value.found) == ("a seq below 2", "2")


def test_an_empty_log_has_no_trace() -> None:
    with pytest.raises(BadShape):
        EventTraces().trace(0)


def test_the_json_form_names_every_part() -> None:
    log = log_of(user("a"), user("s", over=(0,)))
    assert [trace_event(log, seq).to_json() for seq in (0, 1)] == [
        {
            "surface": "shadowed",
            "replacedBy": 1,
            "replacementChain": [1],
            "replacedEventSeqs": [],
            "sourceEventSeqs": [],
            "derivedEventSeqs": [1],
        },
        {
            "surface": "current",
            "replacedBy": None,
            "replacementChain": [],
            "replacedEventSeqs": [0],
            "sourceEventSeqs": [0],
            "derivedEventSeqs": [],
        },
    ]


@settings(max_examples=100)
@given(view_logs())
def test_the_fold_at_every_split_is_that_of_the_log_up_to_there(log: Log) -> None:
    traces = EventTraces()
    events = log.events()
    for length, prefix in splits(log):
        whole = EventTraces(prefix)
        for seq in range(length):
            assert traces.trace(seq) == whole.trace(seq)
        for event in events:
            traces.fold(event)
            break


@settings(max_examples=100)
@given(sound_logs())
def test_replaces_and_citations_agree_with_the_surface_and_with_each_other(log: Log) -> None:
    traces = [EventTraces(log).trace(seq) for seq in range(log.next_seq)]
    nodes = surface_of(log).nodes
    for trace in traces:
        assert (trace.surface is SurfaceState.CURRENT) == (trace.seq in nodes)
        assert (trace.surface is SurfaceState.SHADOWED) == (trace.replaced_by is not None)
        assert all(traces[seq].replaced_by == trace.seq for seq in trace.replaced_event_seqs)
        assert all(trace.seq in traces[seq].derived_event_seqs for seq in trace.source_event_seqs)
        assert all(trace.seq in traces[seq].source_event_seqs for seq in trace.derived_event_seqs)
        if trace.replaced_by is not None:
            assert trace.seq in traces[trace.replaced_by].replaced_event_seqs
            after = traces[trace.replaced_by].replacement_chain
            assert trace.replacement_chain == (trace.replaced_by, *after)
