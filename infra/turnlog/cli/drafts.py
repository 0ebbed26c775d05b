"""Drafts as lines of JSON: what `turnlog append` reads."""

from __future__ import annotations

from turnlog.events import Draft, NotLossless, TurnlogError
from turnlog.events.errors import BrokenLog
from turnlog.events.jsontext import is_object, loads

from .errors import BadLine

__all__ = ["read_draft"]

_KEYS = {"type", "data", "surfaceOp", "sourceEventSeqs", "ignorable", "time"}


def read_draft(text: bytes, line: int) -> Draft:
    """Read one draft: `type` and `data`; maybe `surfaceOp`, `sourceEventSeqs`, `ignorable`, `time`.

    The keys are those of a stored event. Raises BadLine.
    """
    try:
        value = loads(text)
    except (BrokenLog, NotLossless) as error:
        raise BadLine(line, str(error)) from None
    if not is_object(value):
        raise BadLine(line, "expected an object")
    unknown = sorted(value.keys() - _KEYS)
    if unknown:
        raise BadLine(line, f"expected no key {unknown[0]!r}")
    for key in ("type", "data"):
        if key not in value:
            raise BadLine(line, f"expected {key}, found nothing")
    try:
        return Draft(
            value["type"],
            value["data"],
            value.get("surfaceOp"),
            value.get("sourceEventSeqs"),
            value.get("ignorable", False),
            value.get("time"),
        )
    except TurnlogError as error:
        raise BadLine(line, str(error)) from None
