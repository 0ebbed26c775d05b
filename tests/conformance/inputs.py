"""Inputs of a case as turnlog's objects: header, rows, logs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from turnlog.events.errors import BadShape
from turnlog.events.header import Header
from turnlog.events.rows import Row, event_row, expand, pack, parse_row
from turnlog.kernel.log import Log

from .cases import Case

__all__ = ["events_of", "header_of", "log_of", "logs_of", "rows_of"]


def rows_of(case: Case) -> Iterator[Row]:
    """Give the rows as they are stored: each event a row, or the records of a recorded file."""
    if "records" in case.inputs:
        for record in case.inputs["records"]:
            yield parse_row(json.dumps(record).encode())
    else:
        for event in case.inputs["events"]:
            yield event_row(event)


def events_of(case: Case) -> list[Any]:
    """Give the events as JSON; the packed rows of a recorded file are expanded by turnlog."""
    if "records" in case.inputs:
        return [event.to_json() for event in expand(rows_of(case))]
    events: list[Any] = case.inputs["events"]
    return events


def header_of(case: Case) -> Header:
    """Give the header; where it is one that restore refuses, a plain one for the views."""
    try:
        return Header.of(case.inputs["header"])
    except BadShape:
        return Header.new("view", 0)


@cache  # the ops of a case ask for the same, and rows are immutable
def log_of(case: Case) -> Log:
    """Give the log as it is stored, unchecked."""
    return Log(header_of(case), tuple(rows_of(case)))


@cache
def logs_of(case: Case) -> dict[str, Log]:
    """Give the log in both of its forms, by name: with runs of chunks packed, and without."""
    stored = log_of(case)
    plain = tuple(event_row(event.to_json()) for event in expand(stored.rows))
    return {
        "plain rows": Log(stored.header, plain),
        "packed rows": Log(stored.header, tuple(pack(expand(plain)))),
    }
