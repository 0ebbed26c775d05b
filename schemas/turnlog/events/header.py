"""The header of a session: storage metadata, one a session, outside the log."""

from __future__ import annotations

from typing import Any

import msgspec

from .error_text import format_path, shown
from .errors import BadSessionId, BadShape, NotLossless, TooLarge
from .gate import is_integer, is_seq, lossless_copy, stored_copy
from .jsontext import dumps, is_object, loads

__all__ = ["MAX_HEADER_BYTES", "Header", "check_new_header", "check_session_id"]

MAX_HEADER_BYTES = 1024 * 1024
"""Bytes of the header of a session that is made here, at most.

So that every store can write it: far below what one commit holds, and far above a path and a name.
A stored header is read whatever its size.
"""

_MAX_ID_CODE_POINTS = 255


class Header(msgspec.Struct, frozen=True, gc=False):
    """A session's header: its JSON text, and its fields read out of it; immutable.

    `created_at_ms` is epoch milliseconds; a field that the header lacks is None. Further keys are
    carried in the text.
    """

    text: bytes
    id: str
    created_at_ms: int
    cwd: str | None = None
    parent_session: str | None = None
    seed_length: int | None = None
    origin: str | None = None
    delegation_depth: int | None = None
    agent_preset: str | None = None

    @classmethod
    def of(cls, value: Any, *, id: str | None = None) -> Header:
        """Check a stored header, which must name session `id` where given.

        Raises BadShape naming the field, also where it can't be written without loss.
        """
        if not is_object(value):
            raise BadShape("header", "an object", shown(value))
        try:
            value = stored_copy(value)
        except NotLossless as error:
            field = f"header{format_path(error.path).removeprefix('$')}"
            raise BadShape(field, "lossless JSON", error.found) from None
        if not (is_integer(value.get("version")) and value["version"] == 0):
            raise BadShape("header.version", "0", shown(value.get("version")))
        own_id = value.get("id")
        if type(own_id) is not str or (id is not None and own_id != id):
            expected = "a string" if id is None else shown(id)
            raise BadShape("header.id", expected, shown(own_id))
        for key in ("createdAt", "seedLength", "delegationDepth"):
            if (key in value or key == "createdAt") and not is_seq(value.get(key)):
                raise BadShape(f"header.{key}", "a non-negative integer", shown(value.get(key)))
        for key in ("cwd", "parentSession", "agentPreset"):
            if key in value and type(value[key]) is not str:
                raise BadShape(f"header.{key}", "a string", shown(value[key]))
        if "cwd" in value and not value["cwd"].startswith("/"):
            raise BadShape("header.cwd", "an absolute path", shown(value["cwd"]))
        if "origin" in value and value["origin"] != "subagent":
            raise BadShape("header.origin", '"subagent"', shown(value["origin"]))
        return cls(
            text=dumps(value),
            id=own_id,
            created_at_ms=int(value["createdAt"]),
            cwd=value.get("cwd"),
            parent_session=value.get("parentSession"),
            seed_length=_int_or_none(value.get("seedLength")),
            origin=value.get("origin"),
            delegation_depth=_int_or_none(value.get("delegationDepth")),
            agent_preset=value.get("agentPreset"),
        )

    @classmethod
    def new(cls, id: str, created_at_ms: int, **fields: Any) -> Header:
        """Make the header of a new session; `fields` are the optional keys, None for absent.

        Raises BadSessionId, NotLossless, BadShape and TooLarge.
        """
        check_session_id(id)
        value = {"version": 0, "id": id, "createdAt": created_at_ms}
        value.update((key, item) for key, item in fields.items() if item is not None)
        return check_new_header(cls.of(lossless_copy(value), id=id))

    @property
    def value(self) -> dict[str, Any]:
        """The header as its JSON object, a new copy each time."""
        value: dict[str, Any] = loads(self.text)
        return value


def check_new_header(header: Header) -> Header:
    """Check the header of a session to be made: every store must be able to write it.

    Raises BadSessionId, TooLarge, and BadShape for a `type` of its own, the key that marks a JSONL
    header line.
    """
    check_session_id(header.id)
    if len(header.text) > MAX_HEADER_BYTES:
        raise TooLarge(len(header.text), MAX_HEADER_BYTES, "bytes of header")
    if "type" in header.value:
        raise BadShape("header.type", "no such key", shown(header.value["type"]))
    return header


def check_session_id(id: Any) -> str:
    """Check a session id: 1 to 255 code points, no C0 control, no lone surrogate.

    Raises BadSessionId.
    """
    if type(id) is not str:
        raise BadSessionId(f"found a value of type {type(id).__name__}")
    if not 1 <= len(id) <= _MAX_ID_CODE_POINTS:
        raise BadSessionId(f"found {len(id)}")
    for char in id:
        if char < " ":
            raise BadSessionId(f"found the control character {ord(char):#04x}")
        if "\ud800" <= char <= "\udfff":
            raise BadSessionId("found a lone surrogate")
    return id


def _int_or_none(value: Any) -> int | None:
    return None if value is None else int(value)
