"""docs/tutorial.md, run from its top to its end on an embedded broker of its own."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from tests.docs.markdown import page, sections

PAGE = sections(page("docs/tutorial.md"))
PATIENCE_S = 120.0  # far above what a run here takes
TURNLOG = [sys.executable, "-m", "turnlog.cli"]
PROGRAMS = {".venv/bin/turnlog": TURNLOG, "turnlog": TURNLOG, "python": [sys.executable]}

_SAYS = {
    "turnlog repair mail --dry-run": ["tool/result", "turn/end"],
    "turnlog show mail": ["Send Ada the plan.", "send_mail", "Did it go out?"],
    "turnlog sessions": ["mail", "Send Ada the plan."],
    "turnlog messages mail --turn 2 --step 1": ["Did it go out?", "outcome is unknown"],
    "turnlog show mail --as events --json": ['"type":"session/end-seed"'],
    "turnlog lineage mail-again": ["mail"],
    "turnlog export mail --to out": ["mail"],
}
"""What is found in the output of some commands."""


def run(line: str, folder: Path, jars: Path) -> subprocess.CompletedProcess[str]:
    """Run one line of the page; no cluster is named, and no setting of ours is in its way."""
    program, *arguments = shlex.split(line)
    named = {"KAFKA_BOOTSTRAP", "TURNLOG_NAMESPACE", "TURNLOG_CLIENT_CONFIG"}
    env = {name: value for name, value in os.environ.items() if name not in named}
    return subprocess.run(
        [*PROGRAMS[program], *arguments],
        cwd=folder,
        env={**env, "TURNLOG_HOME": str(folder / "home"), "TURNLOG_JARS": str(jars)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )


def test_the_tutorial_runs_from_top_to_end(tmp_path: Path, jar_cache: Path) -> None:
    last = ""
    said = set()
    try:
        for section in PAGE.values():
            for block in section.blocks:
                if block.info == "python":
                    (tmp_path / "agent.py").write_text(block.text, encoding="utf-8")
                elif block.info == "":
                    assert last == block.text
                for line in block.text.splitlines() if block.info == "sh" else ():
                    if line == "make venv":
                        continue
                    done = run(line, tmp_path, jar_cache)
                    killed = line == 'python agent.py mail 1 "Send Ada the plan."'
                    wanted = -signal.SIGKILL if killed else 0
                    assert done.returncode == wanted, f"{line}: {done.stdout}{done.stderr}"
                    for text in _SAYS.get(line, ()):
                        assert text in done.stdout, f"{line}: {done.stdout}"
                        said.add(line)
                    last = done.stdout
    finally:
        run("turnlog down", tmp_path, jar_cache)
    assert said == set(_SAYS)
