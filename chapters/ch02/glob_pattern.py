"""What a glob pattern means, name by name, whoever goes through the directories.

`*`, `?` and `[...]` match within one name; a name that is `**` stands for any number of
directories, none included. Case matters on every system. Braces mean nothing.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from operator import methodcaller

Matches = Callable[[str], object]
"""Truthy if a name fits one part of a pattern."""

Steps = tuple[int, ...]
"""The parts of a pattern that the next name may have to fit: several, after a `**`."""

_WILDCARD = re.compile(r"[*?\[]")


class GlobPattern:
    """A pattern: its fixed beginning (`prefix`), and the rest, to be followed step by step.

    While a search goes down into directories it keeps the steps that it is at: it begins with
    `start`, and `enter` gives the steps within a directory, none if nothing in there can match.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        fixed = next((i for i, name in enumerate(names) if _WILDCARD.search(name)), len(names))
        self.prefix = names[:fixed]
        rest = names[fixed:]
        if rest and rest[-1] == "**":
            rest = (*rest, "*")  # all files below
        self._parts = [None if name == "**" else _matcher(name) for name in rest]
        self.start: Steps = self._with_skipped({0}) if rest else ()

    def enter(self, steps: Steps, name: str) -> Steps:
        """The steps within the directory `name`, seen at `steps`."""
        following = set()
        for step in steps:
            part = self._parts[step]
            if part is None:
                following.add(step)
            elif step + 1 < len(self._parts) and part(name):
                following.add(step + 1)
        return self._with_skipped(following)

    def ending(self, steps: Steps) -> Matches:
        """What the name of a file has to fit at `steps`, to match the whole pattern."""
        last = len(self._parts) - 1
        return (self._parts[last] if last in steps else None) or _nothing

    def matches(self, names: tuple[str, ...]) -> bool:
        """True if the pattern fits the whole path of a file."""
        fixed = len(self.prefix)
        if names[:fixed] != self.prefix:
            return False
        rest = names[fixed:]
        if not rest:
            return not self._parts
        steps = self.start
        for directory in rest[:-1]:
            steps = self.enter(steps, directory)
        return bool(self.ending(steps)(rest[-1]))

    def _with_skipped(self, steps: set[int]) -> Steps:
        """`steps`, and those after each `**` among them: it may stand for no directory at all."""
        for step, part in enumerate(self._parts):
            if part is None and step in steps:
                steps.add(step + 1)
        return tuple(sorted(steps))


def _nothing(name: str) -> bool:
    return False


def _matcher(part: str) -> Matches:
    if part == "*":
        return bool
    if not _WILDCARD.search(part):
        return part.__eq__
    if part[0] == "*" and not _WILDCARD.search(part, 1):
        return methodcaller("endswith", part[1:])  # by far the most frequent: *.py
    return re.compile(fnmatch.translate(part)).match
