"""A terminal for tests: what a person would see after what was written to it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

from shared.screen import columns_of

_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[78D])")


class SmallTerminal(io.StringIO):
    """Knows what the console uses, and raises AssertionError for anything else.

    `typed` is everything that was written to it; with `fails`, that is what writing raises.
    """

    def __init__(self, columns: int = 80, height: int = 24) -> None:
        super().__init__()
        self.columns = columns
        self.height = height
        self.typed: list[str] = []
        self.fails: OSError | None = None
        self.wrapped = False  # the terminal had to break a line
        self._rows: list[list[str]] = [[]]
        self._row = self._column = 0
        self._kept = (0, 0)

    def isatty(self) -> bool:
        """Yes."""
        return True

    def write(self, text: str) -> int:
        """Show it."""
        if self.fails is not None:
            raise type(self.fails)(*self.fails.args)  # a new one: it will hold on to its frames
        self.typed.append(text)
        position = 0
        while position < len(text):
            if text[position] == "\x1b":
                found = _SEQUENCE.match(text, position)
                assert found, repr(text[position : position + 10])
                self._obey(found.group())
                position = found.end()
            else:
                self._show(text[position])
                position += 1
        return len(text)

    @property
    def lines(self) -> list[str]:
        """What can be read, with what has scrolled away, without empty lines at the end."""
        shown = ["".join(row).rstrip() for row in self._rows]
        while shown and not shown[-1]:
            shown.pop()
        return shown

    @property
    def at_left_edge(self) -> bool:
        """Whether the next character begins a line."""
        return self._column == 0

    @property
    def _top(self) -> int:
        """The first row on the screen. A place that was kept is one on the screen."""
        return max(0, len(self._rows) - self.height)

    def _obey(self, sequence: str) -> None:
        top = self._top
        actions: dict[str, Callable[[], None]] = {
            "\x1b[K": lambda: self._clear_to_end(),
            "\x1b[J": lambda: self._clear_below(),
            "\x1b[A": lambda: self._go(max(top, self._row - 1), self._column),
            "\x1bD": lambda: self._go(self._row + 1, self._column),
            "\x1b7": lambda: self._keep(),
            "\x1b8": lambda: self._go(top + self._kept[0], self._kept[1]),
        }
        if not sequence.endswith("m"):
            actions[sequence]()

    def _keep(self) -> None:
        self._kept = self._row - self._top, self._column

    def _clear_to_end(self) -> None:
        del self._rows[self._row][self._column :]

    def _clear_below(self) -> None:
        self._clear_to_end()
        for row in self._rows[self._row + 1 :]:
            row.clear()

    def _go(self, row: int, column: int) -> None:
        while len(self._rows) <= row:
            self._rows.append([])
        self._row, self._column = row, column

    def _show(self, character: str) -> None:
        if character == "\n":
            self._go(self._row + 1, 0)
            return
        if character == "\r":
            self._column = 0
            return
        assert character >= " ", repr(character)
        width = columns_of(character)
        if self._column + width > self.columns:
            self.wrapped = True
            self._go(self._row + 1, 0)
        row = self._rows[self._row]
        row.extend(" " * (self._column - len(row)))
        if width == 0:
            row[self._column - 1] += character
            return
        row[self._column : self._column + width] = [character, *[""] * (width - 1)]
        self._column += width
