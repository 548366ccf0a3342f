"""Showing text that somebody else wrote on a terminal, without letting it act there."""

from __future__ import annotations

import re
import unicodedata

_SUSPECT = re.compile(r"[^\n\t\x20-\x7e]")

# What Unicode calls Default_Ignorable: with one of these in it, a name looks like another one. Most
# have a category that tells; these are marks, letters and code points that are not in use.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """`text` with every character that could move the cursor, hide or reorder text spelled out.

    Line feeds and tabs stay. Escape sequences, other control characters, bidirectional controls,
    invisible characters and lone surrogates become `\\x1b`, `\\u202e` and the like.
    """
    return _SUSPECT.sub(_spell_out, text)


def one_line(text: str) -> str:
    """`text`, visible, with its line feeds and tabs spelled out too: it stays in its line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def shorten(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters and how many more there are."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… (+{len(text) - limit:,} characters)"


def _spell_out(match: re.Match[str]) -> str:
    character = match.group()
    # Cc control, Cf invisible and bidirectional controls, Cs lone surrogates, Co private use,
    # Zl and Zp line and paragraph separators.
    hidden = unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    if hidden or _UNSEEN.match(character):
        code = ord(character)
        if code <= 0xFF:
            return f"\\x{code:02x}"
        return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
    return character
