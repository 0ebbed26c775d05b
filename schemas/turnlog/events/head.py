"""The head: all that the log's arbiter keeps of one session."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Head"]


class Head(NamedTuple):
    """The last accepted record of a session.

    `writer` is the owner: the writer of the last accepted `open` or `claim`. `released` tells
    whether the last accepted record is a `release`.
    """

    hash: bytes
    next_seq: int
    writer: str
    released: bool
