"""What every test has: hypothesis without a clock, and the shared data."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.shared import shared_path

pytest_plugins = ["tests.broker.plugin", "tests.conformance.options"]

# No test measures time: a slow or busy machine must not fail one. What hypothesis itself chose for
# this machine (in CI: the same examples in each run) stays.
settings.register_profile(
    "turnlog", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("turnlog")


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Return the folder of the shared data; without it skip, but fail in CI."""
    path = shared_path()
    if path.is_dir():
        return path
    reason = f"no shared data at {path}: set TURNLOG_SHARED to its folder"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
