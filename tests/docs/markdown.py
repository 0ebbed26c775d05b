"""Read a page: its sections, and in each its fenced blocks and tables in order."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from tests.support.shared import REPO

__all__ = ["Block", "Section", "Table", "code_in", "page", "sections"]


class Block(NamedTuple):
    """A fenced block: the words behind the fence, and its text."""

    info: str
    text: str


class Table(NamedTuple):
    """A table: its head, and its rows by column."""

    head: tuple[str, ...]
    rows: list[dict[str, str]]


class Section(NamedTuple):
    """What stands below one heading, up to the next."""

    title: str
    blocks: list[Block]
    tables: list[Table]

    def table(self, *head: str) -> list[dict[str, str]]:
        """Give the rows of the section's one table of this head; none where it has none."""
        found = [table.rows for table in self.tables if table.head == head]
        assert len(found) < 2, f"{self.title}: more than one table of {head}"
        return found[0] if found else []


def page(name: str | Path) -> str:
    return (REPO / name).read_text(encoding="utf-8")


def sections(text: str) -> dict[str, Section]:
    """Give a page's sections by heading, in order; headings are unique."""
    found = {"": Section("", [], [])}
    section = found[""]
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("```"):
            body = list(takewhile(lambda line: line != "```", lines))
            section.blocks.append(Block(line[3:], "".join(f"{line}\n" for line in body)))
        elif line.startswith("#"):
            title = line.lstrip("#").strip().strip("`")
            assert title not in found, f"{title}: a heading twice"
            section = found[title] = Section(title, [], [])
        elif line.startswith("|"):
            rows = [line, *takewhile(lambda line: line.startswith("|"), lines)]
            section.tables.append(_table([_cells(row) for row in rows]))
    return found


def code_in(cell: str) -> list[str]:
    """Give the pieces of code in a text, without their marks."""
    return re.findall(r"`([^`]+)`", cell)


def _cells(row: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in row.strip().strip("|").split("|"))


def _table(rows: list[tuple[str, ...]]) -> Table:
    head, ruler, *body = rows
    assert all(set(cell) <= {"-", ":"} for cell in ruler), f"{head}: no ruler below it"
    return Table(head, [dict(zip(head, row, strict=True)) for row in body])
