"""What a namespace is, by name, in the topic `<ns>.meta`: its layouts and its records' schemas.

The names and their values: docs/format.md, "The topic of meta".

Both counts are what a session's place is reckoned by. Values are plain JSON: a reader comes here to
learn the schemas, so nothing here may need one; any Kafka tool shows it; and it is a few kB in all.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

import msgspec
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from turnlog.events.errors import BrokenLog, BrokerError, NewerThanReader

from .clients import admin_client
from .messages import Record
from .reader import PartitionReader, partition_ends
from .settings import KafkaSettings
from .translate import UNLED, translated

__all__ = [
    "META_FORMAT",
    "Meta",
    "SchemaId",
    "fold_meta",
    "heads_record",
    "layout_record",
    "meta_topic",
    "missing_records",
    "read_meta",
    "schema_record",
]

META_FORMAT: Final = 1
"""Raise it for a value that a reader of the format before would use wrongly. A field that it may
pass over is added without, and so is a kind of name: readers pass over both."""

_HEADS = "heads"
_LAYOUT = re.compile(r"layout/(0|[1-9][0-9]{0,8})")
_SCHEMA = re.compile(r"schema/([0-9a-f]{16})/([0-9a-f]{64})")
_KNOWN = ("layout/", "schema/")
_MOST_PARTITIONS = 2**31 - 1  # Kafka's partition number is an int32
_ANSWER_S = 10.0
_RETRY_S = 0.05

# A topic is known to each broker some time after it was made: measured below 0.3 s on three.
_NEW_S = 2.0
_UNKNOWN = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC}

_Value = TypeVar("_Value", bound="_Head")


class SchemaId(NamedTuple):
    """A schema text's name: CRC-64-AVRO as in the records (8 bytes), SHA-256 of its UTF-8.

    Texts that differ in comments only share the fingerprint, and decode the same records.
    """

    fingerprint: bytes
    sha256: bytes


@dataclass(frozen=True)
class Meta:
    """What the topic says: the partition count of each layout and of `heads`, and the schemas.

    `heads` is None where nothing is said of it.
    """

    layouts: Mapping[int, int] = field(default_factory=dict)
    heads: int | None = None
    schemas: Mapping[SchemaId, str] = field(default_factory=dict)

    def schema(self, fingerprint: bytes) -> str | None:
        """A text of the schema with that fingerprint; None where there is none.

        The text is the one that was stored (its SHA-256 is checked); that it has this fingerprint
        is for whoever parses it to check.
        """
        found = (text for id, text in self.schemas.items() if id.fingerprint == fingerprint)
        return next(found, None)


class _Head(msgspec.Struct, frozen=True):
    format: int


class _Partitions(_Head, frozen=True):
    partitions: int


class _Schema(_Head, frozen=True):
    text: str


def meta_topic(namespace: str) -> str:
    """The topic's name. It has one partition, so that its records have one order."""
    return f"{namespace}.meta"


def layout_record(layout: int, partitions: int) -> tuple[bytes, bytes]:
    """Write key and value that fix a layout's partition count."""
    return f"layout/{layout}".encode(), msgspec.json.encode(_Partitions(META_FORMAT, partitions))


def heads_record(partitions: int) -> tuple[bytes, bytes]:
    """Write key and value that fix the partition count of `heads`."""
    return _HEADS.encode(), msgspec.json.encode(_Partitions(META_FORMAT, partitions))


def schema_record(fingerprint: bytes, text: str) -> tuple[bytes, bytes]:
    """Write key and value that keep a schema's text."""
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
    key = f"schema/{fingerprint.hex()}/{digest}"
    return key.encode(), msgspec.json.encode(_Schema(META_FORMAT, text))


def missing_records(
    meta: Meta, layouts: Mapping[int, int], heads: int, schemas: Mapping[bytes, str]
) -> list[tuple[bytes, bytes]]:
    """Give the records that the topic lacks to say all this; none where it says it already.

    What it says otherwise is not corrected here: a count never changes.
    """
    wanted = [
        layout_record(layout, partitions)
        for layout, partitions in sorted(layouts.items())
        if layout not in meta.layouts
    ]
    if meta.heads is None:
        wanted.append(heads_record(heads))
    for fingerprint, text in sorted(schemas.items()):
        id = SchemaId(fingerprint, hashlib.sha256(text.encode("utf-8")).digest())
        if id not in meta.schemas:
            wanted.append(schema_record(fingerprint, text))
    return wanted


