"""Where in a TOML file a key is: the parser says so only for what it cannot parse."""

from __future__ import annotations

import re
from collections.abc import Sequence

_STRING_OR_COMMENT = re.compile(
    r'''"""(?:\\.|[^\\])*?"""+|'{3}.*?'{3,}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*''', re.DOTALL
)


def position(text: str, loc: Sequence[int | str]) -> tuple[int, int]:
    """Line and column of the key that `loc` leads to; if it has none, the head of its rule."""
    lines = _STRING_OR_COMMENT.sub(_blank_if_long, text).split("\n")
    heads = [
        n for n, line in enumerate(lines) if re.match(r"\s*\[\[\s*[\"']?rule[\"']?\s*\]\]", line)
    ]
    number = next((step for step in loc if isinstance(step, int)), None)
    first, last = 0, len(lines)
    if number is not None and number < len(heads):
        first, last = heads[number], (*heads, len(lines))[number + 1]
    for key in reversed([step for step in loc if isinstance(step, str)]):
        name = rf"[\"']?{re.escape(key)}[\"']?"
        begins_a_line = rf"\s*({name})\s*[=.]"
        is_a_heading = rf"\s*(\[\[?\s*(?:rule\s*\.\s*)?{name}\s*[\].])"
        is_inline = rf"[^#]*[{{,.]\s*({name})\s*[=.]"
        for place in (begins_a_line, is_a_heading, is_inline):
            for index in range(first, last):
                if found := re.match(place, lines[index]):
                    return index + 1, found.start(1) + 1
    return first + 1, 1


def end_of(text: str) -> tuple[int, int]:
    """Line and column of the place behind the last character."""
    lines = text.split("\n")
    return len(lines), len(lines[-1]) + 1


def _blank_if_long(token: re.Match[str]) -> str:
    """A text of several lines, emptied: what looks like a heading in it is none."""
    if token[0].startswith(('"""', "'''")):
        return re.sub(r"[^\n]", " ", token[0])
    return token[0]
