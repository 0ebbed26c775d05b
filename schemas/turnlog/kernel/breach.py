"""A breach: what is reported, and never stops reading, where a log breaks a rule."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Breach"]


class Breach(NamedTuple):
    """One broken rule: the seq of the event that breaks it, the rule's name, and the reason.

    The modules that find breaches list the names of their rules.
    """

    seq: int
    rule: str
    reason: str
