"""Judge a partition by docs/format.md alone: the standard library, and nothing of turnlog's.

    python standard_verifier.py NAMESPACE < records

One JSON line a record in offset order: [key, value], each in hexadecimal or null. Prints one JSON
line a record, [verdict, session or null], then one with the heads and the sessions that stopped.
"""

import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

START = bytes.fromhex("c301 60ebe7e52ef057ca")  # the marker, and the fingerprint of commit-1
FIELDS = """body:blob format:long semantics:long namespace:text session_id:text kind:text
    first_seq:long event_count:long first_time:long last_time:long content_type:text
    content_encoding:text key_id:optional writer:text nonce:blob writer_info:texts actor:optional
    traceparent:optional ext:map prev_hash:digest hash:digest"""
SAFE = 2**53 - 1


class Broken(ValueError):  # as is UnicodeDecodeError
    pass


class Newer(Exception):
    pass


def need(holds: bool) -> None:
    if not holds:
        raise Broken


class Avro:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, size: int) -> bytes:
        need(0 <= size <= len(self.data))
        value, self.data = self.data[:size], self.data[size:]
        return value

    def digest(self) -> bytes:
        return self.take(32)

    def long(self) -> int:
        zigzag = shift = 0
        while (byte := self.take(1)[0]) >= 0x80:
            zigzag |= (byte & 0x7F) << shift
            shift += 7
        zigzag |= byte << shift
        need(zigzag < 2**64 and (byte > 0 or shift == 0))  # the shortest form of 64 bits
        return (zigzag >> 1) ^ -(zigzag & 1)

    def blob(self) -> bytes:
        return self.take(self.long())

    def text(self) -> bytes:
        value = self.blob()
        value.decode()
        return value

    def optional(self) -> bytes | None:
        branch = self.long()
        need(branch in (0, 1))
        return self.text() if branch else None

    def map(self) -> list[tuple[bytes, bytes]]:
        count = self.long()
        need(count >= 0)
        pairs = [(self.text(), self.blob()) for _ in range(count)]
        need(sorted(dict(pairs).items()) == pairs and (count == 0 or self.long() == 0))
        return pairs

    def texts(self) -> list[tuple[bytes, bytes]]:
        pairs = self.map()
        for _, value in pairs:
            value.decode()
        return pairs


def canonical(shape: str, value: Any) -> bytes:
    if shape == "long":
        return int(value).to_bytes(8, "big", signed=True)
    if shape == "optional":
        return b"\x00" if value is None else b"\x01" + canonical("text", value)
    if shape in ("map", "texts"):
        parts = [canonical("blob", part) for pair in value for part in pair]
        return len(value).to_bytes(4, "big") + b"".join(parts)
    return len(value).to_bytes(4, "big") + bytes(value)


def session_of(key: bytes) -> str:
    session = key.decode()
    need(1 <= len(session) <= 255 and min(session) >= " ")
    return session


def decode(data: bytes) -> dict[str, Any]:
    """Read a record, and check all that can be checked without the records before it."""
    need(data[:2] == START[:2] and len(data) >= 10)
    if data[:10] != START:
        raise Newer
    need(len(data) <= 9 * 2**20)
    avro, c, attested = Avro(data[10:]), dict[str, Any](), b""
    for name, shape in (field.split(":") for field in FIELDS.split()):
        c[name] = getattr(avro, shape)()
        need(len(avro.data) <= 64 * 2**10)  # behind the body, the first field
        if name not in ("body", "format", "prev_hash", "hash"):
            attested += canonical(shape, c[name])
    need(not avro.data)
    if c["format"] > 1 or c["kind"] not in (b"open", b"claim", b"release", b"events"):
        raise Newer
    first, count, times = c["first_seq"], c["event_count"], (c["first_time"], c["last_time"])
    session_of(c["session_id"])
    need(c["format"] == 1 and 0 <= c["semantics"] <= SAFE and 0 <= first <= SAFE)
    need(all(-SAFE <= time <= SAFE for time in times))
    if c["kind"] == b"events":
        need(1 <= count <= SAFE + 1 - first and c["nonce"] == b"")
    else:
        need(count == 0 and times[0] == times[1] and len(c["nonce"]) == 16)
    head = b"turnlog commit" + canonical("long", 1) + c["prev_hash"]
    need(sha256(head + attested + sha256(c["body"]).digest()).digest() == c["hash"])
    return c


def judge(
    namespace: str, heads: dict[str, Any], stopped: set[str], key: bytes | None, value: bytes | None
) -> tuple[str, str | None]:
    """Give the verdict and the session that the key names; an accepted record moves the head."""
    session = None
    try:
        session = session_of(key or b"")
        c = decode(value or b"")
        need(c["session_id"] == key and c["namespace"] == namespace.encode())
    except Newer:
        stopped.add(str(session))
        return "newer", session
    except ValueError:
        return "broken", session
    if session in stopped:
        return "newer", session
    head = heads.get(session, {"hash": "00" * 32, "next_seq": 0, "writer": None})
    if head["hash"] == c["hash"].hex():
        return "duplicate", session
    fits = (c["prev_hash"].hex(), c["first_seq"]) == (head["hash"], head["next_seq"])
    if not fits or (c["kind"] == b"open") is (session in heads):
        return "stale", session
    heads[session] = {
        "hash": c["hash"].hex(),
        "next_seq": c["first_seq"] + c["event_count"],
        "writer": c["writer"].decode() if c["kind"] in (b"open", b"claim") else head["writer"],
        "released": c["kind"] == b"release",
    }
    return "accepted", session


def verify(namespace: str, lines: Iterator[str]) -> None:
    heads, stopped = dict[str, Any](), set[str]()
    for line in lines:
        key, value = (None if part is None else bytes.fromhex(part) for part in json.loads(line))
        print(json.dumps(judge(namespace, heads, stopped, key, value)))
    print(json.dumps({"heads": heads, "stopped": sorted(stopped)}))


if __name__ == "__main__":
    verify(sys.argv[1], iter(sys.stdin))
