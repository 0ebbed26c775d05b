"""The demo's lines: labelled, wrapped at the terminal's width, and plain ASCII of their own."""

from __future__ import annotations

import shutil
import textwrap

from .safe_text import safe

__all__ = ["columns", "heading", "one_line", "say", "shortened"]

_MARGIN = "  "
_LABEL = 10
_WIDTHS = range(60, 101)  # narrower is torn, wider is hard to read


def columns() -> int:
    """The width to write in: the terminal's, within what can be read; 80 where there is none."""
    return min(max(shutil.get_terminal_size().columns, _WIDTHS[0]), _WIDTHS[-1])


def heading(title: str, elapsed_s: float | None = None) -> None:
    """Begin a part; `elapsed_s` is the time since the demo began."""
    title = safe(title)
    if elapsed_s is not None:
        clock = f"{elapsed_s:.1f} s"
        title = f"{title}{clock:>{columns() - len(title)}}"
    print(f"\n{title}\n{'-' * columns()}", flush=True)


def say(label: str, text: str, *, of: str = "", label_width: int = _LABEL) -> None:
    """Print one labelled text, its further lines below its first; `of` is a second label."""
    start = _start(label, of, label_width)
    wrapped = textwrap.wrap(
        safe(text),
        columns(),
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_on_hyphens=False,
    )
    print("\n".join(wrapped) or start.rstrip(), flush=True)


def one_line(label: str, text: str, *, of: str = "", label_width: int = _LABEL) -> None:
    """Print one labelled text, cut where its line ends; `of` is a second label."""
    start = _start(label, of, label_width)
    print(start + shortened(safe(text), columns() - len(start)), flush=True)


def shortened(text: str, width: int) -> str:
    """Put a text on one line of this width, `...` at its end where it is longer."""
    text = text.replace("\n", " ").replace("\t", " ")
    return text if len(text) <= width else text[: width - 3].rstrip() + "..."


def _start(label: str, of: str, label_width: int) -> str:
    second = f"{of:<{_LABEL}} " if of else ""
    return f"{_MARGIN}{safe(label):<{label_width}} {second}"
