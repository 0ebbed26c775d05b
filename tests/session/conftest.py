"""Fixtures of the session tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.backends import BACKENDS, Backend


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """Each backend in turn: what holds for one store holds for all."""
    backend = BACKENDS[request.param](tmp_path, request)
    yield backend
    backend.close()
