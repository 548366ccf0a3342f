"""What `workbook` alone says: where you are, and the next line to type."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from labs.catalog import CHAPTER, chapter_numbers, lab_modules, profile_of
from labs.desk.book import this_book
from labs.packages import ROOT
from shared.errors import WorkbookError
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
    for line in _next(current):
        screen.line(line)


def _next(current: int | None) -> list[str]:
    """Where the reader is in the exercises, if anywhere, and the lines to type next."""
    chapter = current if current in lab_modules() else min(lab_modules(), default=1)
    commands = [
        (f"workbook read {chapter}", f"the text of chapter {chapter}"),
        (f"workbook lab {chapter}", "see its agent work; no key needed"),
        ("workbook --help", "everything else"),
    ]
    book = this_book()
    if not os.access(book.work, os.F_OK):  # not there, or nobody lets us look
        return _headed(commands)
    from labs.desk.progress import next_step  # not before there is something to remember

    try:
        step = next_step(book)
    except WorkbookError as error:
        return [str(error), *_headed(commands)]
    if step is None:
        return _headed(commands)
    if step.command is None:
        return [step.sentence, *_headed(commands)]
    return [step.sentence, *_headed([(step.command, ""), commands[-1]])]


def _headed(commands: list[tuple[str, str]]) -> list[str]:
    wide = max(len(command) for command, _ in commands)
    lines = [f"       {command.ljust(wide)}   {what}".rstrip() for command, what in commands]
    return [f"Next:{lines[0][5:]}", *lines[1:]]


def chapter_at(here: Path) -> int | None:
    """The chapter whose folder `here` lies in, or None."""
    if not here.is_relative_to(ROOT / "chapters"):
        return None
    parts = here.relative_to(ROOT / "chapters").parts
    match = CHAPTER.fullmatch(parts[0]) if parts else None
    return int(match[1]) if match else None
