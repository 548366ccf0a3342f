"""Asking the person at the terminal, or answering for one who has said yes or no beforehand."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TextIO

from labs.line_reader import LineReader
from shared.screen import Screen
from shared.text import visible

CONTINUED = "    > "  # in front of what did not fit into the row above
NARROWEST = 10


class NobodyToAsk(Exception):
    """There is no person who could answer. Whoever asked must take that as a no."""


class TerminalApprover:
    """Writes the question to stderr and reads the answer from a terminal.

    Raises NobodyToAsk if standard input is no terminal, so that no person can answer, and EOFError
    if it ends before the answer. What was typed before the question was shown does not count.
    """

    def __init__(self, lines: LineReader | None = None, out: TextIO | None = None) -> None:
        self._lines = lines or LineReader(sys.stdin)
        self._out = out or sys.stderr
        self._screen = Screen(self._out)

    async def ask(self, question: str) -> str:
        """The answer as typed."""
        if not self._lines.is_terminal:
            self._screen.line("Denied: nobody can be asked, standard input is no terminal.")
            raise NobodyToAsk("standard input is not a terminal")
        self._lines.discard_typed_ahead()
        self._screen.write(rows(self._as_shown(question), self._columns()))
        answer = await self._lines.read_line()
        if answer is None:
            self._screen.line()
            raise EOFError("the input ended before the answer")
        return answer

    def _as_shown(self, question: str) -> str:
        """The very characters that come out: one that the encoding lacks takes more columns."""
        encoding = getattr(self._out, "encoding", None) or "utf-8"
        return visible(question).encode(encoding, "backslashreplace").decode(encoding)

    def _columns(self) -> int:
        """Columns that there certainly are; one is left free, as some terminals break a full row.

        Asked for anew each time: a terminal changes its size.
        """
        widths = [self._screen.width]
        for stream in (self._out, sys.stdin):  # the question may reach the terminal through a pipe
            try:
                widths.append(os.get_terminal_size(stream.fileno()).columns)
            except (AttributeError, OSError, ValueError):
                continue
        return max(min(width for width in widths if width) - 1, NARROWEST)


# region: rows
def rows(text: str, columns: int) -> str:
    """All of `text`, in rows that fit, so that the terminal has nothing to break.

    What it breaks begins at the left edge, where it could pass for a line of the question. Here
    whatever goes on in another row has a mark in front. A row ends behind a word, unless the next
    one is longer than half a row.
    """
    lines = text.expandtabs(8).split("\n")
    return "\n".join(piece for line in lines for piece in _pieces(line, columns))


def _pieces(line: str, columns: int) -> Iterator[str]:
    start, mark, column = 0, "", 0
    word, beside = 0, 0  # where the last word begins, and in which column
    for index, character in enumerate(line):
        width = 1 if character.isascii() else 2  # terminals do not agree, so the most it can be
        if column + width > columns:
            if beside < columns // 2 or len(CONTINUED) + column - beside + width > columns:
                word, beside = index, column
            yield mark + line[start:word]
            start, mark, column = word, CONTINUED, len(CONTINUED) + column - beside
            beside = 0
        column += width
        if character == " ":
            word, beside = index + 1, column
    yield mark + line[start:]


# endregion: rows


class AlwaysYes:
    """Says yes to everything. Only for a person who has asked for exactly that."""

    async def ask(self, question: str) -> str:
        """Yes."""
        return "yes"


class NeverAsks:
    """Asks nobody, so that every question is a no: for a run that nobody watches."""

    async def ask(self, question: str) -> str:
        """Raise NobodyToAsk."""
        raise NobodyToAsk("the run was started with --approve never")
