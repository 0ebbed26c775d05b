"""Ask a broker which features its cluster has switched on, which no Python client can be asked.

The one request that is sent here is ApiVersions in version 3, which Kafka answers before a
principal is known (KIP-35, KIP-482, KIP-584; the layout is Kafka's protocol guide's).
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

#: With it at 1 or more no leader is elected that lacks acknowledged records, also after all
#: replicas in sync were lost at once (KIP-966).
ELIGIBLE_LEADER_REPLICAS: Final = "eligible.leader.replicas.version"

_API_VERSIONS = 18
_VERSION = 3
_CORRELATION = 1
_NAME = b"turnlog"
_FINALIZED_TAG = 2
# Kafka 4.4 answers with below 1 kB.
_MOST_BYTES = 256 * 1024


def finalized_features(
    host: str, port: int, client: Mapping[str, Any], timeout_s: float
) -> dict[str, int] | None:
    """Give each feature that the cluster has switched on with its level.

    ``None`` where it can't be learned: no answer, a broker older than the question, or a
    connection that ``client`` (librdkafka's settings) secures in a way that is not known here.
    """
    try:
        with socket.create_connection((host, port), timeout_s) as plain:
            if "ssl" not in str(client.get("security.protocol", "plaintext")).lower():
                return parse_answer(_ask(plain))
            with _context(client).wrap_socket(plain, server_hostname=host) as secured:
                return parse_answer(_ask(secured))
    except (OSError, ValueError):  # ssl's errors are OSErrors
        return None


def request() -> bytes:
    """Write the question, its length in front."""
    name = struct.pack(">h", len(_NAME)) + _NAME
    head = struct.pack(">hhi", _API_VERSIONS, _VERSION, _CORRELATION) + name + b"\0"
    compact = bytes([len(_NAME) + 1]) + _NAME
    body = head + compact + compact + b"\0"  # the software's name and version, no tagged fields
    return struct.pack(">i", len(body)) + body


def parse_answer(data: bytes) -> dict[str, int] | None:
    """Read the features from an answer without its length; ``None`` where it tells none.

    Raises:
        ValueError: it is no such answer.
    """
    reader = _Fields(data)
    if reader.number(4) != _CORRELATION:
        raise ValueError("ApiVersions: the answer to another question")
    if reader.number(2) != 0:  # an error: the broker does not know this version
        return None
    for _ in range(reader.varint() - 1):
        reader.take(6)  # a request's number, its lowest and highest version
        reader.skip_tags()
    reader.take(4)  # throttle time
    found = None
    for _ in range(reader.varint()):
        tag, size = reader.varint(), reader.varint()
        field = _Fields(reader.take(size))
        if tag == _FINALIZED_TAG:
            found = field.features()
    return found


def eligible_leader_replicas(
    brokers: Iterable[tuple[str | None, int]], client: Mapping[str, Any], timeout_s: float
) -> int | None:
    """Ask one broker after the other, by host and port, for the level of that feature.

    0 where it is switched off; ``None`` where it can't be learned in the time.
    """
    until = time.monotonic() + timeout_s
    for host, port in brokers:
        left = until - time.monotonic()
        if host is not None and left > 0:
            features = finalized_features(host, port, client, left)
            if features is not None:
                return features.get(ELIGIBLE_LEADER_REPLICAS, 0)
    return None


def needs_reports(brokers: int, level: int | None) -> bool:
    """Whether a writer must wait for the delivery report beside its read-back.

    With several brokers and without the feature a reader may have seen a record that a failover
    then takes back.
    """
    return brokers > 1 and (level or 0) < 1


class _Fields:
    """Takes Kafka's fields off some bytes, one by one."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise ValueError("ApiVersions: the answer ends inside a field")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big", signed=True)

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 28:
                raise ValueError("ApiVersions: a number of more than 32 bits")

    def skip_tags(self) -> None:
        for _ in range(self.varint()):
            self.varint()
            self.take(self.varint())

    def features(self) -> dict[str, int]:
        found = {}
        for _ in range(self.varint() - 1):
            name = self.take(self.varint() - 1).decode("utf-8")
            found[name] = self.number(2)  # the highest level that all brokers agreed on
            self.take(2)
            self.skip_tags()
        return found


def _ask(connection: socket.socket) -> bytes:
    connection.sendall(request())
    size = int.from_bytes(_receive(connection, 4), "big", signed=True)
    if not 0 < size <= _MOST_BYTES:
        raise ValueError(f"ApiVersions: an answer of {size} bytes")
    return _receive(connection, size)


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ValueError("ApiVersions: the connection was closed")
        data += part
    return data


def _context(client: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context(
        cafile=client.get("ssl.ca.location"), cadata=client.get("ssl.ca.pem")
    )
    if client.get("ssl.certificate.location"):
        context.load_cert_chain(
            client["ssl.certificate.location"],
            client.get("ssl.key.location"),
            client.get("ssl.key.password"),
        )
    if client.get("ssl.endpoint.identification.algorithm", "https") == "none":
        context.check_hostname = False
    if str(client.get("enable.ssl.certificate.verification", "true")).lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
