"""The topic that says what a namespace is: its records, their fold, and reading it."""

import hashlib
import json
from collections.abc import Callable, Sequence

import pytest
from confluent_kafka import Producer
from hypothesis import given
from hypothesis import strategies as st

from turnlog.broker import ensure_topics
from turnlog.broker.ports import free_ports
from turnlog.events.errors import BrokenLog, BrokerError, BrokerUnavailable, NewerThanReader
from turnlog.events.published import PUBLISHED_SCHEMAS
from turnlog.log import KafkaSettings
from turnlog.log.messages import Record
from turnlog.log.meta import (
    Meta,
    SchemaId,
    fold_meta,
    heads_record,
    layout_record,
    meta_topic,
    missing_records,
    read_meta,
    schema_record,
)

Pair = tuple[bytes | None, bytes | None]

FINGERPRINT = bytes.fromhex("0011223344556677")
TEXT = '{"type": "string"} é'
SCHEMA = SchemaId(FINGERPRINT, hashlib.sha256(TEXT.encode()).digest())


def fold(*pairs: Pair) -> Meta:
    return fold_meta("n.meta", [Record(at, *pair) for at, pair in enumerate(pairs)])


def test_the_records_are_these_bytes() -> None:
    digest = hashlib.sha256(b'{"type": "string"}').hexdigest()
    assert layout_record(0, 12) == (b"layout/0", b'{"format":1,"partitions":12}')
    assert heads_record(6) == (b"heads", b'{"format":1,"partitions":6}')
    assert schema_record(FINGERPRINT, '{"type": "string"}') == (
        f"schema/0011223344556677/{digest}".encode(),
        b'{"format":1,"text":"{\\"type\\": \\"string\\"}"}',
    )


def test_what_was_written_is_read_back() -> None:
    meta = fold(
        layout_record(0, 12), layout_record(11, 48), heads_record(6), schema_record(*named(TEXT))
    )
    assert (meta.layouts, meta.heads, meta.schemas) == ({0: 12, 11: 48}, 6, {SCHEMA: TEXT})
    assert meta.schema(FINGERPRINT) == TEXT
    assert meta.schema(bytes(8)) is None


def named(text: str) -> tuple[bytes, str]:
    return FINGERPRINT, text


def test_an_empty_topic_says_nothing() -> None:
    assert fold() == Meta({}, None, {})


def test_texts_of_one_fingerprint_stand_side_by_side() -> None:
    meta = fold(schema_record(*named("a")), schema_record(*named("b")))
    assert sorted(meta.schemas.values()) == ["a", "b"]


def test_a_null_removes_its_name_and_the_last_of_a_name_counts() -> None:
    layout, heads, schema = layout_record(0, 12), heads_record(3), schema_record(*named(TEXT))
    gone = [(key, None) for key, _ in (layout, heads, schema)]
    assert fold(layout, heads, schema, *gone) == Meta({}, None, {})
    assert fold(layout, (layout[0], None), layout_record(0, 6)).layouts == {0: 6}
    assert fold(*gone) == Meta({}, None, {})


@pytest.mark.parametrize("again", [layout_record(0, 13), heads_record(13)])
def test_a_partition_count_that_changed_is_refused_with_both(again: tuple[bytes, bytes]) -> None:
    with pytest.raises(BrokenLog, match=r"n\.meta, offset 2, .*expected 12 .*not 13"):
        fold(layout_record(0, 12), heads_record(12), again)


def test_names_and_fields_of_later_versions_are_passed_over() -> None:
    later = b'{"format":1,"partitions":12,"more":[1]}'
    assert fold((b"surface", b"\xff"), (b"layout/0", later)).layouts == {0: 12}


@pytest.mark.parametrize("name", [b"layout/0", b"heads", schema_record(*named(TEXT))[0]])
def test_a_value_of_a_later_format_asks_for_an_upgrade(name: bytes) -> None:
    with pytest.raises(NewerThanReader, match=r"n\.meta, offset 0"):
        fold((name, b'{"format":2,"partitions":"many"}'))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"\xff", b"{}"),
        (b"layout/", b'{"format":1,"partitions":1}'),
        (b"layout/01", b'{"format":1,"partitions":1}'),
        (b"layout/-1", b'{"format":1,"partitions":1}'),
        (b"layout/9999999999", b'{"format":1,"partitions":1}'),
        (b"layout/0", b""),
        (b"layout/0", b"[]"),
        (b"layout/0", b'{"partitions":1}'),
        (b"layout/0", b'{"format":0,"partitions":1}'),
        (b"layout/0", b'{"format":1}'),
        (b"layout/0", b'{"format":1,"partitions":"1"}'),
        (b"layout/0", b'{"format":1,"partitions":1.5}'),
        (b"layout/0", b'{"format":1,"partitions":0}'),
        (b"layout/0", b'{"format":1,"partitions":2147483648}'),
        (b"heads", b'{"format":1,"partitions":-1}'),
        (b"heads", b"[" * 100_000),
        (b"schema/0011223344556677", b'{"format":1,"text":""}'),
        (b"schema/0011223344556677/AB", b'{"format":1,"text":""}'),
        (schema_record(*named("a"))[0], schema_record(*named("b"))[1]),
        (schema_record(*named("a"))[0], b'{"format":1,"text":"\\ud800"}'),
    ],
)
def test_a_record_that_is_none_of_ours_is_broken_and_named_by_its_offset(
    key: bytes | None, value: bytes
) -> None:
    with pytest.raises(BrokenLog, match=r"n\.meta, offset 1"):
        fold(heads_record(1), (key, value))


