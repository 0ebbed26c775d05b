"""docs/architecture.md can be followed: its links, and the sections that the source cites."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest

from tests.docs.markdown import page, sections
from tests.frame.source_tree import ROOTS, project_files
from tests.support.shared import REPO

ARCHITECTURE = page("docs/architecture.md")


def cited_sections() -> dict[str, list[PurePosixPath]]:
    """The numbers of the sections that the source cites, each with the files that do."""
    cited: dict[str, list[PurePosixPath]] = {}
    for path in project_files(REPO):
        if path.parts[0] in ROOTS and path.suffix == ".py":
            text = (REPO / path).read_text(encoding="utf-8")
            for numbers in re.findall(r"\bsections?\s+(\d+(?:(?:,| and)\s+\d+)*)", text):
                for number in re.findall(r"\d+", numbers):
                    cited.setdefault(number, []).append(path)
    return cited


def test_every_section_of_the_rules_that_the_source_cites_is_explained() -> None:
    rows = sections(ARCHITECTURE)["Rules and their sections"].table("section", "rules")
    explained = [row["section"] for row in rows]
    cited = cited_sections()
    assert "6" in cited
    assert {number: paths for number, paths in cited.items() if number not in explained} == {}
    assert explained == [str(number) for number in range(1, len(explained) + 1)]


@pytest.mark.parametrize("name", ["architecture.md", "events.md", "format.md"])
def test_every_link_of_a_page_leads_somewhere(name: str) -> None:
    text = page(f"docs/{name}")
    headings = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in sections(text)}
    for link in re.findall(r"\]\(([^)]+)\)", text):
        if link.startswith("#"):
            assert link[1:] in headings, link
        else:
            assert (REPO / "docs" / link).is_file(), link


def test_no_docstring_of_the_source_names_a_path_outside_of_the_repository() -> None:
    for path in project_files(REPO):
        if path.parts[0] in ROOTS and path.suffix == ".py":
            text = (REPO / path).read_text(encoding="utf-8")
            assert not re.search(r"/work/|shared/|\bdesign\.md\b|\bhouse\.md\b", text), path
