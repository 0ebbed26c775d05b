"""What a forked child must know: the sessions and stores it was born with are its parent's.

A lock that another thread held at the fork stays locked in the child for ever, and threads and
connections don't exist there; so each object is told, and refuses instead of hanging.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["Forked", "tell_after_fork"]


class Forked(Protocol):
    """Something that must not go on in a forked child."""

    def forked(self) -> None:
        """Hear, in the child, that this is a copy: take new locks, refuse what needs the parent."""
        ...


_objects: WeakSet[Forked] = WeakSet()


def tell_after_fork(forked: Forked) -> None:
    """Have an object told in each child forked from now on, as long as it lives."""
    _objects.add(forked)


def _tell_all() -> None:
    for forked in list(_objects):
        forked.forked()


os.register_at_fork(after_in_child=_tell_all)
