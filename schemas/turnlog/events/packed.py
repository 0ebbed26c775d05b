"""Packed rows in the layout that every writer uses, read by a typed decoder.

The fast path of `parse_row`: it builds no dicts and judges in C. It takes less than semantics.md
section 7 allows, never more, and leaves all else to the exact check in `rows`.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

__all__ = ["quick_packed"]

# Small enough that no start with _MOST_MEMBERS gaps passes 2^53 - 1, so nothing is added up.
_MOST_MEMBERS = 2**11
_Number = Annotated[int, Meta(ge=-(2**53) + 1, le=2**53 - 1)]
_Seq = Annotated[int, Meta(ge=0, le=2**52)]
_Time = Annotated[int, Meta(ge=-(2**52), le=2**52)]
_Gap = Annotated[int, Meta(ge=-(2**40), le=2**40)]

# The tag stands first, or the row is not for this path: a decoder that must look for the tag skips
# over values by recursion, and so at a depth that the row chooses.
_PREFIXES = (
    b'{"type":"text-chunks",',
    b'{"type":"reasoning-chunks",',
    b'{"type":"tool-call-chunks",',
)


class _TextData(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    turn: _Number
    step: _Number
    index: _Number
    dt: list[_Gap]
    members: list[str] = field(name="texts")


class _CallData(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    turn: _Number
    step: _Number
    index: _Number
    id: str
    dt: list[_Gap]
    members: list[str] = field(name="args")
    name: str | UnsetType = UNSET


class _TextRow(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="text-chunks"):
    seq0: _Seq
    time0: _Time
    data: _TextData


class _ReasoningRow(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="reasoning-chunks"):
    seq0: _Seq
    time0: _Time
    data: _TextData


class _CallRow(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="tool-call-chunks"):
    seq0: _Seq
    time0: _Time
    data: _CallData


_decoder = msgspec.json.Decoder(_TextRow | _ReasoningRow | _CallRow)


def quick_packed(text: bytes) -> tuple[int, int] | None:
    """Give first seq and number of members of a sound packed row; None leaves it to `rows`."""
    if not text.startswith(_PREFIXES):
        return None
    try:
        row = _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    data = row.data
    count = len(data.members)
    if not 0 < count <= _MOST_MEMBERS or len(data.dt) != count - 1:
        return None
    return row.seq0, count
