"""Whether the pattern of a rule fits a path: an allow has to be sure, an ask and a deny do not."""

from __future__ import annotations

import unicodedata

from chapters.ch02.glob_pattern import GlobPattern
from chapters.ch02.safe_path import parse_pattern


# region: match
def matches_path(pattern: str, names: tuple[str, ...] | None, *, sure: bool) -> bool:
    """Whether a pattern fits these names. Names that are not known may be any, but never surely.

    On some disks `A.txt` is `a.txt`. So if it need not be sure, both are folded. As they are they
    count too: folding makes two letters of `ß`, and takes the capitals from what `[!a-z]` fits.
    """
    if names is None:
        return not sure
    parts = parse_pattern(pattern)
    if GlobPattern(parts).matches(names):
        return True
    return not sure and GlobPattern(folded(parts)).matches(folded(names))


def folded(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names in one spelling, where a disk may not tell two of them apart."""
    return tuple(unicodedata.normalize("NFC", name).casefold() for name in names)


# endregion: match
