"""`turnlog replay`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

import typer

from turnlog.cli.app import app
from turnlog.cli.arguments import time_text
from turnlog.cli.command import Run, command
from turnlog.cli.output import Column
from turnlog.cli.replay_text import Pacer, SessionPlayer
from turnlog.events import Kind, check_body
from turnlog.log import FromOffset, FromTime, KafkaReader, KafkaSettings, LogRecord, PartitionLog

__all__: list[str] = []

_COLUMNS = (
    Column("place", 12),
    Column("time", 24),
    Column("session", 24),
    Column("verdict", 9),
    Column("what", None),
)


@command(app, reads=True)
def replay(
    run: Run,
    session: Annotated[
        str | None, typer.Argument(metavar="[SESSION]", help="The session; without, the log.")
    ] = None,
    seq: Annotated[int, typer.Option(min=0, help="The first seq of the session.")] = 0,
    offset: Annotated[
        str | None, typer.Option(metavar="PARTITION:OFFSET", help="Where in the log to begin.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="When in the log to begin: ISO 8601, UTC where it says no zone."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes.")] = False,
    speed: Annotated[
        float | None,
        typer.Option(min=0.001, help="Play at the recorded pace, so many times as fast."),
    ] = None,
) -> None:
    """Play a session again as it came about, its streams growing as they did; or the log.

    A session begins at a seq. The log begins at an offset of one partition, or in all of them at a
    time. By default it goes as fast as it can. With --json each event of a session is as it is
    stored; each record of the log has partition, offset, time, session, verdict, reason, kind,
    firstSeq, and events.

    Example: turnlog replay SESSION --speed 1 --follow
    """
    if session is None:
        _play_log(run, offset, time, follow=follow)
    elif offset is not None or time is not None:
        raise typer.BadParameter("--offset and --time are of the log, without a SESSION")
    else:
        _play_session(run, session, seq, Pacer(speed), follow=follow)


def _play_session(run: Run, session: str, seq: int, pacer: Pacer, *, follow: bool) -> None:
    with run.reader() as reader:
        log = reader.read(session)
        player = SessionPlayer(run.out, log.header)
        try:
            for event in log.events(seq):
                pacer.wait(event.time_ms)
                player.play(event)
            if follow and isinstance(reader, KafkaReader):
                for events in reader.follow(session, max(seq, log.next_seq)):
                    for event in events:
                        player.play(event)
        finally:
            player.end()


def _play_log(run: Run, offset: str | None, time: str | None, *, follow: bool) -> None:
    if (offset is None) == (time is None):
        raise typer.BadParameter("give a SESSION, or --offset PARTITION:OFFSET, or --time")
    settings = run.settings()
    if offset is not None:
        partition, start = _place(offset)
        logs = [PartitionLog(settings, partition, FromOffset(start))]
    else:
        logs = _from_time(settings, _time_ms(time or ""))
    try:
        records = _records(logs, follow=follow)
        if run.out.as_json:
            for record in records:
                run.out.json(_value(record))
        else:
            run.out.table(_COLUMNS, map(_cells, records))
    finally:
        for log in logs:
            log.close()


def _from_time(settings: KafkaSettings, time_ms: int) -> list[PartitionLog]:
    with KafkaReader(settings) as reader:
        partitions = reader.partitions
    return [PartitionLog(settings, each, FromTime(time_ms)) for each in range(partitions)]


def _records(logs: list[PartitionLog], *, follow: bool) -> Iterator[LogRecord]:
    """What is there, partition by partition, then what comes."""
    for log in logs:
        yield from log.records(learn=True)
    while follow:
        for log in logs:
            yield from log.poll(0.2 / len(logs), learn=True)


def _place(text: str) -> tuple[int, int]:
    partition, _, offset = text.partition(":")
    if not (partition.isdecimal() and offset.isdecimal()):
        raise typer.BadParameter(f"--offset: expected PARTITION:OFFSET, found {text!r}")
    return int(partition), int(offset)


def _time_ms(text: str) -> int:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"--time: expected ISO 8601, found {text!r}") from None
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def _cells(record: LogRecord) -> tuple[object, ...]:
    verdict, commit = record.verdict, record.verdict.commit
    what = verdict.reason
    if commit is not None and verdict.accepted:
        what = commit.kind.value
        if commit.kind is Kind.EVENTS:
            types = ", ".join(dict.fromkeys(row_type for row_type in _types(record)))
            what = f"{commit.first_seq}-{commit.next_seq - 1} {types}"
    place = f"{record.partition}:{record.offset}"
    return place, time_text(record.time_ms), verdict.session_id, verdict.kind.value, what


def _types(record: LogRecord) -> Iterator[str]:
    commit = record.verdict.commit
    if commit is not None:
        for row in check_body(commit):
            yield from (event.type for event in row.events())


def _value(record: LogRecord) -> dict[str, object]:
    verdict, commit = record.verdict, record.verdict.commit
    value: dict[str, object] = {
        "partition": record.partition,
        "offset": record.offset,
        "time": record.time_ms,
        "session": verdict.session_id,
        "verdict": verdict.kind.value,
        "reason": verdict.reason,
        "kind": None if commit is None else commit.kind.value,
        "firstSeq": None if commit is None else commit.first_seq,
        "events": [],
    }
    if commit is not None and verdict.accepted and commit.kind is Kind.EVENTS:
        rows = check_body(commit)
        value["events"] = [event.to_json() for row in rows for event in row.events()]
    return value
