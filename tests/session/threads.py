"""Threads that must end, for tests of what may hang."""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["WITHIN_S", "ends"]

WITHIN_S = 20.0
"""Seconds within which anything ends on a busy machine, unless it hangs."""


def ends(act: Callable[[], object]) -> list[Exception]:
    """Run something in a thread that must end; gives what it raised."""
    raised: list[Exception] = []

    def run() -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - the test says which it may be
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(WITHIN_S)
    assert not thread.is_alive(), "it hangs"
    return raised
