"""The hash chain: the canonical encoding of a commit, its hash, and sealed commits.

docs/format.md states the encoding byte by byte; golden files fix it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec

from .commit import NO_HASH, Commit, Kind

__all__ = ["attested_bytes", "commit_hash", "hash_fits", "make_commit"]

_TAG = b"turnlog commit"
_INTEGER = struct.Struct(">q")
_LENGTH = struct.Struct(">I")


def attested_bytes(commit: Commit) -> bytes:
    """Give the bytes whose SHA-256 is the commit's hash: every field but `hash`, in one encoding.

    Of the body only its SHA-256 stands there, so a chain can be checked with bodies withheld.
    """
    integer = _INTEGER.pack
    return b"".join(
        (
            _TAG,
            integer(commit.format),
            commit.prev_hash,
            integer(commit.semantics),
            _text(commit.namespace),
            _text(commit.session_id),
            _text(commit.kind),
            integer(commit.first_seq),
            integer(commit.event_count),
            integer(commit.first_time_ms),
            integer(commit.last_time_ms),
            _text(commit.content_type),
            _text(commit.content_encoding),
            _optional(commit.key_id),
            _text(commit.writer),
            _bytes(commit.nonce),
            _map((key, info.encode()) for key, info in commit.writer_info.items()),
            _optional(commit.actor),
            _optional(commit.traceparent),
            _map(commit.ext.items()),
            sha256(commit.body).digest(),
        )
    )


def commit_hash(commit: Commit) -> bytes:
    """Compute the hash that the commit must bear: 32 bytes; its own `hash` is not looked at."""
    return sha256(attested_bytes(commit)).digest()


def hash_fits(commit: Commit) -> bool:
    """Tell whether the commit bears the hash of its content."""
    return commit_hash(commit) == commit.hash


def make_commit(
    *,
    namespace: str,
    session_id: str,
    kind: Kind,
    first_seq: int,
    event_count: int,
    first_time_ms: int,
    last_time_ms: int,
    content_type: str,
    content_encoding: str,
    writer: str,
    prev_hash: bytes,
    body: bytes,
    nonce: bytes = b"",
    key_id: str | None = None,
    writer_info: Mapping[str, str] | None = None,
    actor: str | None = None,
    traceparent: str | None = None,
    ext: Mapping[str, bytes] | None = None,
) -> Commit:
    """Make the commit of these fields, with its hash. `body` is as stored.

    Raises BadShape and BadSessionId.
    """
    commit = Commit(
        namespace=namespace,
        session_id=session_id,
        kind=kind,
        first_seq=first_seq,
        event_count=event_count,
        first_time_ms=first_time_ms,
        last_time_ms=last_time_ms,
        content_type=content_type,
        content_encoding=content_encoding,
        writer=writer,
        prev_hash=prev_hash,
        hash=NO_HASH,
        body=body,
        nonce=nonce,
        key_id=key_id,
        writer_info=writer_info or {},
        actor=actor,
        traceparent=traceparent,
        ext=ext or {},
    )
    msgspec.structs.force_setattr(commit, "hash", commit_hash(commit))
    return commit


def _bytes(value: bytes) -> bytes:
    return _LENGTH.pack(len(value)) + value


def _text(value: str) -> bytes:
    return _bytes(value.encode())


def _optional(value: str | None) -> bytes:
    return b"\x00" if value is None else b"\x01" + _text(value)


def _map(items: Iterable[tuple[str, bytes]]) -> bytes:
    pairs = sorted((key.encode(), value) for key, value in items)
    return _LENGTH.pack(len(pairs)) + b"".join(_bytes(part) for pair in pairs for part in pair)
