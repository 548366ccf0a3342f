"""Where in a TOML file a key is: the parser says so only for what it cannot parse."""

from __future__ import annotations

import re
from collections.abc import Sequence


def position(text: str, loc: Sequence[int | str]) -> tuple[int, int]:
    """Line and column of the key that `loc` leads to; if it has none, the head of its rule."""
    lines = text.split("\n")
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
