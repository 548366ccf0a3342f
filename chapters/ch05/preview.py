"""The arguments of a call while they arrive, for a screen. Nothing is ever run from them.

A value may be half of one: the `1` of a `12`, the beginning of a path. What a call runs with is
what chapter 1's strict parse makes of the whole text, when the reply has ended.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

from chapters.ch05.json_repair import repaired

GROWTH = 1.1
"""A text is parsed again when it is this many times as long as it was the last time."""


# region: preview
class Preview:
    """The arguments of one call so far.

    Parsing at each piece would read the beginning of a long text again and again: twice the text,
    four times the work. So the pieces wait in a list, and are parsed when the text has grown by a
    tenth. All parses together then cost about eleven times the last one, however long it gets.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0
        self._parsed = 0  # the size at the last parse
        self._value: Any = {}

    def feed(self, piece: str) -> None:
        """Take in the next piece of the raw text, cut anywhere."""
        self._pieces.append(piece)
        self._size += len(piece)

    def so_far(self) -> dict[str, Any]:
        """What to show now; the last tenth of the text may be missing from it."""
        if self._size > self._parsed * GROWTH:
            self._parse()
        return self._shown()

    def whole(self) -> dict[str, Any]:
        """What to show of all that has arrived."""
        if self._size > self._parsed:
            self._parse()
        return self._shown()

    def _parse(self) -> None:
        text = "".join(self._pieces)
        self._pieces = [text]
        self._parsed = self._size
        self._value = partial_value(text)

    def _shown(self) -> dict[str, Any]:
        """Arguments are an object. Anything else will be refused, so there is nothing to show."""
        return self._value if isinstance(self._value, dict) else {}


# endregion: preview


# region: partial
def partial_value(text: str) -> Any:
    """The value that begun JSON has so far; {} if it has none. It may be no object.

    Tried in turn: the text as it is, the text with its strings repaired, and of that the part
    before the place where it stops to be JSON.
    """
    text = text.lstrip("\ufeff\u00a0 \t\n\r")
    if not text:
        return {}
    try:
        return _begun(text)
    except (ValueError, TypeError):  # a TypeError for a text that UTF-8 cannot hold
        pass
    text = repaired(text)
    try:
        return _begun(text)
    except (ValueError, TypeError):
        return _before_the_error(text)


# endregion: partial


def _begun(text: str) -> Any:
    return from_json(text, allow_partial="trailing-strings")


def _before_the_error(text: str) -> Any:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        text = text[: error.pos]
    except (ValueError, RecursionError):
        return {}
    try:
        return _begun(text)
    except (ValueError, TypeError):
        return {}
