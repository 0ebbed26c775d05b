"""Where the shared data lies: conformance answers, recorded sessions and the project's rules."""

import os
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


def shared_path() -> Path:
    """Return the folder that TURNLOG_SHARED names, else ``../shared``; it need not exist.

    A relative name counts from the top of the repository, wherever the tests were started. This is
    a function, and no fixture alone, since cases are collected before any fixture runs.
    """
    return (REPO / (os.environ.get("TURNLOG_SHARED") or "../shared")).resolve()
