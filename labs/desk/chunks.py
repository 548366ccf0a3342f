"""Telling the prose of a Markdown text from its fenced blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})(.*)$")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Neighbouring lines of a text: prose, or one fenced block with its fences."""

    lines: tuple[str, ...]
    fence: str | None = None  # what stands after the opening fence; None for prose

    @property
    def text(self) -> str:
        """The lines, joined."""
        return "\n".join(self.lines)


def chunks(markdown: str) -> Iterator[Chunk]:
    """The text, divided into prose and fenced blocks."""
    lines: list[str] = []
    opened, info = "", None
    for line in markdown.splitlines():
        mark = FENCE.match(line)
        if not opened and mark and "`" not in mark[3]:
            if lines:
                yield Chunk(tuple(lines))
            lines, opened, info = [line], mark[2], mark[3]
            continue
        lines.append(line)
        if opened and mark and mark[2].startswith(opened) and not mark[3].strip():
            yield Chunk(tuple(lines), info)
            lines, opened, info = [], "", None
    if lines:
        yield Chunk(tuple(lines), info)
