"""Named places where a test stops or ends the process; nothing happens there otherwise."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["arm", "reach"]

_actions: dict[str, Callable[[], object]] = {}


def arm(name: str, action: Callable[[], object]) -> None:
    """Have an action run each time the place of this name is reached."""
    _actions[name] = action


def reach(name: str) -> None:
    """Say that a place was reached. The names: docs/architecture.md, "Failpoints"."""
    if _actions:
        action = _actions.get(name)
        if action is not None:
            action()
