"""The bodies of commits: rows and facts as JSON text, compressed where that saves bytes.

The JSON of each kind of commit: docs/format.md, "Body".
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple

import zstandard

from .commit import HASH_BYTES, SEMANTICS, Commit, Kind
from .errors import BadRow, BadSessionId, BadShape, BrokenLog, NewerThanReader, TooLarge
from .gate import MAX_EVENT_BYTES, is_seq
from .header import Header, check_session_id
from .jsontext import dumps, loads
from .rows import Row, row_of_value
from .vocabulary import PACKED_TYPES

__all__ = [
    "CONTENT_TYPE",
    "MAX_BODY_BYTES",
    "ClaimBody",
    "ClaimReason",
    "Fork",
    "OpenBody",
    "StoredBody",
    "body_text",
    "check_body",
    "claim_body",
    "open_body",
    "read_claim",
    "read_open",
    "release_body",
    "rows_body",
]

CONTENT_TYPE = "application/json"

MAX_BODY_BYTES = MAX_EVENT_BYTES + 64 * 1024
"""Bytes of a decoded body at most: the largest event or group, its brackets and separators."""

_COMPRESS_FROM_BYTES = 128  # a shorter text does not get shorter by a Zstandard frame
_LEVEL = 3
# A frame of a body up to MAX_BODY_BYTES needs no larger window; a larger one costs its memory at once.
_MAX_WINDOW_BYTES = 16 * 1024 * 1024
_SEPARATOR = b",\n"


class StoredBody(NamedTuple):
    """A body as a commit stores it, and its content encoding."""

    encoding: str
    data: bytes


class Fork(NamedTuple):
    """Where a forked session left its parent.

    `boundary` is the seq of the last inherited event, None for a fork of an empty log; `hash` that of
    the parent's commit that holds the boundary, or of its `open` where there is no event.
    """

    session_id: str
    boundary: int | None
    hash: bytes


class OpenBody(NamedTuple):
    """What an `open` says: the header of the new session, and of a fork its origin."""

    header: Header
    fork: Fork | None


class ClaimReason(StrEnum):
    """Why a session was claimed: from another writer; to settle an unknown outcome; after a release."""

    TAKE_OVER = "take-over"
    SEAL = "seal"
    RESUME = "resume"


class ClaimBody(NamedTuple):
    """What a `claim` says: why, and the owner that the claiming writer saw at the head."""

    reason: ClaimReason
    seen_writer: str
    seen_released: bool


# --- writing -------------------------------------------------------------------------------------


def rows_body(rows: Iterable[Row]) -> StoredBody:
    """Make the body of `events`: a JSON array, one row a line.

    Raises TooLarge above MAX_BODY_BYTES.
    """
    return _stored(b"[" + _SEPARATOR.join([row.text for row in rows]) + b"]")


def open_body(header: Header, fork: Fork | None = None) -> StoredBody:
    """Make the body of `open`; the header's text stands in it as it is.

    Raises TooLarge above MAX_BODY_BYTES.
    """
    text = b'{"header":' + header.text
    if fork is not None:
        value = {"session": fork.session_id, "seq": fork.boundary, "hash": fork.hash.hex()}
        text += b',"fork":' + dumps(value)
    return _stored(text + b"}")


def claim_body(body: ClaimBody) -> StoredBody:
    """Make the body of `claim`."""
    seen = {"writer": body.seen_writer, "released": body.seen_released}
    return _stored(dumps({"reason": body.reason.value, "seen": seen}))


def release_body() -> StoredBody:
    """Make the body of `release`, which says nothing."""
    return StoredBody("identity", b"{}")


def _stored(text: bytes) -> StoredBody:
    if len(text) > MAX_BODY_BYTES:
        raise TooLarge(len(text), MAX_BODY_BYTES)
    if len(text) >= _COMPRESS_FROM_BYTES:
        packed = _zstd.compressor.compress(text)
        if len(packed) < len(text):
            return StoredBody("zstd", packed)
    return StoredBody("identity", text)


# --- reading -------------------------------------------------------------------------------------


def body_text(commit: Commit) -> bytes:
    """Decode the body of a commit to its JSON text, at most MAX_BODY_BYTES.

    Raises BrokenLog; NewerThanReader for a content type, content encoding or encryption that this
    version can't read.
    """
    if commit.key_id is not None:
        raise NewerThanReader("an encrypted body")
    if commit.content_type != CONTENT_TYPE:
        raise NewerThanReader(f"content type {commit.content_type[:80]!r}")
    if commit.content_encoding == "identity":
        text = commit.body
    elif commit.content_encoding == "zstd":
        text = _decompress(commit.body)
    else:
        raise NewerThanReader(f"content encoding {commit.content_encoding[:80]!r}")
    if len(text) > MAX_BODY_BYTES:
        raise BrokenLog(f"body: {len(text)} bytes, at most {MAX_BODY_BYTES} are legal")
    return text


def check_body(commit: Commit) -> list[Row]:
    """Read the rows of an `events` commit, which must be what its envelope says.

    Dense from `first_seq`, `event_count` events in all, the first and the last one's time as in the
    envelope. What the events themselves say is not looked at.

    Raises BrokenLog, and NewerThanReader for event rules or a body that this version can't read.
    """
    if commit.kind is not Kind.EVENTS:
        raise BrokenLog(f"body: a commit of kind {commit.kind.value} holds no rows")
    if commit.semantics > SEMANTICS:
        raise NewerThanReader(f"semantics {commit.semantics}")
    text = body_text(commit)
    try:
        rows, first_time_ms, last_time_ms = _rows(_split(text, commit.event_count))
    except (BrokenLog, BadRow):
        # Not one row a line: only a reading of the whole text can say where its rows are.
        rows, first_time_ms, last_time_ms = _rows_of_any(text)
    next_seq = commit.first_seq
    for row in rows:
        if row.first_seq != next_seq:
            raise BrokenLog(f"body: expected a row at seq {next_seq}, found {row.first_seq}")
        next_seq += row.count
    if next_seq != commit.next_seq:
        found = next_seq - commit.first_seq
        raise BrokenLog(f"body: expected {commit.event_count} events, found {found}")
    if (first_time_ms, last_time_ms) != (commit.first_time_ms, commit.last_time_ms):
        raise BrokenLog("body: the times of its first and last event are not the envelope's")
    return rows


def read_open(commit: Commit) -> OpenBody:
    """Read what an `open` says. Raises as `check_body` does."""
    value = _object(commit, Kind.OPEN)
    try:
        header = Header.of(value.get("header"), id=commit.session_id)
        return OpenBody(header, _fork(value["fork"]) if "fork" in value else None)
    except (BadShape, BadSessionId) as error:
        raise BrokenLog(f"body: {error}") from None


def read_claim(commit: Commit) -> ClaimBody:
    """Read what a `claim` says. Raises as `check_body` does."""
    value = _object(commit, Kind.CLAIM)
    reason, seen = value.get("reason"), value.get("seen")
    if type(reason) is not str or reason not in list(ClaimReason):
        raise BrokenLog("body: expected take-over, seal or resume as reason")
    if (
        type(seen) is not dict
        or type(seen.get("writer")) is not str
        or type(seen.get("released")) is not bool
    ):
        raise BrokenLog("body: expected an object with writer and released as seen")
    return ClaimBody(ClaimReason(reason), seen["writer"], seen["released"])


def _object(commit: Commit, kind: Kind) -> dict[str, Any]:
    if commit.kind is not kind:
        raise BrokenLog(f"body: expected a commit of kind {kind.value}, found {commit.kind.value}")
    value = loads(body_text(commit))
    if type(value) is not dict:
        raise BrokenLog("body: expected an object")
    return value


def _fork(value: Any) -> Fork:
    if type(value) is not dict:
        raise BadShape("fork", "an object", type(value).__name__)
    boundary, parent_hash = value.get("seq"), value.get("hash")
    if boundary is not None and not is_seq(boundary):
        raise BadShape("fork.seq", "a seq or null", repr(boundary)[:80])
    try:
        digest = bytes.fromhex(parent_hash)
    except (TypeError, ValueError):
        digest = b""
    if len(digest) != HASH_BYTES or digest.hex() != parent_hash:
        raise BadShape("fork.hash", "64 lower-case hexadecimal digits", repr(parent_hash)[:80])
    parent = check_session_id(value.get("session"))
    return Fork(parent, None if boundary is None else int(boundary), digest)


def _split(text: bytes, event_count: int) -> list[bytes]:
    """Split an array with one row a line, without reading the rows."""
    lines = text.count(b"\n") + 1
    if lines > event_count or text[:1] != b"[" or text[-1:] != b"]":
        raise BrokenLog("body: not one row a line")
    pieces = text[1:-1].split(_SEPARATOR)
    if len(pieces) != lines:
        raise BrokenLog("body: not one row a line")
    return pieces


def _rows(pieces: Iterable[bytes]) -> tuple[list[Row], int, int]:
    return _read_rows((loads(piece), piece) for piece in pieces)


def _rows_of_any(text: bytes) -> tuple[list[Row], int, int]:
    value = loads(text)
    if type(value) is not list or not value:
        raise BrokenLog("body: expected an array of rows")
    try:
        return _read_rows((item, dumps(item)) for item in value)
    except BadRow as error:
        raise BrokenLog(f"body: {error}") from None


def _read_rows(items: Iterator[tuple[Any, bytes]]) -> tuple[list[Row], int, int]:
    """Read decoded rows with their texts: the rows, and the times of the first and last event."""
    rows: list[Row] = []
    first_time_ms = last_time_ms = 0
    for value, text in items:
        row = row_of_value(value, text)
        packed = value["type"] in PACKED_TYPES
        time_ms = int(value["time0"] if packed else value["time"])
        if not rows:
            first_time_ms = time_ms
        last_time_ms = time_ms + sum(map(int, value["data"]["dt"])) if packed else time_ms
        rows.append(row)
    return rows, first_time_ms, last_time_ms


# --- Zstandard -----------------------------------------------------------------------------------


class _Zstd(threading.local):
    """The contexts of one thread: none may be used by two at once, and making one takes 30 µs."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self.decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)


_zstd = _Zstd()


def _decompress(data: bytes) -> bytes:
    """Decode one Zstandard frame, without or with its content's size, in bounded memory."""
    try:
        size = zstandard.get_frame_parameters(data).content_size
        if size != zstandard.CONTENTSIZE_UNKNOWN and size > MAX_BODY_BYTES:
            raise BrokenLog(f"body: {size} bytes, at most {MAX_BODY_BYTES} are legal")
        return _zstd.decompressor.decompress(
            data, max_output_size=MAX_BODY_BYTES, allow_extra_data=False
        )
    except zstandard.ZstdError as error:
        raise BrokenLog(f"body: no Zstandard frame of a legal size: {error}") from None
