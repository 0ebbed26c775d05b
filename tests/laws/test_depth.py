"""No public function overflows a stack: each is given values 100,000 levels deep."""

from __future__ import annotations

import subprocess
import sys

import pytest

PACKAGES = ["turnlog.events", "turnlog.kernel"]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_function_overflows_on_deep_input(package: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.laws.deep_walk", package],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) > 20
