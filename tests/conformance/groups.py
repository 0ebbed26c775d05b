"""Groups of answers, one a test, and how a group is checked and reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from .answers import Answer, Op
from .cases import Case
from .compare import differences

__all__ = ["Group", "Result", "check", "groups_of"]

_MAX_CASES = 20
_MAX_DIFFERENCES = 4


class Group(NamedTuple):
    """The answers of one op in one file, of the cases of one family of kinds."""

    file: str
    family: str
    op: str
    cases: list[Case]

    @property
    def id(self) -> str:
        """The name of the group's test."""
        return "-".join(filter(None, (self.file, self.op, self.family)))


class Result(NamedTuple):
    """What checking a group gave: how many recorded answers were compared, and what is wrong."""

    answers: int
    wrong_cases: int
    report: str


def groups_of(cases: Sequence[Case]) -> list[Group]:
    """Sort every answer of every case into a group: by file, op, and the first part of the kind."""
    groups: dict[tuple[str, str, str], Group] = {}
    for case in cases:
        family = case.kind.partition("/")[0] if "/" in case.kind else ""
        for op in case.expect:
            key = (case.file, op, family)
            groups.setdefault(key, Group(case.file, family, op, [])).cases.append(case)
    return list(groups.values())


def check(group: Group, ops: Mapping[str, Op]) -> Result:
    """Compare every answer of a group. An op without an implementation is wrong in every case."""
    op = ops.get(group.op)
    answers = 0
    blocks: list[str] = []
    for case in group.cases:
        recorded = case.expect[group.op]
        expected_count = len(recorded) if type(recorded) is list else 1
        if op is None:
            lines, items = [f"    unknown op {group.op!r}: no answer was checked"], set[int]()
        else:
            lines, items = _check_case(op, case, recorded)
            if items != set(range(expected_count)):
                lines.append(f"    {len(items)} of {expected_count} recorded answers were checked")
        answers += len(items)
        if lines:
            where = f"{group.file}, line {case.line}: case {case.name} ({case.kind}), {group.op}"
            blocks.append("\n".join([where, *lines]))
    return Result(answers, len(blocks), _report(group, blocks))


def _check_case(op: Op, case: Case, recorded: Any) -> tuple[list[str], set[int]]:
    lines: list[str] = []
    items: set[int] = set()
    try:
        for given in op(case, recorded):
            items.add(given.item)
            lines.extend(_compare(given, many=type(recorded) is list))
    except Exception as error:  # noqa: BLE001 whatever it is, it is reported
        lines.append(f"    the runner stopped here: {type(error).__name__}: {error}")
    return lines, items


def _compare(given: Answer, *, many: bool) -> list[str]:
    found = list(islice(differences(given.expected, given.found), _MAX_DIFFERENCES + 1))
    label = f"answer {given.item}, {given.by}" if many else given.by
    lines = [f"    {label}: {item}" for item in found[:_MAX_DIFFERENCES]]
    if len(found) > _MAX_DIFFERENCES:
        lines.append(f"    {label}: and more")
    return lines


def _report(group: Group, blocks: list[str]) -> str:
    if not blocks:
        return ""
    more = len(blocks) - _MAX_CASES
    lines = [f"{group.id}: {len(blocks)} of {len(group.cases)} cases are wrong"]
    lines += blocks[:_MAX_CASES]
    if more > 0:
        lines.append(f"and {more} more cases")
    return "\n".join(lines)
