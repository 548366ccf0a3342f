"""The difference between two texts, line by line, in time that their size cannot blow up."""

from __future__ import annotations

import difflib
import re

CONTEXT = 3  # unchanged lines shown around a change
MAX_COMPARED = 1_000_000  # pairs of lines; beyond that a change is shown as one block

_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


# region: difference
def difference(before: str, after: str) -> str:
    """A unified diff. A line ends with `\\n` and nothing else, so `\\r` is part of a line."""
    old, new = lines_of(before), lines_of(after)
    start = common(old, new)
    end = common(old[start:][::-1], new[start:][::-1])
    first = max(0, start - CONTEXT)
    last = max(0, end - CONTEXT)
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    if len(old) * len(new) <= MAX_COMPARED:
        diff = list(difflib.unified_diff(old, new, n=CONTEXT))[2:]
    else:
        diff = one_block(old, new)
    shown = [marked_end(shifted(line, first)) for line in diff]
    return "".join(shown).removesuffix("\n") or "(nothing would change)"


def one_block(old: list[str], new: list[str]) -> list[str]:
    """All of the old lines out, all of the new ones in: true, if not the shortest way to say it."""
    head = f"@@ -1,{len(old)} +1,{len(new)} @@\n"
    return [head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]


# endregion: difference


def lines_of(text: str) -> list[str]:
    """The lines, each with its end; the last one may have none."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def common(some: list[str], others: list[str]) -> int:
    """How many lines at the start are the same."""
    count = 0
    for one, other in zip(some, others, strict=False):
        if one != other:
            break
        count += 1
    return count


def shifted(line: str, by: int) -> str:
    """The head of a hunk with the line numbers of the whole file; any other line as it is."""
    found = _HUNK.match(line)
    if not found:
        return line
    old, old_size, new, new_size = found.groups(default="")
    return f"@@ -{int(old) + by}{old_size} +{int(new) + by}{new_size} @@\n"


def marked_end(line: str) -> str:
    """A line with an end; the last one of a file that has none says so."""
    return line if line.endswith("\n") else f"{line}\n\\ no line break at the end of the file\n"
