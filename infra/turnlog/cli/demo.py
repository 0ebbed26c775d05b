"""The demo: a scripted agent through real sessions on Kafka, killed, resumed, forked, verified."""

from __future__ import annotations

import os
import time
import uuid
from typing import NamedTuple

from turnlog.broker import DEFAULT_NAMESPACE, ensure_topics
from turnlog.broker.bootstrap import CLUSTER_VARIABLE, named_cluster
from turnlog.events import Event, OwnershipError
from turnlog.kernel import Log, repair
from turnlog.log import KafkaSettings, KafkaStore, partition_of
from turnlog.session import SessionStore

from .cluster import reach
from .demo_checks import NOT_SHOWN, Check, Evidence, check_child, check_session, gather
from .demo_child import Child
from .demo_process import IN_TOOL, fork_of
from .demo_text import heading, one_line, say
from .demo_views import show_lineage, show_repair, show_requests, show_transcript, steps
from .exit_codes import EXIT_CODES
from .safe_text import safe

__all__ = ["run_demo"]


class _Clock:
    """Seconds since the demo began to work; Kafka's start is not its own."""

    def __init__(self) -> None:
        self._start_s = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._start_s


class _Told(NamedTuple):
    """What was durable when the agent was killed."""

    crashed: Log
    last: Event


def run_demo(namespace: str = DEFAULT_NAMESPACE) -> bool:
    """Play the demo and print it; tells whether all that it checked is as it should be.

    Its other processes write two sessions; this one only reads. Raises ChildFailed, DataError,
    BrokerError, and what `ensure_topics` raises.
    """
    clock = _Clock()
    server = _kafka()
    settings = KafkaSettings(bootstrap=server, namespace=namespace)
    partitions = ensure_topics(settings.bootstrap, settings.namespace).meta.layouts[0]
    session_id = f"demo-{uuid.uuid4().hex[:8]}"
    print(f"Kafka answers at {server} after {clock.elapsed_s:.1f} s.")
    print(
        f"Session {session_id}: partition {partition_of(session_id, partitions)} of "
        f"{settings.events_topic}."
    )
    clock = _Clock()
    with KafkaStore(settings) as store:
        told = _play(store, settings, session_id, clock)
        log, fork = store.read(session_id), store.read(fork_of(session_id))
        _show(log, fork, told, clock)
        own = gather(settings, session_id, partitions)
        child = gather(settings, fork.header.id, partitions)
    return _verify(log, fork, told, own, child, clock)


def _kafka() -> str:
    cluster = named_cluster(os.environ)
    if cluster is None:
        print("Starting the embedded Kafka; the first start downloads it (45 MB) ...", flush=True)
    else:
        print(f"Connecting to {safe(cluster)}, as {CLUSTER_VARIABLE} says ...", flush=True)
    return reach(os.environ)


def _play(store: SessionStore, settings: KafkaSettings, session_id: str, clock: _Clock) -> _Told:
    """Have the other processes do what happens."""
    heading("1. An agent works, in a process of its own", clock.elapsed_s)
    with Child("begin", settings, session_id) as agent:
        agent.show(until=IN_TOOL)
        heading("2. A second process tries to write to the same session", clock.elapsed_s)
        with Child("intrude", settings, session_id) as intruder:
            intruder.expect(EXIT_CODES[OwnershipError])
        heading("3. The agent is killed inside its tool", clock.elapsed_s)
        agent.kill()
    say("SIGKILL", f"to process {agent.pid}; no flush, no farewell")
    crashed = store.read(session_id)
    told = _Told(crashed, next(crashed.events(crashed.next_seq - 1)))
    say(
        "in Kafka",
        f"{crashed.next_seq} events; the last is {told.last.type}: the call was durable before "
        "the tool began, its result is not there",
    )
    heading("4. A new process takes over, goes on, and forks", clock.elapsed_s)
    with Child("go-on", settings, session_id) as successor:
        successor.expect(0)
    print("\nThe rest is read back from Kafka by this process, which wrote none of it.")
    return told


def _show(log: Log, fork: Log, told: _Told, clock: _Clock) -> None:
    heading("Transcript: all that happened, by event numbers", clock.elapsed_s)
    show_transcript(log)
    heading("What the model saw at each step", clock.elapsed_s)
    show_requests(log)
    heading("The repair, appended when the session was taken over", clock.elapsed_s)
    start = told.crashed.next_seq
    show_repair(log.events(start, start + len(repair(told.crashed)) + 1))
    heading("The lineage, and the fork's own part", clock.elapsed_s)
    show_lineage([log, fork])
    show_transcript(fork, fork.header.seed_length or 0)
    inherited = steps(fork.prefix(fork.header.seed_length or 0))
    show_requests(fork, since_step=inherited[-1] if inherited else None)


def _verify(
    log: Log, fork: Log, told: _Told, own: Evidence, child: Evidence, clock: _Clock
) -> bool:
    heading("Verification, by the records of the partitions alone", clock.elapsed_s)
    checks: list[Check] = []
    for evidence, read in ((own, log), (child, fork)):
        counts = ", ".join(f"{count} {kind.value}" for kind, count in evidence.verdicts.items())
        say("session", evidence.session_id)
        one_line("", f"partition {evidence.partition}, all of its records: {counts}")
        found = check_session(evidence, read)
        found.append(_check_repair(log, told) if evidence is own else check_child(child, own))
        for check in found:
            one_line(check.name, f"{'ok' if check.ok else 'WRONG':<6}{check.found}")
        checks += found
    say("not shown", f"what no chain without a key can show: {', '.join(NOT_SHOWN)}")
    wrong = sum(not check.ok for check in checks)
    print(
        f"\n{len(checks)} checks, {wrong} wrong; {clock.elapsed_s:.1f} s since Kafka answered.",
        flush=True,
    )
    return not wrong


def _check_repair(log: Log, told: _Told) -> Check:
    """The events after the crash are those that the pure repair of the crashed log plans."""
    plan = repair(told.crashed)
    start = told.crashed.next_seq
    made = list(log.events(start, start + len(plan)))
    ok = [(each.type, each.data) for each in plan] == [(each.type, each.data) for each in made]
    return Check("repair", ok, f"events {start} to {start + len(plan) - 1} are as planned")
