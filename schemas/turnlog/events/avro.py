"""The Avro codec of the commit record: single-object encoding, strict and in bounded memory.

A record has exactly one encoding (docs/format.md): whatever else the codec library would let pass
(longer integers, repeated keys, split maps, wrapped indices) is refused by writing again what was
read. No Avro type here may be recursive: the library ends the process on deep data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from types import MappingProxyType
from typing import Any, cast

import fastavro

from .commit import FORMAT, Commit, Kind
from .errors import BadSessionId, BadShape, BrokenLog, NewerThanReader, TooLarge
from .single_object import BODY_AT, MARKER, SingleObject

__all__ = [
    "MAX_ENVELOPE_BYTES",
    "MAX_RECORD_BYTES",
    "SCHEMAS",
    "decode_commit",
    "encode_commit",
]

MAX_RECORD_BYTES = 9 * 1024 * 1024
"""Bytes of one record at most: a body of 8 MiB, its envelope and room to spare. The topic's
`max.message.bytes`, the producer's `message.max.bytes` and the consumer's `fetch.max.bytes` are
this."""

MAX_ENVELOPE_BYTES = 64 * 1024
"""Bytes of the fields behind the body at most: what a reader decodes into Python objects of many
times that size. In use are about 250."""

_MAX_LENGTH_BYTES = 4  # of MAX_RECORD_BYTES

_COMMIT = SingleObject("commit-1.avsc")
_DECLARED: dict[str, Any] = json.loads(_COMMIT.text)
_PREFIX = MARKER + _COMMIT.fingerprint
# The fields behind the body. The library would copy a large body byte by byte.
_ENVELOPE = fastavro.parse_schema({**_DECLARED, "fields": _DECLARED["fields"][1:]})

SCHEMAS: Mapping[bytes, str] = MappingProxyType({_COMMIT.fingerprint: _COMMIT.text})
"""Each published schema's text by its fingerprint: CRC-64-AVRO, 8 bytes as in the record."""

_KINDS = {kind.value: kind for kind in Kind}


def encode_commit(commit: Commit) -> bytes:
    """Write a commit as one record's value.

    Raises TooLarge for an envelope above MAX_ENVELOPE_BYTES or a record above MAX_RECORD_BYTES.
    """
    envelope = _write_envelope(
        {
            "format": commit.format,
            "semantics": commit.semantics,
            "namespace": commit.namespace,
            "session_id": commit.session_id,
            "kind": commit.kind.value,
            "first_seq": commit.first_seq,
            "event_count": commit.event_count,
            "first_time": commit.first_time_ms,
            "last_time": commit.last_time_ms,
            "content_type": commit.content_type,
            "content_encoding": commit.content_encoding,
            "key_id": commit.key_id,
            "writer": commit.writer,
            "nonce": commit.nonce,
            "writer_info": commit.writer_info,
            "actor": commit.actor,
            "traceparent": commit.traceparent,
            "ext": commit.ext,
            "prev_hash": commit.prev_hash,
            "hash": commit.hash,
        }
    )
    if len(envelope) > MAX_ENVELOPE_BYTES:
        raise TooLarge(len(envelope), MAX_ENVELOPE_BYTES)
    record = b"".join((_PREFIX, _length(len(commit.body)), commit.body, envelope))
    if len(record) > MAX_RECORD_BYTES:
        raise TooLarge(len(record), MAX_RECORD_BYTES)
    return record


def decode_commit(data: bytes) -> Commit:
    """Read one record's value; its hash is not recomputed.

    The answer depends on the bytes alone; memory is bounded by a small multiple of their number.

    Raises NewerThanReader for an unknown schema, format or kind; BrokenLog for all else that is no
    commit.
    """
    if data[:2] != MARKER:
        raise BrokenLog("commit: no marker of an Avro single object")
    if len(data) < BODY_AT:
        raise BrokenLog("commit: ends inside the schema's fingerprint")
    if data[:BODY_AT] != _PREFIX:
        raise NewerThanReader(f"Avro schema {data[2:BODY_AT].hex()}")
    if len(data) > MAX_RECORD_BYTES:
        raise BrokenLog(f"commit: {len(data)} bytes, at most {MAX_RECORD_BYTES} are legal")
    start, end = _body_range(data)
    fields = _read_envelope(data, end)
    if fields["format"] > FORMAT:
        raise NewerThanReader(f"commit format {fields['format']}")
    kind = _KINDS.get(fields["kind"])
    if kind is None:
        raise NewerThanReader(f"commit kind {fields['kind'][:80]!r}")
    try:
        return Commit(
            body=data[start:end],
            format=fields["format"],
            semantics=fields["semantics"],
            namespace=fields["namespace"],
            session_id=fields["session_id"],
            kind=kind,
            first_seq=fields["first_seq"],
            event_count=fields["event_count"],
            first_time_ms=fields["first_time"],
            last_time_ms=fields["last_time"],
            content_type=fields["content_type"],
            content_encoding=fields["content_encoding"],
            key_id=fields["key_id"],
            writer=fields["writer"],
            nonce=fields["nonce"],
            writer_info=fields["writer_info"],
            actor=fields["actor"],
            traceparent=fields["traceparent"],
            ext=fields["ext"],
            prev_hash=fields["prev_hash"],
            hash=fields["hash"],
        )
    except (BadShape, BadSessionId) as error:
        raise BrokenLog(f"commit: {error}") from None


def _write_envelope(fields: dict[str, Any]) -> bytes:
    for name in ("writer_info", "ext"):
        # Keys ascend by code point, which is the order of their UTF-8 too.
        fields[name] = dict(sorted(fields[name].items()))
    stream = BytesIO()
    fastavro.schemaless_writer(stream, _ENVELOPE, fields)
    return stream.getvalue()


def _read_envelope(data: bytes, start: int) -> dict[str, Any]:
    """Decode the fields behind the body and refuse every encoding of them but ours."""
    size = len(data) - start
    if size > MAX_ENVELOPE_BYTES:
        raise BrokenLog(
            f"commit: {size} bytes behind the body, at most {MAX_ENVELOPE_BYTES} are legal"
        )
    stream = BytesIO(data)
    stream.seek(start)
    try:
        fields = cast(dict[str, Any], fastavro.schemaless_reader(stream, _ENVELOPE))
    except EOFError:
        raise BrokenLog("commit: ends inside a field") from None
    except (ValueError, IndexError, OverflowError) as error:
        raise BrokenLog(f"commit: does not decode: {error}") from None
    if stream.tell() != len(data):
        raise BrokenLog(f"commit: {len(data) - stream.tell()} bytes behind its end")
    if _write_envelope(fields) != data[start:]:
        raise BrokenLog("commit: not in the one encoding that it may have")
    return fields


def _body_range(data: bytes) -> tuple[int, int]:
    """Give where the body starts, and where it ends (exclusive)."""
    zigzag = 0
    for index, byte in enumerate(data[BODY_AT : BODY_AT + _MAX_LENGTH_BYTES]):
        zigzag |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            start = BODY_AT + index + 1
            size = zigzag >> 1
            if size > len(data) - start:
                raise BrokenLog("commit: ends inside the body")
            if data[BODY_AT:start] != _length(size):
                raise BrokenLog("commit: a length of the body that is negative or not the shortest")
            return start, start + size
    raise BrokenLog("commit: no length of the body")


def _length(size: int) -> bytes:
    """Write a non-negative Avro long."""
    zigzag = size << 1
    out = bytearray()
    while zigzag >= 0x80:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)
