"""Showing text that somebody else wrote on a terminal, without letting it act there."""

from __future__ import annotations

import re
import unicodedata

_SUSPECT = re.compile(r"[^\n\t\x20-\x7e]")


def visible(text: str) -> str:
    """`text` with every character that could move the cursor, hide or reorder text spelled out.

    Line feeds and tabs stay. Escape sequences, other control characters, bidirectional controls,
    invisible characters and lone surrogates become `\\x1b`, `\\u202e` and the like.
    """
    return _SUSPECT.sub(_spell_out, text)


def shorten(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters and how many more there are."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… (+{len(text) - limit:,} characters)"


def _spell_out(match: re.Match[str]) -> str:
    character = match.group()
    # Cc control, Cf invisible and bidirectional controls, Cs lone surrogates, Co private use,
    # Zl and Zp line and paragraph separators.
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}:
        code = ord(character)
        if code <= 0xFF:
            return f"\\x{code:02x}"
        return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
    return character
