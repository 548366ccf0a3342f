"""The facts of a lab: claims about a run that has happened, each one checked, each able to fail."""

from __future__ import annotations

from typing import TextIO

from shared.screen import Screen
from shared.text import visible


class Facts:
    """Prints each claim with a mark as it is checked, and remembers whether all of them held."""

    def __init__(self, out: TextIO) -> None:
        self._screen = Screen(out)
        self._checked = 0
        self._failed: list[str] = []

    def check(self, claim: str, holds: bool, seen: object = None) -> None:
        """Record whether `claim` holds; `seen` is what was there instead, shown if it does not."""
        self._checked += 1
        if holds:
            self._screen.line(f"  {self._screen.mark(good=True)} {claim}")
            return
        self._failed.append(claim)
        self._screen.line(f"  {self._screen.mark(good=False)} {claim}")
        if seen is not None:
            self._screen.line(f"      seen: {visible(str(seen))}")

    def equal(self, claim: str, seen: object, expected: object) -> None:
        """The claim that `seen` is `expected`."""
        self.check(claim, seen == expected, f"{seen!r}, expected {expected!r}")

    def conclude(self) -> bool:
        """Print the sum and return True if every fact held and there was at least one."""
        if self._failed:
            self._screen.line(f"\n{len(self._failed)} of {self._checked} facts did not hold.")
        else:
            self._screen.line(f"\nAll {self._checked} facts hold.")
        return self._checked > 0 and not self._failed

    @property
    def failed(self) -> tuple[str, ...]:
        """The claims that did not hold."""
        return tuple(self._failed)
