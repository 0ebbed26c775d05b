"""Restore: check a stored log and rebuild the state of its session (semantics.md section 8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from turnlog.events.error_text import shown
from turnlog.events.errors import (
    BadRow,
    BadShape,
    BrokenLog,
    RestoreRefused,
    SurfaceRefused,
    UnknownRequiredType,
)
from turnlog.events.event import ENVELOPE_KEYS, Event, event_of_value
from turnlog.events.gate import is_seq
from turnlog.events.header import Header
from turnlog.events.jsontext import loads
from turnlog.events.rows import Row
from turnlog.events.shapes import check_stored_shape
from turnlog.events.vocabulary import LEGACY_TYPES, Registry

from .log import Log, RowLog
from .state import SessionState

__all__ = ["END_SEED", "RestoreFold", "Restored", "check_known", "restore"]

END_SEED = "session/end-seed"


class Restored(msgspec.Struct):
    """A checked log and its state, before anything is appended to it.

    `first_live_seq` is the length of the log; `needs_end_seed` says whether restore ends by
    appending one. The growing parts belong to the caller.
    """

    header: Header
    rows: RowLog
    state: SessionState
    first_live_seq: int
    needs_end_seed: bool

    @property
    def log(self) -> Log:
        """The restored log as it stands now."""
        return self.rows.log(self.header)


def restore(
    header: Any, rows: Iterable[Row], registry: Registry | None = None, *, id: str | None = None
) -> Restored:
    """Check a stored header and log in full and rebuild the state; streams, and keeps packed rows.

    `header` is a Header or its JSON; `id` the session asked for. With a registry, a required type
    that it does not know is refused too, as the store that resumes does. Appends nothing.

    Raises RestoreRefused with the index of the first event at fault (None: the header), and
    UnknownRequiredType.
    """
    if not isinstance(header, Header):
        try:
            header = Header.of(header, id=id)
        except BadShape as error:
            raise RestoreRefused(None, str(error)) from None
    elif id is not None and header.id != id:
        raise RestoreRefused(None, f"expected id {shown(id)}, found {shown(header.id)}")
    fold = RestoreFold(registry)
    kept: list[Row] = []
    try:
        for row in rows:
            fold.fold(row)
            kept.append(row)
    except (BadRow, BrokenLog) as error:  # by whoever reads the rows
        raise RestoreRefused(fold.state.next_seq, str(error)) from error
    if fold.unknown is not None:
        raise UnknownRequiredType(*fold.unknown)
    next_seq = fold.state.next_seq
    return Restored(header, RowLog(kept), fold.state, next_seq, fold.last_type != END_SEED)


class RestoreFold:
    """The checks of restore row by row, and the state that they build; keeps no row.

    `last_type` is the type of the last event, empty for chunks of a packed row; `unknown` type and
    seq of the first required event that the registry does not know, where there is a registry. What
    a refusal names is as far as the fold goes: fold no more after it.
    """

    def __init__(self, registry: Registry | None = None) -> None:
        self.state = SessionState()
        self.last_type = ""
        self.unknown: tuple[str, int] | None = None
        self._registry = registry

    def fold(self, row: Row) -> None:
        """Check the next row. Raises RestoreRefused with the index of the event at fault."""
        state, registry = self.state, self._registry
        try:
            if row.packed:
                if row.first_seq != state.next_seq:
                    raise BadShape("seq0", str(state.next_seq), str(row.first_seq))
                state.skip(row.count)
                self.last_type = ""
                return
            event = _checked_event(row)
            state.apply(event)
        except (BadRow, BadShape, BrokenLog, SurfaceRefused) as error:
            raise RestoreRefused(state.next_seq, str(error)) from error
        self.last_type = event.type
        if self.unknown is None and registry is not None and _is_unknown(event, registry):
            self.unknown = (event.type, event.seq)


def check_known(log: Log, registry: Registry) -> None:
    """Check that a log has no required event of a type unknown to the registry.

    Raises UnknownRequiredType naming the first.
    """
    for row in log.rows:
        if not row.packed:
            for event in row.events():
                if _is_unknown(event, registry):
                    raise UnknownRequiredType(event.type, event.seq)


def _is_unknown(event: Event, registry: Registry) -> bool:
    return not event.ignorable and not registry.knows(event.type)


def _checked_event(row: Row) -> Event:
    """Check the envelope and the stored shape of one event row."""
    value = loads(row.text)
    event = event_of_value(value, row.text)
    if not value.keys() <= ENVELOPE_KEYS:
        raise BadShape(
            "event", "the keys of the envelope", shown(min(value.keys() - ENVELOPE_KEYS))
        )
    if "data" not in value:
        raise BadShape("data", "a value", "nothing")
    if not is_seq(value["seq"]):
        raise BadShape("seq", "a non-negative integer", shown(value["seq"]))
    if "ignorable" in value and value["ignorable"] is not True:
        raise BadShape("ignorable", "true or absent", shown(value["ignorable"]))
    for key in ("surfaceOp", "sourceEventSeqs"):
        if key in value and value[key] is None:
            raise BadShape(key, "an operation or nothing", "null")
    if event.type in LEGACY_TYPES:
        raise BadShape("type", "a supported type", f"the older form {shown(event.type)}")
    check_stored_shape(event.type, value["data"])
    return event
