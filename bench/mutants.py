"""The mutants of one module: mutmut's operators, on every place where they say something.

Left out: annotations, decorators, imports, docstrings, `__all__`, texts for people (a string with a
space in it), the msgspec options `gc` and `eq`, and the arguments of `len` and `isinstance` as a
whole. Of a string mutmut makes three mutants, of which one is taken; where `False` is assigned,
`True` and not also `None`.

mutmut itself makes none of properties and of what stands outside a function; here both count.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Mutant", "mutants_of"]

# Without stubs, and only in the environment of `make mutation`.
cst: Any = import_module("libcst")
_metadata: Any = import_module("libcst.metadata")
_mutators: Any = import_module("mutmut.mutation.mutators")

_UNTOUCHED_CALLS = {"len", "isinstance"}
_UNTOUCHED_NAMES = {"__all__", "__slots__"}
_UNTOUCHED_OPTIONS = {"gc", "eq"}


class Mutant(NamedTuple):
    """One change of one module.

    `first` and `last` are its lines, inclusive, `head` the first line of its statement; `function`
    is the qualified name of the outermost function around it, None where there is none.
    """

    module: str
    first: int
    last: int
    head: int
    function: str | None
    tree: Any
    old: Any
    new: Any

    def source(self) -> str:
        """The whole module with this change."""
        code = self.tree.deep_replace(self.old, self.new).code
        assert isinstance(code, str)
        return code


class _Place(NamedTuple):
    """Where a walk is: the classes and the outermost function around, and the statement's line."""

    classes: tuple[str, ...] = ()
    function: str | None = None
    head: int = 1


def mutants_of(path: Path) -> list[Mutant]:
    """List the mutants of a module, in its order."""
    wrapper = _metadata.MetadataWrapper(cst.parse_module(path.read_text(encoding="utf-8")))
    positions = wrapper.resolve(_metadata.PositionProvider)
    return list(_walk(wrapper.module, _Place(), path.stem, wrapper.module, positions))


def _walk(node: Any, place: _Place, module: str, tree: Any, positions: Any) -> Iterator[Mutant]:
    if _untouched(node):
        return
    span = positions.get(node)
    if span is not None and isinstance(node, (cst.BaseStatement, cst.BaseSmallStatement)):
        place = place._replace(head=span.start.line)
    first, last = (span.start.line, span.end.line) if span else (place.head, place.head)
    for new in _changes(node):
        yield Mutant(module, first, last, place.head, place.function, tree, node, new)
    for child in node.children:
        inner = place
        if isinstance(node, cst.ClassDef):
            inner = place._replace(classes=(*place.classes, node.name.value))
        elif isinstance(node, cst.FunctionDef) and child is node.body and place.function is None:
            inner = place._replace(function=".".join((*place.classes, node.name.value)))
        yield from _walk(child, inner, module, tree, positions)


def _changes(node: Any) -> Iterator[Any]:
    for kind, operator in _mutators.mutation_operators:
        if not isinstance(node, kind):
            continue
        if operator is _mutators.operator_string:
            yield from list(operator(node))[:1]
        elif operator is _mutators.operator_arg_removal:
            yield from _arguments_changed(node, operator)
        elif operator is _mutators.operator_assignment and _is_text_or_false(node.value):
            continue
        else:
            yield from operator(node)


def _arguments_changed(call: Any, operator: Any) -> Iterator[Any]:
    if isinstance(call.func, cst.Name) and call.func.value in _UNTOUCHED_CALLS:
        return
    for new in operator(call):
        pairs = zip(call.args, new.args, strict=False)
        at = next((i for i, (a, b) in enumerate(pairs) if a is not b), len(new.args))
        if not _is_text(call.args[at].value):
            yield new


def _untouched(node: Any) -> bool:
    kinds = (cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom)
    if isinstance(node, kinds) or _is_text(node):
        return True
    if isinstance(node, cst.Expr):  # a docstring
        return isinstance(node.value, cst.SimpleString)
    if isinstance(node, cst.Arg) and node.keyword is not None:
        return node.keyword.value in _UNTOUCHED_OPTIONS
    if isinstance(node, cst.Assign):
        target = node.targets[0].target
        return isinstance(target, cst.Name) and target.value in _UNTOUCHED_NAMES
    return False


def _is_text_or_false(node: Any) -> bool:
    return _is_text(node) or (isinstance(node, cst.Name) and node.value == "False")


def _is_text(node: Any) -> bool:
    """Whether it is a string for people: such have a space somewhere."""
    if isinstance(node, cst.SimpleString):
        return " " in node.value
    if isinstance(node, cst.FormattedString):
        return any(" " in p.value for p in node.parts if isinstance(p, cst.FormattedStringText))
    if isinstance(node, cst.ConcatenatedString):
        return _is_text(node.left) or _is_text(node.right)
    return False
