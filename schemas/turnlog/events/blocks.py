"""The shapes of content blocks, which `append` checks and restore does not."""

from __future__ import annotations

from typing import Any

from .error_text import shown
from .errors import BadShape
from .jsontext import is_list, is_object

__all__ = ["check_blocks"]

_STRINGS = {
    "text": ("text",),
    "reasoning": ("text",),
    "tool-call": ("id", "name", "arguments"),
    "tool-result": ("toolCallId",),
}
_LONGEST_NAME = 200  # of a field, so that naming each level of a deep nest takes no quadratic time


def check_blocks(content: list[Any], field: str) -> None:
    """Check the blocks of a message's content, and of the results in it; unknown types pass.

    Raises BadShape with the dotted name of the field; of a deep one its beginning.
    """
    pending = [(content, field)]
    while pending:
        blocks, field = pending.pop()
        is_short = len(field) < _LONGEST_NAME
        for index, block in enumerate(blocks):
            name = f"{field}[{index}]" if is_short else field
            if not is_object(block):
                raise BadShape(name, "an object", shown(block))
            kind = block.get("type")
            if type(kind) is not str or not kind:
                raise BadShape(f"{name}.type", "a non-empty string", shown(kind))
            for key in _STRINGS.get(kind, ()):
                if type(block.get(key)) is not str:
                    raise BadShape(f"{name}.{key}", "a string", shown(block.get(key)))
            if kind == "tool-result":
                inner = block.get("content")
                if not is_list(inner):
                    raise BadShape(f"{name}.content", "a list", shown(inner))
                pending.append((inner, f"{name}.content" if is_short else field))
