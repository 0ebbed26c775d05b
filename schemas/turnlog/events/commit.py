"""The commit: one record of the log. It holds consecutive events of a session, or who writes it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import msgspec

from .error_text import shown
from .errors import BadShape
from .gate import MAX_SAFE_INTEGER
from .header import check_session_id

__all__ = [
    "FORMAT",
    "HASH_BYTES",
    "MAX_COMMIT_EVENTS",
    "NONCE_BYTES",
    "NO_HASH",
    "SEMANTICS",
    "Commit",
    "Kind",
]

FORMAT = 1
"""The record format. Raised when the fields, their canonical encoding, the hash or the rules of
`Commit` change, and only then: docs/format.md, "Raising a version"."""

SEMANTICS = 0
"""The generation of the event rules. Raised when an event's meaning changes for those who fold it;
a new event type is no such change."""

HASH_BYTES = 32
"""Bytes of a hash: SHA-256."""

NONCE_BYTES = 16
"""Bytes of a nonce: at random, no two of a session's are ever the same."""

NO_HASH = bytes(HASH_BYTES)
"""The `prev_hash` of an `open`, which hangs on nothing."""

MAX_COMMIT_EVENTS = 1024
"""Events that a writer puts into one commit at most; readers take more."""


class Kind(StrEnum):
    """What a commit is. `erase` is reserved; what is not listed is newer than this reader."""

    OPEN = "open"
    CLAIM = "claim"
    RELEASE = "release"
    EVENTS = "events"


class Commit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One commit, read-only; each field is attested by `hash`.

    Times are epoch milliseconds. `body` is as stored: encoded by `content_encoding`, and encrypted
    where `key_id` is set. Without events `event_count` is 0, `first_seq` the next seq, and both
    times are the writing clock. The rules of the envelope are checked here, so each instance fits
    the format; whether the hash is right, `chain` says, and whether the body is what the envelope
    says, `body`.

    Raises BadShape and BadSessionId.
    """

    namespace: str
    session_id: str
    kind: Kind
    first_seq: int
    event_count: int
    first_time_ms: int
    last_time_ms: int
    content_type: str
    content_encoding: str
    writer: str
    prev_hash: bytes
    hash: bytes
    body: bytes
    nonce: bytes = b""
    key_id: str | None = None
    writer_info: Mapping[str, str] = {}
    actor: str | None = None
    traceparent: str | None = None
    ext: Mapping[str, bytes] = {}
    format: int = FORMAT
    semantics: int = SEMANTICS

    def __post_init__(self) -> None:
        _check(self)
        for field in ("writer_info", "ext"):
            own = MappingProxyType(dict(getattr(self, field)))
            msgspec.structs.force_setattr(self, field, own)

    @property
    def next_seq(self) -> int:
        """The seq after this commit's events."""
        return self.first_seq + self.event_count

    def __repr__(self) -> str:
        return (
            f"Commit({self.kind.value}, {self.session_id!r}, first_seq={self.first_seq}, "
            f"event_count={self.event_count}, hash={self.hash.hex()[:12]}…)"
        )


def _check(commit: Commit) -> None:
    check_session_id(commit.session_id)
    if type(commit.kind) is not Kind:
        raise BadShape("kind", "a Kind", shown(commit.kind))
    _integer("format", commit.format, FORMAT, FORMAT)
    _integer("semantics", commit.semantics, 0)
    _integer("first_seq", commit.first_seq, 0)
    _integer("first_time_ms", commit.first_time_ms, -MAX_SAFE_INTEGER)
    _integer("last_time_ms", commit.last_time_ms, -MAX_SAFE_INTEGER)
    if commit.kind is Kind.EVENTS:
        _integer("event_count", commit.event_count, 1, MAX_SAFE_INTEGER + 1 - commit.first_seq)
        _bytes("nonce", commit.nonce, 0)
    else:
        _integer("event_count", commit.event_count, 0, 0)
        _integer("last_time_ms", commit.last_time_ms, commit.first_time_ms, commit.first_time_ms)
        _bytes("nonce", commit.nonce, NONCE_BYTES)
    _text("namespace", commit.namespace)
    _text("content_type", commit.content_type)
    _text("content_encoding", commit.content_encoding)
    _text("writer", commit.writer)
    _optional_text("key_id", commit.key_id)
    _optional_text("actor", commit.actor)
    _optional_text("traceparent", commit.traceparent)
    for key, info in commit.writer_info.items():
        _text("writer_info", key)
        _text("writer_info", info)
    for key, extension in commit.ext.items():
        _text("ext", key)
        _bytes("ext", extension)
    _bytes("prev_hash", commit.prev_hash, HASH_BYTES)
    _bytes("hash", commit.hash, HASH_BYTES)
    _bytes("body", commit.body)


def _integer(field: str, value: Any, low: int, high: int = MAX_SAFE_INTEGER) -> None:
    if type(value) is not int or not low <= value <= high:
        raise BadShape(field, f"an integer from {low} to {high}", shown(value))


def _text(field: str, value: Any) -> None:
    if type(value) is not str:
        raise BadShape(field, "a string", shown(value))
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise BadShape(field, "text without lone surrogates", shown(value)) from None


def _optional_text(field: str, value: Any) -> None:
    if value is not None:
        _text(field, value)


def _bytes(field: str, value: Any, size: int | None = None) -> None:
    if type(value) is not bytes:
        raise BadShape(field, "bytes", shown(value))
    if size is not None and len(value) != size:
        raise BadShape(field, f"{size} bytes", f"{len(value)}")
