"""What a check says: the promise that is broken, the input that shows it, where to read on."""

from __future__ import annotations

import re
from contextlib import suppress

from labs.desk.book import Book, DeskError
from labs.desk.exercises import Exercise
from labs.desk.grading import Grade, Verdict
from labs.desk.hints import TIERS
from labs.desk.progress import Next
from labs.desk.sections import locate
from labs.desk.trouble import Kind, Trouble, source_line
from shared.screen import Screen, Style
from shared.text import visible

OTHERS = 3  # further broken promises that are listed


def show_pass(screen: Screen, book: Book, exercise: Exercise, grade: Grade) -> None:
    """Say that it passed, and where the reference solution is."""
    count = len(grade.promises)
    checks = f"all {count} checks" if count > 1 else "its check"
    screen.line(f"{screen.mark(good=True)} {exercise.id} passed {checks}.", Style.GOOD)
    screen.line()
    screen.line(f"Compare   {book.show(exercise.solution)}")
    screen.line(f"          workbook solution {exercise.id}")


def show_next(screen: Screen, following: Next | None) -> None:
    """Say what to type next."""
    if following:
        screen.line(f"Next      {following.command or 'workbook list'}")
        screen.line(f"          {following.sentence}")


def show_failure(
    screen: Screen, book: Book, exercise: Exercise, grade: Grade, hints_seen: int
) -> None:
    """Say what is broken first, and what to do about it."""
    if not grade.verdicts or grade.broken:
        screen.line(f"The tests of {exercise.id} could not be run:", Style.BAD)
        for line in grade.broken or ("no test was found",):
            screen.line(f"    {visible(line)}")
        screen.line()
        screen.line("This is not about your file, unless you have edited files outside work/:")
        screen.line("    git status")
        return
    if not grade.failed:
        screen.line(f"All tests of {exercise.id} were skipped on this system.", Style.BAD)
        return
    first = grade.failed[0]
    own_file = exercise.own_file(book)
    trouble = first.trouble or Trouble(Kind.OTHER, ())
    kept = grade.promises
    how = f"{sum(kept.values())} of {len(kept)} checks passed"
    if trouble.kind is Kind.HUNG:
        how = "stopped"
    if trouble.kind is Kind.LOAD:
        how = "your file cannot be loaded"
    screen.line(f"{screen.mark(good=False)} {exercise.id}: {how}.", Style.BAD)
    screen.line()
    if trouble.kind is not Kind.LOAD:
        screen.labelled("Broken", first.sentence, gutter=10, style=Style.STRONG)
        screen.line()
    if trouble.kind is Kind.NOT_WRITTEN:
        screen.line("    This part is not written yet:")
        screen.labelled("", visible(source_line(own_file, trouble.line - 1)), gutter=4)
        screen.line()
    else:
        _indented(screen, trouble.excerpt)
        _indented(screen, trouble.message)
    place = f"{book.show(own_file)}:{trouble.line}" if trouble.line else book.show(own_file)
    screen.line(f"File      {place}")
    if trouble.at:
        screen.line(f"Test      {book.show(exercise.tests)}:{trouble.at}")
    if trouble.kind is Kind.LOAD:
        screen.line(f"Again     workbook check {exercise.id}")
        return
    show_reading(screen, book, exercise, first)
    left = TIERS - hints_seen
    ways = f"({left} left)" if left > 0 else f"(all seen; or: workbook solution {exercise.id})"
    screen.line(f"Hint      workbook hint {exercise.id}  {ways}")
    screen.line(f"Again     workbook check {exercise.id}")
    if trouble.kind is not Kind.NOT_WRITTEN:
        _show_others(screen, grade, first)


def show_reading(screen: Screen, book: Book, exercise: Exercise, verdict: Verdict) -> None:
    """Name the section that explains the promise, or the statement if no section does."""
    with suppress(DeskError):
        path, line, title = locate(book, verdict.read)
        if path.startswith("chapters/") and title:
            screen.line(f"Read      {path}:{line}, {title}")
            anchor = verdict.read.partition("#")[2]
            if number := re.match(r"chapters/ch(\d\d)/README\.md$", path):
                screen.line(f"          workbook read {int(number[1])} --section {anchor}")
            return
    screen.line(f"Read      {book.show(exercise.statement)}")


def _show_others(screen: Screen, grade: Grade, first: Verdict) -> None:
    sentences = [s for s, kept in grade.promises.items() if not kept and s != first.sentence]
    if not sentences:
        return
    screen.line()
    screen.line("Not yet, either:")
    for sentence in sentences[:OTHERS]:
        screen.labelled("  -", sentence, gutter=4)
    if len(sentences) > OTHERS:
        screen.line(f"  - and {len(sentences) - OTHERS} more")


def _indented(screen: Screen, lines: tuple[str, ...]) -> None:
    for line in lines:
        screen.labelled("", visible(line), gutter=4)
    if lines:
        screen.line()
