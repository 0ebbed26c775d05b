"""The runner itself: what it must report is reported, on answers of our own in `sample/`."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.answers import Answer, outcome, required
from tests.conformance.cases import (
    BadFile,
    Case,
    read_cases,
    read_chunk_rows,
    read_recorded,
    read_value,
)
from tests.conformance.compare import differences, show
from tests.conformance.groups import Group, check, groups_of
from tests.conformance.ops import OPS
from tests.conformance.ops_session import put_numbers_in
from turnlog.events.errors import RestoreRefused

SAMPLE = Path(__file__).parent / "sample"
CASES = [
    *read_cases(SAMPLE / "logs.jsonl"),
    *read_chunk_rows(SAMPLE / "chunk-rows.jsonl"),
    *read_recorded(SAMPLE / "recorded"),
]
GROUPS = groups_of(CASES)

# Wording and codes are information; the ops whose code counts have a test of their own.
_INFORMATION = {"error", "code"}
# What stands in an answer and was asked: another question may have the same answer.
_QUESTIONS = {"boundary", "id"}


def _found(expected: Any, found: Any) -> list[str]:
    return [str(difference) for difference in differences(expected, found)]


# --- the comparer --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (1, 1.0),
        (-0.0, 0),
        (0, -0.0),
        (2**70, float(2**70)),
        ({"a": 1, "b": [None, True]}, {"b": [None, True], "a": 1.0}),
        ("\ud800", "\ud800"),
        ([], []),
        ({}, {}),
    ],
    ids=repr,
)
def test_equal_values_have_no_difference(expected: Any, found: Any) -> None:
    assert not _found(expected, found)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (1, True),
        (True, 1),
        (0, False),
        (False, None),
        (None, 0),
        (None, ""),
        ("1", 1),
        (2**53, 2**53 + 1),
        (2**53 + 1, float(2**53)),
        (float("nan"), float("nan")),
        ("é", "e\u0301"),
        ([], {}),
        ({}, []),
        ([], None),
        ([1], [1, 1]),
        ([1, 1], [1]),
        ([1, 2], [2, 1]),
        ({"a": None}, {}),
        ({}, {"a": None}),
        ({"a": 1}, {"b": 1}),
        ([1, 2], (1, 2)),
        ("a", b"a"),
        ({"a": [{"b": 1}]}, {"a": [{"b": True}]}),
    ],
    ids=repr,
)
def test_unequal_values_differ(expected: Any, found: Any) -> None:
    assert _found(expected, found)


def test_a_subclass_of_a_json_type_differs() -> None:
    class Text(str):
        __slots__ = ()

    class Number(int):
        pass

    class Object(dict[str, Any]):
        pass

    assert _found("a", Text("a"))
    assert _found(1, Number(1))
    assert _found({}, Object())


def test_a_difference_names_its_path_and_both_values_in_document_order() -> None:
    expected = {"value": {"nodes": [1, 2], "last type": "x", "gone": None}}
    found = {"value": {"nodes": [1, 3, 4], "last type": "y", "new": True}}
    assert _found(expected, found) == [
        "$.value.nodes[1]: expected 2, found 3",
        "$.value.nodes[2]: expected nothing, found 4",
        '$.value["last type"]: expected "x", found "y"',
        "$.value.gone: expected null, found nothing",
        "$.value.new: expected nothing, found true",
    ]


def test_depth_is_no_limit() -> None:
    def deep(leaf: Any) -> Any:
        value = leaf
        for _ in range(100_000):
            value = [value]
        return value

    assert not _found(deep(1), deep(1.0))
    (difference,) = differences(deep(1), deep(True))
    assert len(difference.path) == 1 + 3 * 100_000
    assert show(deep(1)).startswith("list ")


def test_a_shown_value_is_clipped_and_can_be_printed() -> None:
    assert len(show("x" * 100_000)) < 250
    assert "100002 characters" in show("x" * 100_000)
    assert show("\ud800") == '"\\ud800"'
    assert show((1,)) == "tuple [1]"


# --- answers -------------------------------------------------------------------------------------


def test_every_op_has_a_sample_answer() -> None:
    assert {group.op for group in GROUPS} == set(OPS)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.id)
def test_a_right_answer_is_found_and_counted(group: Group) -> None:
    result = check(group, OPS)
    assert result.report == ""
    recorded = [case.expect[group.op] for case in group.cases]
    assert result.answers == sum(len(item) if type(item) is list else 1 for item in recorded)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.id)
def test_an_answer_wrong_in_any_one_place_is_reported(group: Group) -> None:
    tried = 0
    for case in group.cases:
        for place, wrong in _wrong_answers(case.expect[group.op]):
            changed = Case(case.file, case.line, case.name, case.kind, case.inputs, {})
            changed.expect[group.op] = wrong
            result = check(group._replace(cases=[changed]), OPS)
            assert result.wrong_cases == 1, f"{case.name}: {place} was changed and not reported"
            assert case.name in result.report
            tried += 1
    assert tried


def _wrong_answers(right: Any) -> Iterator[tuple[str, Any]]:
    """Give copies of an answer that are wrong in one place each, and the name of the place."""
    root = {"answer": right}
    places: list[list[Any]] = [["answer"]]
    while places:
        place = places.pop()
        value = _at(root, place)
        if len(place) == 3 and place[-1] in _QUESTIONS:
            continue
        if type(value) is dict:
            places.extend([*place, key] for key in value if key not in _INFORMATION)
        elif type(value) is list:
            places.extend([*place, index] for index in range(len(value)))
        # The whole answer of some ops is a list of what was asked: a shorter one is not wrong.
        shorter = [value[:-1]] if type(value) is list and value and len(place) > 1 else []
        for change in (_other(value), *shorter):
            wrong = copy.deepcopy(root)
            _at(wrong, place[:-1])[place[-1]] = change
            yield "/".join(map(str, place)), wrong["answer"]


def _at(root: Any, place: list[Any]) -> Any:
    for key in place:
        root = root[key]
    return root


def _other(value: Any) -> Any:
    match value:
        case bool():
            return int(value)
        case int() | float():
            return value + 1
        case str():
            return "" if value == "*" else f"{value}?"
        case None:
            return 0
        case list():
            return [*value, None]
    return {**value, "more": None}


def test_a_refusal_that_is_recorded_and_not_found_is_reported() -> None:
    case = _sample("sample-1")
    wrong = _with_answer(case, "restore", {"ok": False, "index": 3, "code": "SEQ"})
    report = check(Group("f", "", "restore", [wrong]), OPS).report
    assert "$.ok: expected false, found true" in report
    assert "$.index: expected 3, found nothing" in report


def test_a_refusal_that_is_found_and_not_recorded_is_reported_with_its_reason() -> None:
    case = _sample("sample-2")
    wrong = _with_answer(case, "restore", _sample("sample-1").expect["restore"])
    report = check(Group("f", "", "restore", [wrong]), OPS).report
    assert "$.ok: expected true, found false" in report
    assert "RestoreRefused" in report


def test_the_code_of_a_fork_or_lineage_is_required() -> None:
    for name, op, item in (("sample-1", "fork", 0), ("sample-10", "lineage", 3)):
        case = _sample(name)
        wrong = copy.deepcopy(case.expect[op])
        wrong[item]["code"] = "OTHER"
        report = check(Group("f", "", op, [_with_answer(case, op, wrong)]), OPS).report
        assert f"answer {item}" in report
        assert '$.code: expected "OTHER"' in report


def test_the_index_that_an_error_names_is_required() -> None:
    assert required({"ok": False, "error": "seed event at index 12 has seq 3"})["index"] == 12
    assert "index" not in required({"ok": False, "error": "start seq 3 (index 4) is after 5"})


def test_an_error_that_is_no_refusal_equals_no_answer() -> None:
    def fail() -> None:
        raise KeyError("turn")

    crash = outcome(fail, RestoreRefused)
    assert _found({"ok": False}, crash)
    assert "KeyError: 'turn' (test_runner.py:" in repr(crash)


def test_numbers_that_json_lacks_are_put_in_at_any_depth() -> None:
    call = {"type": "t", "data": [{"$number": "-Infinity"}, {"a": {"$number": "-0"}, "$number": 1}]}
    found = put_numbers_in(call)
    assert found["data"][0] == float("-inf")
    assert str(found["data"][1]["a"]) == "-0.0"
    assert found["data"][1]["$number"] == 1
    assert call["data"][0] == {"$number": "-Infinity"}


# --- nothing passes unseen -----------------------------------------------------------------------


def test_an_unknown_op_is_reported() -> None:
    result = check(Group("f", "", "guess", [_with_answer(_sample("sample-1"), "guess", {})]), OPS)
    assert (result.answers, result.wrong_cases) == (0, 1)
    assert "unknown op 'guess'" in result.report


def test_an_op_that_checks_nothing_is_reported() -> None:
    def idle(case: Case, recorded: Any) -> Iterator[Answer]:
        return iter(())

    result = check(
        Group("f", "", "idle", [_with_answer(_sample("sample-1"), "idle", {})]), {"idle": idle}
    )
    assert "0 of 1 recorded answers were checked" in result.report


def test_an_op_that_raises_is_reported() -> None:
    def broken(case: Case, recorded: Any) -> Iterator[Answer]:
        yield Answer(0, "", 1, 1)
        raise RecursionError("too deep")

    result = check(
        Group("f", "", "broken", [_with_answer(_sample("sample-1"), "broken", {})]),
        {"broken": broken},
    )
    assert "RecursionError: too deep" in result.report


def test_many_wrong_cases_are_counted_and_the_first_are_listed() -> None:
    case = _with_answer(_sample("sample-1"), "known", {"ok": False, "type": "x", "seq": 1})
    result = check(Group("f", "", "known", [case] * 50), OPS)
    assert result.wrong_cases == 50
    assert result.report.count("case sample-1") == 20
    assert "and 30 more cases" in result.report


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "{",
        "[]",
        '{"case": "a", "kind": "b"}',
        '{"case": "a", "kind": "b", "expect": {}}',
        '{"case": 1, "kind": "b", "expect": {"restore": {}}}',
    ],
)
def test_a_file_that_is_not_of_the_form_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "logs.jsonl"
    path.write_text(text)
    with pytest.raises(BadFile):
        read_cases(path)
    with pytest.raises(BadFile):
        read_chunk_rows(path)


def test_a_recorded_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "expect.jsonl").write_text('{"file": "gone.jsonl", "expect": {"events": 1}}')
    with pytest.raises(BadFile, match="gone"):
        read_recorded(tmp_path)


def test_numbers_are_read_as_they_stand() -> None:
    value = read_value(b"[-0, -0.0, 1.0, 9007199254740993, 123456789012345678901234567890]")
    assert list(map(repr, value[:3])) == ["-0.0", "-0.0", "1.0"]
    assert value[3:] == [9007199254740993, 123456789012345678901234567890]


def _sample(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def _with_answer(case: Case, op: str, recorded: Any) -> Case:
    return Case(case.file, case.line, case.name, case.kind, case.inputs, {op: recorded})
