"""The bodies of commits: rows and facts as JSON text, compressed where that saves bytes.

The JSON of each kind of commit: docs/format.md, "Body".
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from .commit import SEMANTICS, Commit, Kind
from .compress import compress, decompress
from .errors import BadRow, BadSessionId, BadShape, BrokenLog, NewerThanReader, TooLarge
from .gate import MAX_EVENT_BYTES, MAX_SAFE_INTEGER
from .header import Header, check_session_id
from .jsontext import dumps, loads
from .rows import Row, parse_row, row_of_value

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
_SEPARATOR = b",\n"


class StoredBody(NamedTuple):
    """A body as a commit stores it, and its content encoding."""

    encoding: str
    data: bytes


class Fork(NamedTuple):
    """Where a forked session left its parent.

    `boundary` is the seq of the last inherited event, None for a fork of an empty log; `hash` that
    of the parent's commit that holds the boundary, or of its `open` where there is no event.
    """

    session_id: str
    boundary: int | None
    hash: bytes


class OpenBody(NamedTuple):
    """What an `open` says: the header of the new session, and of a fork its origin."""

    header: Header
    fork: Fork | None


class ClaimReason(StrEnum):
    """Why a session was claimed.

    From another writer, to settle an unknown outcome, or after a release.
    """

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
        packed = compress(text)
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
        text = decompress(commit.body, MAX_BODY_BYTES)
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
    rows = _rows_by_line(text, commit.event_count) or _rows_of_any(text)
    next_seq = commit.first_seq
    for row in rows:
        if row.first_seq != next_seq:
            raise BrokenLog(f"body: expected a row at seq {next_seq}, found {row.first_seq}")
        next_seq += row.count
    if next_seq != commit.next_seq:
        found = next_seq - commit.first_seq
        raise BrokenLog(f"body: expected {commit.event_count} events, found {found}")
    times_ms = rows[0].times_ms()[0], rows[-1].times_ms()[1]
    if times_ms != (commit.first_time_ms, commit.last_time_ms):
        raise BrokenLog("body: the times of its first and last event are not the envelope's")
    return rows


def read_open(commit: Commit) -> OpenBody:
    """Read what an `open` says. Raises as `check_body` does."""
    facts = _facts(commit, Kind.OPEN, _OpenFacts)
    try:
        header = Header.of(facts.header, id=commit.session_id)
        if facts.fork is UNSET:
            return OpenBody(header, None)
        parent = check_session_id(facts.fork.session)
    except (BadShape, BadSessionId) as error:
        raise BrokenLog(f"body: {error}") from None
    return OpenBody(header, Fork(parent, facts.fork.seq, bytes.fromhex(facts.fork.hash)))


def read_claim(commit: Commit) -> ClaimBody:
    """Read what a `claim` says. Raises as `check_body` does."""
    facts = _facts(commit, Kind.CLAIM, _ClaimFacts)
    return ClaimBody(facts.reason, facts.seen.writer, facts.seen.released)


class _ForkFacts(msgspec.Struct):
    session: str
    seq: Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)] | None
    hash: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class _OpenFacts(msgspec.Struct):
    header: Any
    fork: _ForkFacts | UnsetType = UNSET


class _SeenFacts(msgspec.Struct):
    writer: str
    released: bool


class _ClaimFacts(msgspec.Struct):
    reason: ClaimReason
    seen: _SeenFacts


_Facts = TypeVar("_Facts")


def _facts(commit: Commit, kind: Kind, shape: type[_Facts]) -> _Facts:
    """Read a body that is one object; further keys are passed over."""
    if commit.kind is not kind:
        raise BrokenLog(f"body: expected a commit of kind {kind.value}, found {commit.kind.value}")
    try:
        return msgspec.convert(loads(body_text(commit)), shape)
    except msgspec.ValidationError as error:
        raise BrokenLog(f"body: {error}") from None


def _rows_by_line(text: bytes, event_count: int) -> list[Row] | None:
    """Read an array that stands one row a line, without reading it as a whole; None: it does not.

    Where each line holds one JSON value, the array can't be read in any other way.
    """
    if text.count(_SEPARATOR) >= event_count or text[:1] != b"[" or text[-1:] != b"]":
        return None
    pieces = text[1:-1].split(_SEPARATOR)
    try:
        return [parse_row(piece) for piece in pieces]
    except BadRow:
        return None


def _rows_of_any(text: bytes) -> list[Row]:
    """Read an array of rows in any layout."""
    try:
        items = msgspec.convert(loads(text), list[Any])
        return [row_of_value(item, dumps(item)) for item in items]
    except msgspec.ValidationError as error:
        raise BrokenLog(f"body: {error}") from None
    except BadRow as error:
        raise BrokenLog(f"body: {error.reason}") from None