def fold_meta(topic: str, records: Iterable[Record]) -> Meta:
    """Fold the topic's records in offset order: the last of a name counts, a null removes it.

    Names of a kind that this version does not know are passed over. Raises NewerThanReader for a
    value of a later format; BrokenLog for a record that is none of ours, and for a partition count
    that changed.
    """
    counts: dict[str, int] = {}
    schemas: dict[SchemaId, str] = {}
    for record in records:
        place = f"{topic}, offset {record.offset}"
        name = _name(place, record.key)
        counted = name == _HEADS or _LAYOUT.fullmatch(name)
        named = _SCHEMA.fullmatch(name)
        if not counted and not named:
            if name.startswith(_KNOWN):
                raise BrokenLog(f"{place}: {name[:80]!r} is no name of its kind")
            continue
        place = f"{place}, {name}"
        if named:
            id = SchemaId(*map(bytes.fromhex, named.groups()))
            if record.value is None:
                schemas.pop(id, None)
            else:
                schemas[id] = _text(place, record.value, id)
        elif record.value is None:
            counts.pop(name, None)
        else:
            found = _count(place, record.value)
            if counts.setdefault(name, found) != found:
                raise BrokenLog(
                    f"{place}: expected {counts[name]} partitions as before, not {found}"
                )
    layouts = {int(name.partition("/")[2]): n for name, n in counts.items() if name != _HEADS}
    return Meta(MappingProxyType(layouts), counts.get(_HEADS), MappingProxyType(schemas))


def read_meta(
    settings: KafkaSettings, *, admin: AdminClient | None = None, timeout_s: float = 60.0
) -> Meta:
    """Read a namespace's meta topic to its end; all that was acknowledged before is in it.

    `admin` spares a connection. Raises BrokerUnavailable, NotAuthorized; BrokerError where there
    is no such topic; NewerThanReader and BrokenLog as `fold_meta`.
    """
    topic = meta_topic(settings.namespace)
    if admin is None:
        admin = admin_client(settings, timeout_s)
    start, end = _ends(admin, topic, timeout_s)
    with PartitionReader(settings, topic, 0, start) as reader:
        return fold_meta(topic, reader.read_to(end, timeout_s))


def _ends(admin: AdminClient, topic: str, timeout_s: float) -> tuple[int, int]:
    """The topic's start and end, asked again where a broker has not heard of it yet."""
    until = time.monotonic() + min(_NEW_S, timeout_s)
    while True:
        try:
            with translated(topic):
                found = admin.list_topics(topic, timeout=min(_ANSWER_S, timeout_s)).topics[topic]
                if found.error is not None:
                    raise KafkaException(found.error)
            return partition_ends(admin, topic, 0)
        except BrokerError as error:
            unknown = _code(error) in _UNKNOWN
            if time.monotonic() < until and (unknown or _code(error) in UNLED):
                time.sleep(_RETRY_S)
            elif unknown:
                text = f"{topic}: there is no such topic; have the namespace's topics made first"
                raise BrokerError(text) from error
            else:
                raise


def _code(error: BrokerError) -> int | None:
    cause = error.__cause__
    return cause.args[0].code() if isinstance(cause, KafkaException) else None


def _name(place: str, key: bytes | None) -> str:
    if key is None:
        raise BrokenLog(f"{place}: expected a name, found no key")
    try:
        return key.decode("utf-8")
    except UnicodeDecodeError:
        raise BrokenLog(f"{place}: expected a name, found a key that is no UTF-8") from None


def _decode(place: str, value: bytes, kind: type[_Value]) -> _Value:
    """Read a value whose format is looked at before all else."""
    try:
        if msgspec.json.decode(value, type=_Head).format > META_FORMAT:
            raise NewerThanReader(place)
        found = msgspec.json.decode(value, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenLog(f"{place}: {error}") from None
    if found.format != META_FORMAT:
        raise BrokenLog(f"{place}: expected format {META_FORMAT}, found {found.format}")
    return found


def _count(place: str, value: bytes) -> int:
    found = _decode(place, value, _Partitions).partitions
    if not 1 <= found <= _MOST_PARTITIONS:
        raise BrokenLog(f"{place}: expected 1 partition or more, found {found}")
    return found


def _text(place: str, value: bytes, id: SchemaId) -> str:
    text = _decode(place, value, _Schema).text
    if hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() != id.sha256:
        raise BrokenLog(f"{place}: its text has another SHA-256")
    return text
