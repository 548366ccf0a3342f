"""What `workbook` alone says: where you are, and the next line to type."""

from __future__ import annotations

import sys
from pathlib import Path

from labs.catalog import CHAPTER, chapter_numbers, lab_modules, profile_of
from labs.packages import ROOT
from shared.screen import Screen, Style


def show(here: Path | None = None) -> None:
    """Print the chapters, which of them you stand in, and what to type next."""
    here = here or Path.cwd()
    numbers = chapter_numbers()
    current = chapter_at(here)
    screen = Screen(sys.stdout)
    screen.line("Agent Workbook: build a coding agent, chapter by chapter.", Style.STRONG)
    screen.line()
    for number in numbers:
        mark = ">" if number == current else " "
        screen.line(f"{mark} {number:2}  {profile_of(number).title}")
    screen.line()
    if current in numbers:
        screen.line(f"You are in the folder of chapter {current}.")
    elif not here.is_relative_to(ROOT):
        screen.line("You are outside the workbook's folder. All commands work from here.")
    chapter = current if current in lab_modules() else min(lab_modules(), default=1)
    screen.line(
        f"Next:  workbook lab {chapter}     see the agent of chapter {chapter} work; no key needed"
    )
    screen.line("       workbook --help    everything else")


def chapter_at(here: Path) -> int | None:
    """The chapter whose folder `here` lies in, or None."""
    if not here.is_relative_to(ROOT / "chapters"):
        return None
    parts = here.relative_to(ROOT / "chapters").parts
    match = CHAPTER.fullmatch(parts[0]) if parts else None
    return int(match[1]) if match else None
