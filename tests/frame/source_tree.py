"""The rules of the source tree, each a function from the tree to the breaches it finds.

A tree is the top folder and its files' paths, relative and sorted. No rule here knows this
repository, so each can be tried on a bad tree.
"""

import ast
import gzip
import hashlib
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

NAMESPACE = "turnlog"
ROOT_OF_LEAF = {
    "events": "schemas",
    "kernel": "schemas",
    "session": "producers",
    "log": "producers",
    "importers": "producers",
    "streams": "processors",
    "sinks": "processors",
    "broker": "infra",
    "cli": "infra",
    "api": "infra",
}
ROOTS = ("schemas", "producers", "processors", "infra")
TOP_FOLDERS = {*ROOTS, ".ci", "bench", "docs", "requirements", "stubs", "tests"}
MODULE_LINES_MAX = 400
# A test module holds one module's behaviours, a behaviour a test: long, but not deep.
TEST_LINES_MAX = 750
# In two parts each, so that this file keeps the rule too.
REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("crates", "io"),
        ("proxy.golang", "org"),
        ("repo1.maven", "org"),
        ("repo.maven.apache", "org"),
        ("deb.debian", "org"),
        ("docker", "io"),
    )
]


def project_files(root: Path) -> list[PurePosixPath]:
    """Return the files that git tracks or would add, less those deleted from the folder."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    command += ["--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return sorted(
        PurePosixPath(name) for name in set(listed.split("\0")) if (root / name).is_file()
    )


def namespace_inits(root: Path, files: Sequence[PurePosixPath]) -> list[str]:
    """Find an ``__init__.py`` of the namespace itself: one would hide the other roots."""
    return [
        f"{path}: {NAMESPACE} is a namespace over several roots and has no __init__.py"
        for path in files
        if path.name == "__init__.py" and path.parent.name == NAMESPACE
    ]


def leaf_packages(root: Path, files: Sequence[PurePosixPath]) -> list[str]:
    """Find packages with the wrong owner or without ``__init__.py`` or ``py.typed``."""
    breaches: list[str] = []
    for path in files:
        if path.parts[0] in ROOTS and path.suffix == ".py" and len(path.parts) < 4:
            breaches.append(f"{path}: source belongs in a package {NAMESPACE}.<name>")
    for leaf in _leaves(files):
        owner = ROOT_OF_LEAF.get(leaf.name)
        if owner is None:
            breaches.append(f"{leaf}: no root owns {NAMESPACE}.{leaf.name}: see ROOT_OF_LEAF")
        elif leaf.parts[0] != owner:
            breaches.append(f"{leaf}: {NAMESPACE}.{leaf.name} belongs to {owner}/")
        breaches += [
            f"{leaf}: {name} is missing"
            for name in ("__init__.py", "py.typed")
            if leaf / name not in files
        ]
    return breaches


def top_folders(root: Path, files: Sequence[PurePosixPath]) -> list[str]:
    """Find folders at the top that the layout does not know."""
    found = {path.parts[0] for path in files if len(path.parts) > 1}
    return [f"{name}/: not in the layout" for name in sorted(found - TOP_FOLDERS)]


def module_lengths(root: Path, files: Sequence[PurePosixPath]) -> list[str]:
    """Find modules that hold more than one concept can need."""
    breaches: list[str] = []
    for path in files:
        if path.suffix in {".py", ".pyi"}:
            lines = len((root / path).read_text(encoding="utf-8").splitlines())
            most = TEST_LINES_MAX if path.name.startswith("test_") else MODULE_LINES_MAX
            if lines > most:
                breaches.append(f"{path}: {lines} lines, {most} at most")
    return breaches


def public_names(root: Path, files: Sequence[PurePosixPath]) -> list[str]:
    """Find packages whose ``__all__`` is not exactly what they define and take from their own."""
    breaches: list[str] = []
    for leaf in _leaves(files):
        path = leaf / "__init__.py"
        if path not in files:
            continue
        tree = ast.parse((root / path).read_text(encoding="utf-8"))
        listed = _listed(tree)
        if listed is None:
            breaches.append(f"{path}: no literal __all__")
            continue
        bound, public = _bound(tree, leaf.name)
        breaches += [f"{path}: {name} is in __all__, but not there" for name in listed - bound]
        breaches += [f"{path}: {name} is not in __all__" for name in public - listed]
    return sorted(breaches)


def registry_hosts(root: Path, files: Sequence[PurePosixPath]) -> list[str]:
    """Find host names of package registries: which one is asked is the machine's setting."""
    breaches: list[str] = []
    for path in files:
        content = (root / path).read_bytes().lower()
        breaches += [f"{path}: names {host}" for host in REGISTRY_HOSTS if host.encode() in content]
    return breaches


def copies(root: Path, files: Sequence[PurePosixPath], originals: Iterable[Path]) -> list[str]:
    """Find files that equal one of ``originals``, gzipped or not."""
    known = {digest: original.name for original in originals for digest in _digests(original)}
    return [
        f"{path}: a copy of {known[digest]}"
        for path in files
        for digest in _digests(root / path)
        if digest in known
    ]


def _leaves(files: Sequence[PurePosixPath]) -> list[PurePosixPath]:
    """Return the folders ``<root>/turnlog/<leaf>`` that hold a file."""
    inside = (path.parts for path in files if len(path.parts) > 3)
    return sorted({PurePosixPath(*p[:3]) for p in inside if p[0] in ROOTS and p[1] == NAMESPACE})


def _listed(tree: ast.Module) -> set[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            try:
                return set(ast.literal_eval(node.value))
            except ValueError:
                return None
    return None


def _bound(tree: ast.Module, leaf: str) -> tuple[set[str], set[str]]:
    """Return all names that a module binds, and those of them that are public.

    A name taken from another package is bound, and public only if ``__all__`` says so.
    """
    bound: set[str] = set()
    public: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names, own = {node.name}, True
            case ast.Assign():
                names = {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
                own = True
            case ast.AnnAssign(target=ast.Name(id=name)):
                names, own = {name}, True
            case ast.Import() | ast.ImportFrom():
                names = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
                package = f"{NAMESPACE}.{leaf}"
                own = isinstance(node, ast.ImportFrom) and (
                    node.level > 0 or f"{node.module}.".startswith(f"{package}.")
                )
            case _:
                continue
        bound |= names
        if own:
            public |= {name for name in names if not name.startswith("_")}
    return bound, public


def _digests(path: Path) -> Iterator[bytes]:
    """Yield the digest of a file's bytes, and of what is gzipped in it; empty bytes have none."""
    content = path.read_bytes()
    if content:
        yield hashlib.sha256(content).digest()
    if content.startswith(b"\x1f\x8b"):
        yield hashlib.sha256(gzip.decompress(content)).digest()
