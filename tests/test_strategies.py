"""The shared strategies give what they say: sound logs are sound, broken ones break where told."""

from random import Random

import pytest
from hypothesis import given, settings

from tests.broken_logs import BREAKERS, Broken
from tests.log_writer import Value
from tests.strategies import AgentLog, agent_log, agent_logs, broken_logs, events_of
from turnlog.events.errors import RestoreRefused
from turnlog.events.rows import event_row, pack
from turnlog.events.vocabulary import Registry
from turnlog.kernel.inbox import inbox
from turnlog.kernel.invariants import breaches
from turnlog.kernel.log import Log
from turnlog.kernel.repair import repair
from turnlog.kernel.restore import restore
from turnlog.kernel.view_check import view_breaches


def log_of(header: object, values: list[Value]) -> Log:
    return Log(header, tuple(map(event_row, values)))  # type: ignore[arg-type]


@settings(max_examples=60)
@given(agent_logs(150))
def test_an_agents_log_is_sound(log: AgentLog) -> None:
    restored = restore(log.header, log.rows, Registry())
    whole = restored.log
    assert whole.next_seq == len(log.drafts)
    assert breaches(whole) == []
    assert view_breaches(whole) == []
    assert repair(whole) == []
    inbox(whole)


@settings(max_examples=150)
@given(broken_logs())
def test_a_broken_log_breaks_its_rule_at_its_event(broken: Broken) -> None:
    rows = list(pack(events_of(broken.values)))
    if broken.refused:
        with pytest.raises(RestoreRefused) as refused:
            restore(broken.header, rows)
        assert refused.value.index == broken.at, broken.rule
    else:
        log = restore(broken.header, rows).log
        assert breaches(log)[0].seq == broken.at, broken.rule


@pytest.mark.parametrize("rule", sorted(BREAKERS))
def test_every_breaker_finds_a_place_in_a_long_log(rule: str) -> None:
    log = agent_log(600, seed=7)
    assert BREAKERS[rule](log.values, Random(1)) is not None
