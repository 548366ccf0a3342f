"""A line at the end of a terminal that says what is waited for, and leaves no trace."""

from __future__ import annotations

from shared.screen import Screen, Style, columns_of
from shared.text import one_line

FRAMES, PLAIN_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"


# region: status
class StatusLine:
    """One line, drawn over and over, which has to be erased before anything else is written.

    Between two calls the cursor is where it would be without the line: at the left edge, or behind
    a text that has not ended. A ^C that the terminal writes over the line is erased with it.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._frames = FRAMES if screen.can_show(FRAMES) else PLAIN_FRAMES
        self._frame = 0
        self._undo = ""

    def draw(self, label: str, text: str, *, below: bool = False) -> None:
        """Draw the line over the one that was there. `below` is for a text that has not ended.

        Whatever is in `text`, it is one line, and no wider than the terminal.
        """
        self._frame = (self._frame + 1) % len(self._frames)
        line = _cut(f"{label} {self._frames[self._frame]}".ljust(8) + one_line(text), self._screen)
        painted = self._screen.paint(line, Style.FAINT)
        if below:
            # Down and up, so that there is a row below even at the end of the screen; remember.
            self._undo = "\x1b[J"
            self._screen.write(f"\x1bD\x1b[A\x1b7\n{painted}\x1b[K\x1b8")
        else:
            self._undo = "\r\x1b[K"
            self._screen.write(f"{painted}\x1b[K\r")

    def erase(self) -> None:
        """Take the line away, if there is one."""
        undo, self._undo = self._undo, ""
        if undo:
            self._screen.write(undo)

    # endregion: status


def _cut(line: str, screen: Screen) -> str:
    """As much of `line` as fits, with one column left free: some terminals break a full row."""
    room = screen.columns() - 1
    line = screen.spelled(line)
    for index, character in enumerate(line):
        room -= columns_of(character)
        if room < 0:
            return line[:index]
    return line
