"""Text that is laid out while it arrives: each character is written once and never moved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from shared.screen import columns_of
from shared.text import visible

_TOKEN = re.compile(r"\n|\t| +|[^ \n\t]+")
_TAB = 4


# region: live
class LiveText:
    """Folds a text that comes in pieces to `width` columns, with `label` left of it.

    `feed` gives what to write for a piece, `finish` what is left. A word appears as it comes,
    except in the second half of a line: there its beginning waits until the word has ended, and
    then stays or moves to the next line as a whole. So no more than a word is ever held back, and
    only a word longer than half a line may be cut in two. Empty lines at either end are left out.
    The cost is linear in the text.
    """

    def __init__(
        self,
        label: str,
        width: int,
        *,
        gutter: int = 8,
        show: Callable[[str], str] = visible,
    ) -> None:
        self._label = label
        self._gutter = " " * gutter
        self._width = width - gutter
        self._waits_from = self._width // 2
        self._show = show
        self._out: list[str] = []
        self._started = False
        self._breaks = 0  # line feeds, and below blanks, that are not written yet
        self._blanks = 0
        self._position = 0  # in the line as it was said, for tabs
        self._at_margin = True  # nothing but blanks of this line has come
        self._indent = 0
        self._column = 0  # on the screen, without the gutter
        self._word = ""  # the beginning of a word, held back
        self._word_width = 0
        self._in_word = False  # the last thing written is the beginning of a word

    @property
    def started(self) -> bool:
        """Whether anything has been written."""
        return self._started

    def feed(self, piece: str) -> str:
        """What to write now that `piece` has come."""
        for token in _TOKEN.findall(piece):
            if token == "\n":
                self._end_line()
            elif token == "\t":
                self._blank(_TAB - self._position % _TAB)
            elif token[0] == " ":
                self._blank(len(token))
            else:
                self._letters(self._show(token))
        return self._written()

    def finish(self) -> str:
        """What is left to write, and the end of the last line."""
        self._end_word()
        if self._started:
            self._out.append("\n")
        return self._written()

    # endregion: live

    def _written(self) -> str:
        written = "".join(self._out)
        self._out.clear()
        return written

    def _end_line(self) -> None:
        self._end_word()
        self._breaks += 1
        self._blanks = self._position = 0
        self._at_margin = True

    def _blank(self, count: int) -> None:
        self._end_word()
        self._blanks += count
        self._position += count

    def _letters(self, text: str) -> None:
        self._position += len(text)
        if self._at_margin:
            self._begin_line()
        if text.isascii():
            self._narrow(text, len(text))
            return
        for unit in _units(text):
            width = sum(map(columns_of, unit))
            if width == 2 and len(unit) == 1:
                self._wide(unit)
            else:
                self._narrow(unit, width)

    def _begin_line(self) -> None:
        if self._started:
            self._out.append("\n" * self._breaks + self._gutter)
        else:
            self._out.append(self._label)
            self._started = True
        self._at_margin = False
        self._breaks = 0
        self._column = self._indent = min(self._blanks, self._width // 2)
        self._out.append(" " * self._indent)
        self._blanks = 0

    def _narrow(self, text: str, width: int) -> None:
        """More of a word that stays in one piece if it can."""
        if self._in_word:
            self._spill(text)
            return
        self._word += text
        self._word_width += width
        if self._column + self._blanks + self._word_width > self._width:
            if self._column > self._indent:
                self._break()
            self._begin_word()
        elif self._column + self._blanks < self._waits_from:
            self._begin_word()

    def _wide(self, character: str) -> None:
        """A character beside which a line may be broken, as in Chinese or Japanese."""
        self._end_word()
        if self._column + self._blanks + 2 > self._width:
            self._break()
        self._put(character, 2)

    def _begin_word(self) -> None:
        word, self._word, self._word_width = self._word, "", 0
        self._put("", 0)
        self._spill(word)
        self._in_word = True

    def _end_word(self) -> None:
        if self._word:
            self._put(self._word, self._word_width)
            self._word, self._word_width = "", 0
        self._in_word = False

    def _spill(self, text: str) -> None:
        """Write a piece of a word that is on the screen already, wherever the line ends."""
        if text.isascii() and self._column + len(text) <= self._width:
            self._put(text, len(text))
            return
        for character in text:
            width = columns_of(character)
            if self._column + width > self._width:
                self._break()
            self._put(character, width)

    def _put(self, text: str, width: int) -> None:
        self._out.append(" " * self._blanks + text)
        self._column += self._blanks + width
        self._blanks = 0

    def _break(self) -> None:
        self._out.append(f"\n{self._gutter}{' ' * self._indent}")
        self._column = self._indent
        self._blanks = 0


def _units(text: str) -> Iterator[str]:
    """Wide characters one by one, and what stands between them."""
    start = 0
    for index, character in enumerate(text):
        if columns_of(character) == 2:
            if start < index:
                yield text[start:index]
            yield character
            start = index + 1
    if start < len(text):
        yield text[start:]
