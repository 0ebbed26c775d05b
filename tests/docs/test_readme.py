"""What the README shows runs and prints what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
README = (REPO / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [body for marked, body in fenced if marked == language]


def test_the_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    (example,) = blocks("python")
    printed = next(block for block in blocks("") if "durable" in block)
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (printed, "")


def test_every_make_target_that_it_names_exists() -> None:
    makefile = (REPO / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"make ([a-z-]+)", README))
    assert {"demo", "test", "test-all", "bench", "soak"} <= named
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", README))
def test_every_file_that_it_links_to_exists(link: str) -> None:
    assert (REPO / link).is_file()
