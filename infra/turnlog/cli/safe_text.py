"""Text from a log, made harmless for a terminal."""

from __future__ import annotations

import unicodedata

__all__ = ["safe"]

_KEPT = frozenset("\n\t")
# Cc: controls; Cf: bidi overrides and other invisible formatting; Cs: lone surrogates; Zl, Zp: line
# ends that some terminals obey.
_HARMFUL = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def safe(text: str) -> str:
    r"""Show text without letting it act: controls, bidi and invisible marks become `\u{…}`.

    Line feeds and tabs stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char
        if char in _KEPT or unicodedata.category(char) not in _HARMFUL
        else f"\\u{{{ord(char):x}}}"
        for char in text
    )
