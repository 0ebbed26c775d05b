"""The question which features a cluster has switched on, and its answer."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.broker.admin import connect
from turnlog.broker.ports import free_ports
from turnlog.log.features import (
    ELIGIBLE_LEADER_REPLICAS,
    finalized_features,
    parse_answer,
    request,
)

FEATURES = {"metadata.version": 33, ELIGIBLE_LEADER_REPLICAS: 1}


def compact(text: str) -> bytes:
    return bytes([len(text) + 1]) + text.encode()


def answer(features: dict[str, int] | None, *, error: int = 0) -> bytes:
    """An ApiVersions answer in version 3, with two requests and tagged fields of each kind."""
    requests = b"".join(struct.pack(">hhh", number, 0, 9) + b"\0" for number in (0, 18))
    tags = [(0, b"\1"), (1, bytes(8))]
    if features is not None:
        found = (compact(n) + struct.pack(">hh", level, 1) + b"\0" for n, level in features.items())
        tags.append((2, bytes([len(features) + 1]) + b"".join(found)))
    fields = b"".join(bytes([tag, len(data)]) + data for tag, data in tags)
    head = struct.pack(">ih", 1, error) + b"\3" + requests + bytes(4)
    return head + bytes([len(tags)]) + fields


@contextmanager
def server(*says: bytes) -> Iterator[int]:
    """A server that reads one question and says something; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                for part in says:
                    connection.sendall(part)

        serving = threading.Thread(target=serve)
        serving.start()
        yield listening.getsockname()[1]
        serving.join()


def framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def test_the_question_is_these_bytes() -> None:
    assert request().hex() == (
        "00000023" "0012" "0003" "00000001" "0007" "7475726e6c6f67" "00"
        "08" "7475726e6c6f67" "08" "7475726e6c6f67" "00"
    )  # fmt: skip


def test_the_features_are_read_from_an_answer() -> None:
    assert parse_answer(answer(FEATURES)) == FEATURES
    assert parse_answer(answer({})) == {}


def test_an_answer_that_tells_none_is_no_answer() -> None:
    assert parse_answer(answer(None)) is None
    assert parse_answer(answer(FEATURES, error=35)) is None


@given(st.integers(0, len(answer(FEATURES)) - 1))
def test_an_answer_that_is_cut_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="ApiVersions"):
        parse_answer(answer(FEATURES)[:size])


@given(st.binary(max_size=64))
def test_other_bytes_are_refused_or_tell_none(data: bytes) -> None:
    try:
        found = parse_answer(struct.pack(">ih", 1, 0) + data)
    except ValueError:
        return
    assert found is None or all(isinstance(level, int) for level in found.values())


def test_a_real_broker_names_its_features(kafka: str) -> None:
    brokers = connect(kafka).list_topics(timeout=10).brokers.values()
    for broker in brokers:
        features = finalized_features(broker.host or "", broker.port, {}, 10.0)
        assert features is not None
        assert features["metadata.version"] >= 1


def test_an_answer_comes_in_as_many_parts_as_it_likes() -> None:
    data = framed(answer(FEATURES))
    with server(data[:3], data[3:20], data[20:]) as port:
        assert finalized_features("127.0.0.1", port, {}, 10.0) == FEATURES


@pytest.mark.parametrize(
    "says",
    [
        b"",
        b"\0\0",
        framed(answer(FEATURES))[:-1],
        b"\x7f\xff\xff\xff",
        b"\xff\xff\xff\xff",
        b"HTTP/1.1",
    ],
    ids=["nothing", "no length", "cut", "too long", "negative", "another protocol"],
)
def test_a_server_that_is_no_kafka_tells_none(says: bytes) -> None:
    with server(says) as port:
        assert finalized_features("127.0.0.1", port, {}, 10.0) is None


def test_where_nothing_listens_and_where_tls_is_expected_and_not_spoken_none_is_told() -> None:
    assert finalized_features("127.0.0.1", free_ports(None).client, {}, 1.0) is None
    with server(framed(answer(FEATURES))) as port:
        client = {"security.protocol": "SASL_SSL", "ssl.endpoint.identification.algorithm": "none"}
        assert finalized_features("127.0.0.1", port, client, 10.0) is None
