"""What a command prints: lines and tables for people, JSON for programs; harmless on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.style import Style
from rich.text import Text

from .safe_text import safe

__all__ = ["Advance", "Column", "Output"]

_GAP = "  "
_LEAST = 4  # cells of a column that is cut


class Column(NamedTuple):
    """A column of a table: its title, its cells on a terminal; the one of None takes the rest."""

    title: str
    cells: int | None
    right: bool = False


class Advance:
    """Moves a progress bar; calls are cheap where there is none."""

    def __init__(self, progress: Progress | None, total: int | None) -> None:
        self._progress = progress
        self._task = None if progress is None else progress.add_task("", total=total)

    def __call__(self, steps: int = 1, *, said: str = "") -> None:
        """Go on by so many steps; `said` stands beside the bar."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, advance=steps, said=safe(said))


class Output:
    """Where a command writes: results to standard output, all else to standard error.

    On a terminal, colours and lines cut to its width; piped, tab-separated and whole. With
    `as_json`, one JSON object a line in ASCII, and nothing else on standard output.
    """

    def __init__(
        self, *, as_json: bool = False, out: TextIO | None = None, err: TextIO | None = None
    ) -> None:
        self.as_json = as_json
        self._out = sys.stdout if out is None else out
        self._console = _console(self._out)
        self._errors = _console(sys.stderr if err is None else err)

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads the results as they come."""
        return self._console.is_terminal

    @property
    def width(self) -> int | None:
        """The cells of a line; None where nothing is cut."""
        return self._console.width if self.is_terminal else None

    def json(self, value: Mapping[str, Any]) -> None:
        """Print one JSON object on a line of its own; lone surrogates stay escapes."""
        self._out.write(json.dumps(value, separators=(",", ":")) + "\n")
        self._out.flush()

    def line(self, text: str = "", *, style: str = "", cut: bool = False) -> None:
        """Print a line, wrapped by the terminal, or `cut` where its line ends."""
        text = safe(text)
        if cut and self.width is not None:
            text = _fit(text.replace("\n", " ").replace("\t", " "), self.width).rstrip()
        self._print(self._console, self._out, text, style)

    def part(self, text: str) -> None:
        """Print a part of a line, as it comes."""
        self._out.write(safe(text))
        self._out.flush()

    def note(self, text: str, *, style: str = "") -> None:
        """Say something beside the results, on standard error."""
        self._print(self._errors, self._errors.file, safe(text), style)

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> int:
        """Print rows as they come, under their titles; gives how many there were.

        Piped: no titles, cells whole and separated by tabs. None is shown as nothing.
        """
        widths = None if self.width is None else _widths(columns, self.width)
        if widths is not None:
            titles = [column.title.upper() for column in columns]
            self._print(self._console, self._out, _row(columns, widths, titles), "bold")
        count = 0
        for cells in rows:
            count += 1
            texts = ["" if cell is None else _flat(safe(str(cell))) for cell in cells]
            line = "\t".join(texts) if widths is None else _row(columns, widths, texts)
            self._print(self._console, self._out, line, "")
        return count

    @contextmanager
    def progress(self, what: str, total: int | None) -> Iterator[Advance]:
        """Show on standard error how far long work is, where that is a terminal."""
        if not self._errors.is_terminal:
            yield Advance(None, total)
            return
        columns = (
            TextColumn(what),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[said]}", markup=False),
        )
        with Progress(*columns, console=self._errors, transient=True) as bars:
            yield _Said(bars, total)

    def _print(self, console: Console, stream: TextIO | Any, text: str, style: str) -> None:
        if style and console.is_terminal and not console.no_color:
            console.print(Text(text, Style.parse(style)), soft_wrap=True)
        else:
            stream.write(text + "\n")
            stream.flush()


class _Said(Advance):
    """A bar with a text beside it."""

    def __init__(self, progress: Progress, total: int | None) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total, said="")


def _console(stream: TextIO) -> Console:
    return Console(file=stream, markup=False, highlight=False, emoji=False)


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    """The cells of each column: what it asks for, and the rest for the one that takes it."""
    gaps = len(_GAP) * (len(columns) - 1)
    rest = width - gaps - sum(column.cells or 0 for column in columns)
    asked = [max(rest, _LEAST) if column.cells is None else column.cells for column in columns]
    while sum(asked) + gaps > width and max(asked) > _LEAST:
        asked[asked.index(max(asked))] -= 1
    return asked


def _row(columns: Sequence[Column], widths: Sequence[int], texts: Sequence[str]) -> str:
    cells = [
        text.rjust(width) if column.right and cell_len(text) <= width else _fit(text, width)
        for column, width, text in zip(columns, widths, texts, strict=True)
    ]
    return _GAP.join(cells).rstrip()


def _fit(text: str, width: int) -> str:
    """Fill up with space, or cut with an ellipsis, to exactly so many cells."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…" if width > 1 else set_cell_size(text, width)


def _flat(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ")
