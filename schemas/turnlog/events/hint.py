"""The hint: where a session can be found in the log. A lower bound, and never a truth."""

from __future__ import annotations

from typing import Any

import msgspec

from .single_object import SingleObject

__all__ = ["HINT", "MAX_HINT_HEADER_BYTES", "MAX_TITLE", "Hint", "decode_hint", "encode_hint"]

HINT = SingleObject("hint-1.avsc")
"""The codec of the values of the `heads` topic."""

MAX_TITLE = 256
"""Code points of a title in a hint at most."""

MAX_HINT_HEADER_BYTES = 64 * 1024
"""A larger header is left out of the hint; it stands in the `open`."""


class Hint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One value of the `heads` topic; the fields are those of `avsc/hint-1.avsc`."""

    cluster_id: str
    layout: int
    partition: int
    offset: int
    open_offset: int | None = None
    hash: bytes | None = None
    next_seq: int = 0
    writer: str = ""
    released: bool = False
    complete: bool = False
    title: str | None = None
    header: bytes | None = None

    @property
    def first_offset(self) -> int:
        """The offset below which the session has no record."""
        return self.offset if self.open_offset is None else self.open_offset


def encode_hint(hint: Hint) -> bytes:
    """Write a hint as a record's value."""
    return HINT.encode({name: getattr(hint, name) for name in Hint.__struct_fields__})


def decode_hint(data: bytes) -> Hint:
    """Read a record's value. Raises BrokenLog, NewerThanReader."""
    fields: dict[str, Any] = HINT.decode(data)
    return Hint(**fields)
