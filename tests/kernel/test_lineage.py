"""Session traces: ancestors, descendants, and what is unresolved or in a circle."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnlog.events.errors import LineageCycle, UnknownSession
from turnlog.events.header import Header
from turnlog.events.jsontext import dumps
from turnlog.kernel.lineage import trace_session


def _header(id: str, parent: str | None = None, created_at: int = 0) -> Header:
    return Header.new(id, created_at, parentSession=parent)


_FAMILY = [
    _header("grandchild", "b", 9),
    _header("b", "root", 5),
    _header("c", "root", 1),
    _header("root"),
    _header("stranger", None, 3),
]


def test_ancestors_lead_outward_to_the_root() -> None:
    lineage = trace_session(_FAMILY, "grandchild")
    assert lineage.ancestors == ("b", "root")
    assert (lineage.root, lineage.unresolved_parent_id, lineage.complete) == ("root", None, True)


def test_descendants_are_a_tree_in_preorder() -> None:
    assert trace_session(_FAMILY, "root").descendants == (("c", 1), ("b", 1), ("grandchild", 2))
    assert trace_session(_FAMILY, "b").descendants == (("grandchild", 1),)


def test_a_session_without_family_is_its_own_root() -> None:
    lineage = trace_session(_FAMILY, "stranger")
    assert (lineage.root, lineage.ancestors, lineage.descendants) == ("stranger", (), ())


def test_siblings_of_one_moment_are_in_the_order_of_code_points() -> None:
    # In UTF-16 the last would stand before the second last.
    ids = ["Z", "a", "é", "\uffee", "\U0001f600"]
    headers = [_header("root"), *(_header(child, "root", 4) for child in reversed(ids))]
    assert [child.id for child in trace_session(headers, "root").descendants] == ids


def test_the_first_parent_without_a_header_is_named() -> None:
    lineage = trace_session([_header("a", "gone"), _header("b", "a")], "b")
    assert lineage.ancestors == ("a",)
    assert (lineage.root, lineage.unresolved_parent_id, lineage.complete) == (None, "gone", False)
    assert lineage.to_json() == {
        "target": "b",
        "ancestors": ["a"],
        "descendants": [],
        "complete": False,
        "unresolvedParentId": "gone",
    }


def test_the_json_form_nests_the_descendants() -> None:
    assert trace_session(_FAMILY, "root").to_json() == {
        "target": "root",
        "ancestors": [],
        "descendants": [
            {"id": "c", "descendants": []},
            {"id": "b", "descendants": [{"id": "grandchild", "descendants": []}]},
        ],
        "complete": True,
        "root": "root",
    }


@pytest.mark.parametrize("id", ["self", "x", "y", "below"])
def test_ancestors_in_a_circle_are_an_error(id: str) -> None:
    headers = [_header("self", "self"), _header("x", "y"), _header("y", "x"), _header("below", "x")]
    with pytest.raises(LineageCycle) as caught:
        trace_session([*headers, _header("apart")], id)
    assert caught.value.session_id == id
    assert trace_session([*headers, _header("apart")], "apart").complete


def test_an_unknown_session_is_an_error_also_where_it_has_children() -> None:
    with pytest.raises(UnknownSession) as caught:
        trace_session([_header("a", "gone")], "gone")
    assert caught.value.session_id == "gone"


def test_of_a_repeated_id_the_last_header_counts() -> None:
    headers = [_header("a", "old"), _header("old"), _header("new"), _header("a", "new")]
    assert trace_session(headers, "a").root == "new"
    assert trace_session(headers, "old").descendants == ()


def test_a_chain_of_any_length_is_traced() -> None:
    count = 100_000
    headers = [_header("0"), *(_header(str(n), str(n - 1)) for n in range(1, count))]
    assert trace_session(headers, str(count - 1)).root == "0"
    lineage = trace_session(headers, "0")
    assert lineage.descendants[-1] == (str(count - 1), count - 1)
    assert dumps(lineage.to_json()).count(b'"id"') == count - 1


def _tree(headers: list[Header], id: str) -> list[Any]:
    children = sorted(
        (header for header in headers if header.parent_session == id),
        key=lambda header: (header.created_at_ms, header.id),
    )
    return [{"id": child.id, "descendants": _tree(headers, child.id)} for child in children]


@st.composite
def _forests(draw: st.DrawFn) -> list[Header]:
    """Headers whose parents come before them, shuffled."""
    headers: list[Header] = []
    for n in range(draw(st.integers(1, 12))):
        parent = draw(st.sampled_from([None, "gone", *(header.id for header in headers)]))
        headers.append(_header(f"n{n}", parent, draw(st.integers(0, 2))))
    return draw(st.permutations(headers))


@settings(max_examples=100)
@given(_forests())
def test_the_tree_is_that_of_the_plain_recursion_and_ancestors_agree_with_it(
    headers: list[Header],
) -> None:
    lineages = {header.id: trace_session(headers, header.id) for header in headers}
    for target, lineage in lineages.items():
        assert lineage.to_json()["descendants"] == _tree(headers, target)
        for ancestor in lineage.ancestors:
            depth = lineage.ancestors.index(ancestor) + 1
            assert (target, depth) in lineages[ancestor].descendants
        assert lineage.complete == (lineage.root is not None)
