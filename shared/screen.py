"""Writing to a terminal that may be narrow, without colours, or unable to show a character."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TextIO

NARROWEST, WIDEST, USUAL = 40, 100, 80


class Style(Enum):
    """The few ways to set text off. All of them can be read on a light and on a dark ground."""

    PLAIN = ""
    STRONG = "1"
    GOOD = "32"
    BAD = "1;31"
    CALL = "36"
    ASIDE = "35"
    FAINT = "2"


class Screen:
    """A text stream to write to: knows its width and whether it can do colours.

    `moves` says whether it is a terminal that can move its cursor. Colours only there, and not if
    NO_COLOR says so. A character that the stream's encoding lacks is spelled out: showing something
    must never end a run.
    """

    def __init__(self, stream: TextIO, environ: Mapping[str, str] = os.environ) -> None:
        self._stream = stream
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        self.moves = _can_move(stream, environ)
        self.colours = self.moves and not environ.get("NO_COLOR")
        self.width = _width(stream, environ)

    def write(self, text: str) -> None:
        """Write and flush."""
        try:
            self._stream.write(text)
        except UnicodeEncodeError:
            self._stream.write(self.spelled(text))
        self._stream.flush()

    def spelled(self, text: str) -> str:
        """The very characters that come out: what the encoding lacks takes more columns."""
        return text.encode(self._encoding, "backslashreplace").decode(self._encoding)

    def columns(self) -> int:
        """How wide the terminal is at this moment, however narrow that is."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or self.width
        except (AttributeError, OSError, ValueError):
            return self.width

    def line(self, text: str = "", style: Style = Style.PLAIN) -> None:
        """Write one line."""
        self.write(self.paint(text, style) + "\n")

    def folded(self, text: str, style: Style = Style.PLAIN) -> None:
        """Write `text` in as many lines as it takes."""
        for piece in fold(text, self.width):
            self.line(piece, style)

    def labelled(
        self, label: str, text: str, *, gutter: int = 8, style: Style = Style.PLAIN
    ) -> None:
        """Write `text` with `label` at its left, folded so that the label stays in sight."""
        margin = self.paint(label.ljust(gutter), style)
        for piece in fold(text, self.width - gutter):
            self.line((margin + piece).rstrip())
            margin = " " * gutter

    def rule(self, title: str) -> None:
        """Write a line across the screen with a title in it."""
        # Where the encoding is an East Asian one, the terminal draws "─" two columns wide.
        dash = "─" if self._encoding.lower().startswith("utf") else "-"
        self.line(f"{dash * 2} {title} ".ljust(self.width, dash), Style.ASIDE)

    def can_show(self, text: str) -> bool:
        """True if the stream's encoding has every character of `text`."""
        try:
            text.encode(self._encoding)
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    def mark(self, *, good: bool) -> str:
        """A tick or a cross, or a word where the stream has neither."""
        if not self.can_show("✓✗"):
            return "ok" if good else "NO"
        return "✓" if good else "✗"

    def paint(self, text: str, style: Style) -> str:
        """`text` in a style, or as it is where there are no colours."""
        if not self.colours or style is Style.PLAIN or not text.strip():
            return text
        return f"\x1b[{style.value}m{text}\x1b[0m"


def fold(text: str, width: int) -> Iterator[str]:
    """The lines of `text`, broken between words where they are wider than `width` columns.

    What follows a break is indented like the beginning of its line.
    """
    for line in text.expandtabs(4).split("\n"):
        words = line.lstrip(" ")
        indent = min(len(line) - len(words), width // 2)
        for piece in _fold_words(words, width - indent):
            yield " " * indent + piece


def _fold_words(line: str, width: int) -> Iterator[str]:
    start, column, space = 0, 0, -1
    for index, character in enumerate(line):
        column += columns_of(character)
        if character == " ":
            space = index
        if column > width:
            at_space = space > start
            end = space if at_space else index
            yield line[start:end].rstrip()
            start = end + 1 if at_space else index
            column = sum(columns_of(later) for later in line[start : index + 1])
    yield line[start:]


def columns_of(character: str) -> int:
    """How many columns a terminal gives to `character`, which is no control character."""
    if character.isascii():
        return 1
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _can_move(stream: TextIO, environ: Mapping[str, str]) -> bool:
    if not stream.isatty() or environ.get("TERM") == "dumb":
        return False
    # The old Windows console prints escape sequences as they are; the newer ones say who they are.
    return os.name != "nt" or any(name in environ for name in ("WT_SESSION", "ANSICON", "TERM"))


def _width(stream: TextIO, environ: Mapping[str, str]) -> int:
    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        width = int(columns)
    elif stream.isatty():
        try:
            width = os.get_terminal_size(stream.fileno()).columns or USUAL
        except OSError:
            width = USUAL
    else:
        width = USUAL
    return min(max(width, NARROWEST), WIDEST)