@given(
    st.dictionaries(st.integers(0, 9), st.integers(1, 99)),
    st.integers(1, 99),
    st.dictionaries(
        st.binary(min_size=8, max_size=8), st.text(st.characters(exclude_categories=["Cs"]))
    ),
)
def test_what_is_missing_is_written_once(
    layouts: dict[int, int], heads: int, schemas: dict[bytes, str]
) -> None:
    records = missing_records(Meta(), layouts, heads, schemas)
    meta = fold(*records)
    assert (meta.layouts, meta.heads) == (layouts, heads)
    assert {id.fingerprint: text for id, text in meta.schemas.items()} == schemas
    assert missing_records(meta, layouts, heads, schemas) == []


def test_a_count_that_is_said_otherwise_is_not_written_over() -> None:
    meta = fold(layout_record(0, 12), heads_record(12))
    assert missing_records(meta, {0: 6}, 6, {}) == []


@pytest.fixture
def settings(kafka: str, namespace: str) -> KafkaSettings:
    return KafkaSettings(bootstrap=kafka, namespace=namespace)


@pytest.fixture
def write(settings: KafkaSettings) -> Callable[[Sequence[tuple[str | bytes, bytes | None]]], None]:
    """Write records to the namespace's meta topic, as anything but turnlog could."""

    def produce(records: Sequence[tuple[str | bytes, bytes | None]]) -> None:
        producer = Producer({"bootstrap.servers": settings.bootstrap})
        for key, value in records:
            producer.produce(meta_topic(settings.namespace), value, key, 0)
        assert producer.flush(30) == 0

    return produce


def test_the_topic_is_read_to_its_end(
    settings: KafkaSettings, write: Callable[[Sequence[tuple[bytes, bytes]]], None]
) -> None:
    ensured = ensure_topics(settings.bootstrap, settings.namespace, partitions=2)
    assert read_meta(settings) == ensured.meta
    assert ensured.meta.layouts == {0: 2}
    write([layout_record(1, 3)])
    assert read_meta(settings).layouts == {0: 2, 1: 3}


def test_every_schema_of_this_version_is_kept_by_fingerprint_and_sha_256(
    settings: KafkaSettings,
) -> None:
    ensure_topics(settings.bootstrap, settings.namespace, partitions=1)
    meta = read_meta(settings)
    assert len(meta.schemas) == len(PUBLISHED_SCHEMAS) > 0
    for fingerprint, text in PUBLISHED_SCHEMAS.items():
        assert meta.schema(fingerprint) == text
        assert json.loads(text)["type"] == "record"
    for id, text in meta.schemas.items():
        assert hashlib.sha256(text.encode()).digest() == id.sha256


def test_a_broken_record_is_found_by_whoever_reads_or_ensures(
    settings: KafkaSettings, write: Callable[[Sequence[tuple[bytes, bytes]]], None]
) -> None:
    ensure_topics(settings.bootstrap, settings.namespace, partitions=1)
    write([(b"layout/0", b"12")])
    with pytest.raises(BrokenLog, match="layout/0"):
        read_meta(settings)
    with pytest.raises(BrokenLog, match="layout/0"):
        ensure_topics(settings.bootstrap, settings.namespace)


def test_a_topic_that_is_not_there_is_an_error_that_says_so(settings: KafkaSettings) -> None:
    with pytest.raises(BrokerError, match=r"\.meta: there is no such topic"):
        read_meta(settings)


def test_a_cluster_that_is_not_there_is_unavailable() -> None:
    nowhere = KafkaSettings(bootstrap=f"127.0.0.1:{free_ports(None).client}", namespace="n")
    with pytest.raises(BrokerUnavailable):
        read_meta(nowhere, timeout_s=1.0)
