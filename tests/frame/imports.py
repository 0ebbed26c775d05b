"""What each package may import: the "must not know" column of the layout.

Which of our packages may import which is import-linter's (pyproject.toml); this is about the rest.
"""

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

PURE = {"events", "kernel"}

# A pure package imports only what can't reach a clock, chance, the environment, files or a network.
PURE_MODULES = {
    "__future__",
    "abc",
    "array",
    "base64",
    "binascii",
    "bisect",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "decimal",
    "enum",
    "functools",
    "hashlib",
    "heapq",
    "importlib.resources",  # the package's own schema files
    "itertools",
    "json",
    "marshal",
    "math",
    "operator",
    "re",
    "reprlib",
    "string",
    "struct",
    "types",
    "typing",
    "unicodedata",
    "weakref",
    "zlib",
    "fastavro",
    "msgspec",
    "orjson",
    "turnlog",
    "zstandard",
}
# Of these, only the names that keep to the rule; the module itself is out of reach.
PURE_NAMES = {
    "importlib": {"resources"},
    "io": {"BufferedIOBase", "BytesIO", "IOBase", "RawIOBase", "StringIO", "TextIOBase"},
    "sys": {"getsizeof", "intern", "maxsize"},
}
IMPURE_BUILTINS = {"__import__", "breakpoint", "eval", "exec", "input", "open", "print"}

_BROKER_CLIENTS = {"aiokafka", "confluent_kafka", "kafka"}
_DATABASES = {"psycopg", "sqlalchemy", "sqlite3"}
_FAUST = {"faust", "mode"}
MUST_NOT_KNOW = {
    "session": _BROKER_CLIENTS | _DATABASES | _FAUST,
    "log": _DATABASES | _FAUST,
    "importers": _FAUST,
    "streams": _DATABASES,
    "sinks": _FAUST,
}


class Import(NamedTuple):
    line: int
    module: str
    name: str | None  # what `from module import name` takes; None: the module


def imports(tree: ast.AST) -> Iterator[Import]:
    """Yield every import of another package, also those inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, None)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                yield Import(node.lineno, node.module, alias.name)


def breaches(path: PurePosixPath, source: str) -> list[str]:
    """Return what ``<root>/turnlog/<leaf>/….py`` uses and must not; nothing for other files."""
    if len(path.parts) < 4 or path.parts[1] != "turnlog" or path.suffix != ".py":
        return []
    leaf = path.parts[2]
    tree = ast.parse(source)
    found: list[tuple[int, str]] = []
    for line, module, name in imports(tree):
        text = module if name is None else f"{module}.{name}"
        if module.partition(".")[0] in MUST_NOT_KNOW.get(leaf, ()):
            found.append((line, f"turnlog.{leaf} must not know {module}"))
        elif leaf in PURE and not _is_pure(module, name):
            found.append((line, f"turnlog.{leaf} is pure and must not import {text}"))
    if leaf in PURE:
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in IMPURE_BUILTINS:
                found.append((node.lineno, f"turnlog.{leaf} is pure and must not use {node.id}"))
    return [f"{path}:{line}: {text}" for line, text in sorted(found)]


def _is_pure(module: str, name: str | None) -> bool:
    if name is not None and name in PURE_NAMES.get(module, ()):
        return True
    parts = module.split(".")
    return any(".".join(parts[: i + 1]) in PURE_MODULES for i in range(len(parts)))
