"""From the reference solution to what the reader begins with: the marked regions are left open."""

from __future__ import annotations

import re
from dataclasses import dataclass

from labs.desk.book import DeskError

OPEN = re.compile(r"^(?P<indent>[ \t]*)# solution:(?P<task>.*)$")
CLOSE = re.compile(r"^(?P<indent>[ \t]*)# end solution[ \t]*$")
NOT_WRITTEN = "your turn"


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a solution that the reader writes. `first` and `last` are its line numbers."""

    task: str
    indent: str
    first: int
    last: int


def find_regions(solution: str) -> list[Region]:
    """The regions the reader has to write. Raises DeskError, with the line, for broken markers."""
    regions: list[Region] = []
    opened: tuple[int, str, str] | None = None
    for number, line in enumerate(solution.splitlines(), start=1):
        if begin := OPEN.match(line):
            if opened:
                raise DeskError(f"line {number}: a region begins before the one above has ended")
            if not begin["task"].strip():
                raise DeskError(f"line {number}: say after `# solution:` what the reader has to do")
            opened = number, begin["indent"], begin["task"].strip()
        elif end := CLOSE.match(line):
            if not opened:
                raise DeskError(f"line {number}: `# end solution` without a beginning")
            first, indent, task = opened
            if end["indent"] != indent:
                raise DeskError(f"line {number}: indented differently from its beginning")
            if number == first + 1:
                raise DeskError(f"line {number}: the region is empty")
            regions.append(Region(task, indent, first, number))
            opened = None
    if opened:
        raise DeskError(f"line {opened[0]}: the region has no `# end solution`")
    if not regions:
        raise DeskError("no `# solution:` region: there is nothing for the reader to write")
    return regions


def make_starter(solution: str) -> str:
    """The solution with each region replaced by what is to do there and an exception."""
    lines = solution.splitlines()
    for region in reversed(find_regions(solution)):
        lines[region.first - 1 : region.last] = [
            f"{region.indent}# TODO: {region.task}",
            f'{region.indent}raise NotImplementedError("{NOT_WRITTEN}")',
        ]
    return "\n".join(lines) + "\n"


def only_in_solution(solution: str) -> set[str]:
    """The lines that give the answer away: they stand in a region and nowhere else."""
    inside: set[str] = set()
    outside: set[str] = set()
    regions = find_regions(solution)
    for number, line in enumerate(solution.splitlines(), start=1):
        in_region = any(region.first <= number <= region.last for region in regions)
        (inside if in_region else outside).add(line.strip())
    return {line for line in inside - outside if len(line) > len("return None")}
