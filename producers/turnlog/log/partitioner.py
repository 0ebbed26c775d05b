"""The partition of a session: Kafka's murmur2 over its id, as `murmur2_random` does."""

from __future__ import annotations

__all__ = ["murmur2", "partition_of"]

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF


def partition_of(session_id: str, partitions: int) -> int:
    """The partition that holds a session's records, of so many in its layout."""
    return (murmur2(session_id.encode("utf-8")) & 0x7FFFFFFF) % partitions


def murmur2(data: bytes) -> int:
    """The 32-bit murmur2 hash that Kafka's own clients partition by, as an unsigned number."""
    length = len(data)
    value = _SEED ^ length
    whole = length - length % 4
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        value = value * _MULTIPLIER & _MASK ^ word
    if length > whole:
        value = (value ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    value = (value ^ value >> 13) * _MULTIPLIER & _MASK
    return value ^ value >> 15
