"""Asking the person at the terminal, or answering for one who has said yes or no beforehand."""

from __future__ import annotations

import sys
from typing import TextIO

from labs.line_reader import LineReader
from shared.screen import Screen
from shared.text import visible


class NobodyToAsk(Exception):
    """There is no person who could answer. Whoever asked must take that as a no."""


class TerminalApprover:
    """Writes the question to stderr and reads the answer from a terminal.

    Raises NobodyToAsk if the answer cannot come from a person: standard input is no terminal, or
    it has ended. What was typed before the question was shown does not count.
    """

    def __init__(self, lines: LineReader | None = None, out: TextIO | None = None) -> None:
        self._lines = lines or LineReader(sys.stdin)
        self._screen = Screen(out or sys.stderr)

    async def ask(self, question: str) -> str:
        """The answer as typed."""
        if not self._lines.is_terminal:
            self._screen.line("Denied: nobody can be asked, standard input is no terminal.")
            raise NobodyToAsk("standard input is not a terminal")
        self._lines.discard_typed_ahead()
        self._screen.write(visible(question))
        answer = await self._lines.read_line()
        if answer is None:
            self._screen.line()
            raise NobodyToAsk("the input ended")
        return answer


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
