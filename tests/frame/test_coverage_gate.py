"""The coverage gate judges lines and branches, each by itself and each package by itself."""

from tests.frame.coverage_gate import File, shortfalls


def measured(*, lines: int = 100, branches: int = 100) -> File:
    return {
        "summary": {
            "num_statements": 100,
            "covered_lines": lines,
            "num_branches": 100,
            "covered_branches": branches,
        }
    }


def test_a_package_at_the_bound_passes() -> None:
    files = {"a/x.py": measured(lines=95, branches=90), "a/y.py": measured(lines=95)}
    assert shortfalls(files, "a", 95) == []


def test_covered_lines_do_not_hide_uncovered_branches() -> None:
    assert "94 of 100 branches" in shortfalls({"a/x.py": measured(branches=94)}, "a", 95)[0]


def test_uncovered_lines_are_found() -> None:
    assert "94 of 100 lines" in shortfalls({"a/x.py": measured(lines=94)}, "a", 95)[0]


def test_a_well_covered_package_does_not_lift_another() -> None:
    files = {"a/x.py": measured(lines=50), "ab/x.py": measured()}
    assert len(shortfalls(files, "a", 95)) == 1


def test_a_package_that_was_not_measured_is_a_shortfall() -> None:
    assert shortfalls({"b/x.py": measured()}, "a", 95) == ["a: no file was measured"]
