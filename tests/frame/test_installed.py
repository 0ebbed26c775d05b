"""The tests import what they mean to: the four source roots, or the wheel and nothing else.

`installed_wheel.py` sets TURNLOG_INSTALLED=wheel. Both runs must find the same files.
"""

import importlib.metadata
import os
import sys
import sysconfig
from pathlib import Path

import turnlog
from tests.frame.source_tree import ROOTS, project_files
from tests.support.shared import REPO

FROM_WHEEL = os.environ.get("TURNLOG_INSTALLED") == "wheel"
SOURCES = {REPO / root / "turnlog" for root in ROOTS}


def packaged(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_the_namespace_lies_where_this_run_means_it_to() -> None:
    folders = {Path(folder).resolve() for folder in turnlog.__path__}
    if FROM_WHEEL:
        assert folders == {Path(sysconfig.get_path("purelib")).resolve() / "turnlog"}
    else:
        assert folders == {folder for folder in SOURCES if folder.is_dir()}


def test_source_roots_are_on_the_path_only_of_the_editable_install() -> None:
    roots = {folder.parent for folder in SOURCES}
    on_path = {Path(entry).resolve() for entry in sys.path} & roots
    assert on_path == (set() if FROM_WHEEL else {root for root in roots if root.is_dir()})


def test_every_source_file_is_installed_and_no_other() -> None:
    sources = {
        "/".join(path.parts[2:]): (REPO / path).read_bytes()
        for path in project_files(REPO)
        if path.parts[0] in ROOTS and path.parts[1] == "turnlog"
    }
    installed: dict[str, bytes] = {}
    for folder in turnlog.__path__:
        installed |= packaged(Path(folder))
    assert installed.keys() == sources.keys()
    assert installed == sources


def test_every_command_of_the_distribution_loads() -> None:
    commands = [
        entry
        for entry in importlib.metadata.distribution("turnlog").entry_points
        if entry.group == "console_scripts"
    ]
    assert commands
    assert all(callable(command.load()) for command in commands)
