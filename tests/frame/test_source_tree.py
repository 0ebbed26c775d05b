"""The source tree keeps its rules, and each rule finds the tree that breaks it."""

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

import pytest

from tests.frame import source_tree
from tests.support.shared import REPO

Rule = Callable[[Path, Sequence[PurePosixPath]], list[str]]

RULES = (
    source_tree.namespace_inits,
    source_tree.leaf_packages,
    source_tree.top_folders,
    source_tree.module_lengths,
    source_tree.public_names,
    source_tree.registry_hosts,
)
GOOD = {
    "README.md": "turnlog",
    "schemas/turnlog/events/__init__.py": (
        '"""Events."""\nfrom json import dumps\nfrom ._a import A\n__all__ = ["A", "b"]\n'
        "def b(): ...\n_c = dumps(1)\n"
    ),
    "schemas/turnlog/events/_a.py": "class A: ...\n",
    "schemas/turnlog/events/py.typed": "",
    "schemas/turnlog/events/commit.avsc": "{}",
    "infra/compose/broker.yaml": "",
    "tests/events/test_a.py": "",
}
INIT = "schemas/turnlog/events/__init__.py"
BAD: list[tuple[Rule, dict[str, str | None], str]] = [
    (source_tree.namespace_inits, {"infra/turnlog/__init__.py": ""}, "infra/turnlog/__init__.py"),
    (source_tree.leaf_packages, {INIT: None}, "__init__.py is missing"),
    (source_tree.leaf_packages, {"schemas/turnlog/events/py.typed": None}, "py.typed is missing"),
    (source_tree.leaf_packages, {"infra/turnlog/events/x.py": ""}, "belongs to schemas/"),
    (source_tree.leaf_packages, {"infra/turnlog/web/x.py": ""}, "no root owns turnlog.web"),
    (source_tree.leaf_packages, {"infra/turnlog/x.py": ""}, "belongs in a package"),
    (source_tree.leaf_packages, {"infra/x.py": ""}, "belongs in a package"),
    (source_tree.top_folders, {"src/a.py": ""}, "src/"),
    (source_tree.module_lengths, {"tests/long.py": "x\n" * 401}, "401 lines"),
    (source_tree.module_lengths, {"tests/test_long.py": "x\n" * 751}, "751 lines"),
    (source_tree.public_names, {INIT: "a = 1\n"}, "no literal __all__"),
    (source_tree.public_names, {INIT: "__all__ = sorted(x)\n"}, "no literal __all__"),
    (source_tree.public_names, {INIT: '__all__ = ["a"]\n'}, "a is in __all__, but not there"),
    (source_tree.public_names, {INIT: "__all__ = []\na: int = 1\n"}, "a is not in __all__"),
    (source_tree.public_names, {INIT: "__all__ = []\nfrom .a import b\n"}, "b is not in __all__"),
    (
        source_tree.public_names,
        {INIT: "__all__ = []\nfrom turnlog.events.a import b\n"},
        "b is not in __all__",
    ),
    (
        source_tree.registry_hosts,
        {"docs/a.md": f"see HTTPS://{source_tree.REGISTRY_HOSTS[0].upper()}/x"},
        f"names {source_tree.REGISTRY_HOSTS[0]}",
    ),
]


def write_tree(root: Path, tree: dict[str, str]) -> list[PurePosixPath]:
    for name, text in tree.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return sorted(PurePosixPath(name) for name in tree)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_this_repository_keeps(rule: Rule) -> None:
    assert rule(REPO, source_tree.project_files(REPO)) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_good_tree_keeps(rule: Rule, tmp_path: Path) -> None:
    assert rule(tmp_path, write_tree(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("rule", "change", "breach"), BAD, ids=[f"{i}-{b[0].__name__}" for i, b in enumerate(BAD)]
)
def test_a_bad_tree_is_found(
    rule: Rule, change: dict[str, str | None], breach: str, tmp_path: Path
) -> None:
    tree = {name: text for name, text in {**GOOD, **change}.items() if text is not None}
    found = rule(tmp_path, write_tree(tmp_path, tree))
    assert any(breach in line for line in found), found


def test_no_file_is_a_copy_of_shared_data(shared_dir: Path) -> None:
    originals = [path for path in shared_dir.rglob("*") if path.is_file()]
    assert originals
    assert source_tree.copies(REPO, source_tree.project_files(REPO), originals) == []


@pytest.mark.parametrize("packed", [False, True])
def test_a_copy_is_found_gzipped_or_not(packed: bool, tmp_path: Path) -> None:
    original = tmp_path / "answers.jsonl.gz"
    original.write_bytes(gzip.compress(b'{"case":1}\n'))
    copy = tmp_path / "copy"
    copy.write_bytes(original.read_bytes() if packed else b'{"case":1}\n')
    found = source_tree.copies(tmp_path, [PurePosixPath("copy")], [original])
    assert any("a copy of answers.jsonl.gz" in line for line in found), found


def test_empty_files_are_no_copies(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert source_tree.copies(tmp_path, [PurePosixPath("a")], [tmp_path / "a"]) == []
