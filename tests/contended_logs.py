"""Partitions as several writers leave them: races, repeats, and every fault that a record can have.

A partition is made from a length and a seed, so that a long one costs little; it shrinks by its
length.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import msgspec
from hypothesis import strategies as st

from tests.commits import Record, SessionLine, forged, record_of
from turnlog.events.avro import encode_commit
from turnlog.events.chain import commit_hash
from turnlog.events.commit import NO_HASH, Commit

__all__ = ["FAULTS", "NEWER", "contended_log", "contended_logs", "resealed"]

_WRITERS = ("w1", "w2", "w3")
_SESSIONS = ("a", "b", "ß \U0001f600")


def resealed(commit: Commit, **fields: object) -> Commit:
    """The commit with other fields and the hash that they ask for."""
    changed = msgspec.structs.replace(commit, **fields)
    return msgspec.structs.replace(changed, hash=commit_hash(changed))


def _flipped(commit: Commit, random: Random) -> bytes:
    data = bytearray(encode_commit(commit))
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(data)


def _cut(commit: Commit, random: Random) -> bytes:
    data = encode_commit(commit)
    return data[: random.randrange(len(data))]


def _spliced(commit: Commit, random: Random) -> bytes:
    data = bytearray(encode_commit(commit))
    at = random.randrange(10, len(data))
    piece = random.choice([b"\x80", b"\xff" * 11, b"\x80\x00", b"\x01", b"\x00" * 3])
    data[at : at + random.randrange(3)] = piece
    return bytes(data)


def _key(commit: Commit) -> bytes:
    return commit.session_id.encode()


FAULTS: dict[str, Callable[[Commit, Random], Record]] = {
    "no key": lambda c, _: (None, encode_commit(c)),
    "no value": lambda c, _: (_key(c), None),
    "an empty value": lambda c, _: (_key(c), b""),
    "a key that is no id": lambda c, r: (r.choice([b"", b"\xff", b"a\n", b"x" * 256]), b""),
    "another session's key": lambda c, _: (b"c", encode_commit(c)),
    "a flipped bit": lambda c, r: (_key(c), _flipped(c, r)),
    "a cut value": lambda c, r: (_key(c), _cut(c, r)),
    "other bytes inside": lambda c, r: (_key(c), _spliced(c, r)),
    "another namespace": lambda c, _: (_key(c), encode_commit(resealed(c, namespace="other"))),
    "another body": lambda c, _: (_key(c), encode_commit(msgspec.structs.replace(c, body=b"[0]"))),
    "format 0": lambda c, _: (_key(c), forged(c, format=0)),
    "a seq too many": lambda c, _: record_of(resealed(c, first_seq=c.first_seq + 1)),
    "another place in the chain": lambda c, _: record_of(resealed(c, prev_hash=b"?" * 32)),
    "an open with a past": lambda c, _: record_of(_open_on(c)),
}
"""What can be wrong with a record that leaves its session going on."""

NEWER: dict[str, Callable[[Commit, Random], Record]] = {
    "an unknown schema": lambda c, r: (_key(c), b"\xc3\x01" + r.randbytes(8) + b"?"),
    "an unknown format": lambda c, r: (_key(c), forged(c, format=r.choice([2, 2**60]))),
    "an unknown kind": lambda c, r: (_key(c), forged(c, kind=r.choice(["erase", "", "x"]))),
}
"""What stops a session for a reader of this version."""


def contended_log(length: int, seed: int) -> list[Record]:
    """A partition of so many records; the same for the same arguments."""
    random = Random(seed)
    lines = {
        session: [SessionLine(session, writer=writer) for writer in _WRITERS]
        for session in _SESSIONS
    }
    tips = {session: lines[session][0].head for session in _SESSIONS}
    records: list[Record] = []
    while len(records) < length:
        if records and random.random() < 0.1:
            records.append(random.choice(records[-4:]))  # a late or doubled record
            continue
        session = random.choice(_SESSIONS)
        line = random.choice(lines[session])
        if random.random() < 0.6:
            line.head = tips[session]  # it reads the log
        elif random.random() < 0.1:
            line.head = random.choice(lines[session]).head  # it believes what never landed
        before = line.head
        commit = _any_record(line, random)
        if random.random() < 0.2:
            line.head = before
            fault = random.choice([*(NEWER if random.random() < 0.05 else FAULTS).values()])
            records.append(fault(commit, random))
        elif random.random() < 0.9:  # else it is lost, and what this writer sends next hangs on it
            records.append(record_of(commit))
            if before.hash == tips[session].hash:
                tips[session] = line.head
    return records


def contended_logs(max_records: int = 40) -> st.SearchStrategy[list[Record]]:
    """Any such partitions."""
    return st.builds(contended_log, st.integers(0, max_records), st.integers(0, 2**32 - 1))


def _any_record(line: SessionLine, random: Random) -> Commit:
    if line.head.hash == NO_HASH and random.random() < 0.9:
        return line.open()
    dice = random.random()
    if dice < 0.7:
        return line.events(random.choice([1, 1, 3]))
    return line.claim() if dice < 0.85 else line.release()


def _open_on(commit: Commit) -> Commit:
    line = SessionLine(commit.session_id, writer="w9")
    return resealed(line.open(), prev_hash=commit.hash, first_seq=commit.next_seq)
