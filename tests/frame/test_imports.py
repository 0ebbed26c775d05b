"""Each package imports only what its layer may know."""

from pathlib import PurePosixPath

import pytest

from tests.frame.imports import breaches
from tests.frame.source_tree import ROOTS, project_files
from tests.support.shared import REPO


def test_every_package_keeps_to_what_it_may_know() -> None:
    sources = [p for p in project_files(REPO) if p.parts[0] in ROOTS and p.suffix == ".py"]
    assert sources
    found = [b for p in sources for b in breaches(p, (REPO / p).read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("schemas/turnlog/events/a.py", "import time"),
        ("schemas/turnlog/events/a.py", "import os.path as p"),
        ("schemas/turnlog/events/a.py", "import io"),
        ("schemas/turnlog/events/a.py", "from io import FileIO"),
        ("schemas/turnlog/events/a.py", "import importlib"),
        ("schemas/turnlog/kernel/a.py", "def f():\n    from datetime import datetime"),
        ("schemas/turnlog/kernel/deep/a.py", "import random"),
        ("schemas/turnlog/kernel/a.py", "import asyncio, confluent_kafka"),
        ("schemas/turnlog/kernel/a.py", "f = open"),
        ("schemas/turnlog/kernel/a.py", "print(1)"),
        ("producers/turnlog/session/a.py", "from confluent_kafka import Producer"),
        ("producers/turnlog/log/a.py", "import faust"),
        ("producers/turnlog/importers/a.py", "import faust.app"),
        ("processors/turnlog/streams/a.py", "from sqlalchemy.engine import Engine"),
        ("processors/turnlog/sinks/a.py", "import faust"),
    ],
)
def test_a_forbidden_import_is_found(path: str, source: str) -> None:
    found = breaches(PurePosixPath(path), source)
    assert found
    assert all(line.startswith(path) for line in found)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("schemas/turnlog/events/a.py", "from io import BytesIO\nfrom sys import intern"),
        ("schemas/turnlog/events/a.py", "from importlib import resources\nimport fastavro.schema"),
        ("schemas/turnlog/kernel/a.py", "from collections.abc import Iterator\nfrom . import b"),
        ("schemas/turnlog/kernel/a.py", "class A:\n    def open(self): ...\n\nA().open()"),
        ("producers/turnlog/session/a.py", "import time, os, threading"),
        ("producers/turnlog/log/a.py", "import confluent_kafka"),
        ("infra/turnlog/cli/a.py", "import sqlalchemy, faust, confluent_kafka"),
        ("tests/events/a.py", "import time"),
    ],
)
def test_what_a_layer_may_know_passes(path: str, source: str) -> None:
    assert breaches(PurePosixPath(path), source) == []
