"""Fixtures of the tests of the command."""

from __future__ import annotations

import socket

import pytest


@pytest.fixture
def dead_address() -> str:
    """An address where nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{held.getsockname()[1]}"
