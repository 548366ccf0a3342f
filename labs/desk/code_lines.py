"""Folding a line of code that is too wide, so that nobody takes the rest for a line of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from shared.screen import Screen

if TYPE_CHECKING:
    from rich.text import Text

STEP = 4  # further in than the line itself


def folded(line: Text, width: int) -> Iterator[Text]:
    """The line, in pieces of at most `width` columns; each but the first begins with a mark."""
    plain = line.plain
    indent = min(len(plain) - len(plain.lstrip(" ")), width // 2)
    margin = " " * (indent + STEP) + f"{fold_mark()} "
    first = len(plain) - len(plain.lstrip(" "))
    while line.cell_len > width:
        end = _break(line.plain, first, width)
        piece, line = line.divide([end])
        yield piece
        line = line.__class__(margin).append_text(line)
        first = len(margin)
        if width <= first:  # nothing would ever fit
            break
    yield line


def _break(text: str, first: int, width: int) -> int:
    """Where to break: after the last space that fits, or where no further column fits."""
    from rich.cells import cell_len

    end = width
    while end > first + 1 and cell_len(text[:end]) > width:
        end -= 1
    space = text.rfind(" ", first + 1, end + 1)  # a blank at the end takes no room
    return space + 1 if space > first else max(end, first + 1)


def fold_mark() -> str:
    """What a continued line begins with."""
    return "↪" if Screen(sys.stdout).can_show("↪") else "->"
