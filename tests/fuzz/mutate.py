"""Fuzzing by mutation: seeds, a small mutator, and a loop that keeps what behaves in a new way."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from random import Random
from typing import NamedTuple

__all__ = ["Finding", "Target", "fuzz", "mutate"]

_MOST_BYTES = 20_000


class Target(NamedTuple):
    """What is fuzzed: `run` raises where the input shows a fault, else says how it went.

    An input that went as none before becomes a seed. `tokens` are bytes that the mutator puts in.
    """

    run: Callable[[bytes], Hashable]
    seeds: Sequence[bytes]
    tokens: Sequence[bytes]


class Finding(Exception):
    """An input that shows a fault."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        super().__init__(f"fault with the input bytes.fromhex({data.hex()!r})")


def fuzz(
    target: Target, *, seed: int, count: int | None = None, seconds: float | None = None
) -> int:
    """Run a target on its seeds, then on mutations of them; gives the number of runs.

    Stops after `count` mutations or `seconds`, whichever is given and comes first. The same seed
    and count give the same inputs. Raises Finding at the first fault.
    """
    random = Random(seed)
    corpus: list[bytes] = []
    seen: set[Hashable] = set()
    end = None if seconds is None else time.monotonic() + seconds
    runs = 0
    for data in target.seeds:
        seen.add(_run(target, data))
        corpus.append(data)
        runs += 1
    while (count is None or runs < len(target.seeds) + count) and (
        end is None or time.monotonic() < end
    ):
        data = random.choice(corpus)
        for _ in range(random.choice((1, 1, 2, 4, 8))):
            data = mutate(data, random, target.tokens, corpus)
        outcome = _run(target, data)
        runs += 1
        if outcome not in seen:
            seen.add(outcome)
            corpus.append(data)
    return runs


def mutate(data: bytes, random: Random, tokens: Sequence[bytes], corpus: Sequence[bytes]) -> bytes:
    """Change an input in one place."""
    start = random.randint(0, len(data))
    end = min(len(data), start + random.choice((0, 1, 1, 2, 4, 16, 64)))
    head, part, tail = data[:start], data[start:end], data[end:]
    match random.randrange(9):
        case 0:  # cut out
            part = b""
        case 1:  # other bytes
            part = random.randbytes(len(part))
        case 2:  # one bit
            part = bytes([part[0] ^ 1 << random.randrange(8)]) + part[1:] if part else b"\x00"
        case 3:  # again and again
            part = part * random.choice((2, 3, 20))
        case 4 | 5:  # a token in its place, or before it
            part = random.choice(tokens) + random.choice((b"", part))
        case 6:  # a piece of another input
            other = random.choice(corpus)
            at = random.randint(0, len(other))
            part = other[at : at + random.choice((4, 32, 256))]
        case 7:  # a number, up or down
            if part and part[:1].isdigit():
                part = str(int(part[:1]) + random.choice((-1, 1, 2**53))).encode() + part[1:]
        case _:  # cut short, or the halves change places
            return (head, tail + part + head)[random.randrange(2)][:_MOST_BYTES]
    return (head + part + tail)[:_MOST_BYTES]


def _run(target: Target, data: bytes) -> Hashable:
    try:
        return target.run(data)
    except Exception as error:
        raise Finding(data) from error
