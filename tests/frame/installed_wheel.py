"""Run the tests on the built wheel, in a clean environment outside the source tree.

    python -m tests.frame.installed_wheel [argument of pytest ...]

The wheel is built from the source distribution, so a file missing there shows too. The new
environment gets the wheel and its `test` extra, nothing else; what `test_installed.py` checks is
that the tests then see the wheel and no source root.
"""

import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

from tests.support.shared import REPO

CONSTRAINTS = REPO / "requirements" / "constraints.txt"


def build(into: Path) -> Path:
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(into), str(REPO)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = into.glob("*.whl")
    return wheel


def install(wheel: Path, environment: Path) -> Path:
    """Make an environment with the wheel and what its tests need; return its Python."""
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--constraint", str(CONSTRAINTS), f"turnlog[test] @ {wheel.as_uri()}"]
    subprocess.run(command, check=True)
    return python


def main(argv: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="turnlog-wheel-") as folder:
        python = install(build(Path(folder, "dist")), Path(folder, "venv"))
        # -I: neither PYTHONPATH nor the current folder is on the path.
        command = [str(python), "-I", "-m", "pytest", "-p", "no:cacheprovider", *argv]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        environment["TURNLOG_INSTALLED"] = "wheel"
        return subprocess.run(command, cwd=REPO, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
