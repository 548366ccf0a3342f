"""Check the reader's files: run the tests, say what came of it, remember it."""

from __future__ import annotations

from labs.desk.book import Book, DeskError
from labs.desk.exercises import Exercise, all_exercises, find_exercise
from labs.desk.grading import SECONDS, Grade, grade, spelled_out
from labs.desk.progress import current_exercise, hash_of, next_step, record_check
from labs.desk.progress_file import load, set_broken_aside
from labs.desk.report import show_failure, show_next, show_pass
from shared.screen import Screen, Style
from shared.text import visible


def chosen(book: Book, wanted: str | None) -> Exercise:
    """The exercise named, or the current one. Raises DeskError if it has not been started."""
    if wanted is None:
        exercises = all_exercises(book)
        entries = load(book)
        exercise = current_exercise(book, entries, exercises)
        if exercise is None:
            following = next_step(book)
            command = (following and following.command) or "workbook exercise"
            raise DeskError(f"No exercise is open. Start one:\n  {command}")
        return exercise
    exercise = find_exercise(book, wanted)
    load(book)  # first: a folder or a progress file that cannot be read is said as such
    if not exercise.own_file(book).is_file():
        raise DeskError(
            f"{exercise.id} is not started. Start it:\n  workbook exercise {exercise.id}"
        )
    return exercise


def check(screen: Screen, book: Book, exercise: Exercise, *, seconds: float = SECONDS) -> bool:
    """Run the tests of one exercise on the reader's file; True if every promise is kept."""
    entry = load(book).get(exercise.id)  # first: a broken progress file is said before any work
    places = [book.show(exercise.folder)]
    screen.line(f"Running   {spelled_out(book, places, 'mine')}", Style.ASIDE)
    screen.line()
    checked, result = _grade(book, exercise, seconds)
    if result.good:
        show_pass(screen, book, exercise, result)
    else:
        show_failure(screen, book, exercise, result, entry.hints if entry else 0)
    recorded = _record(screen, book, exercise, result.good, checked)
    if result.good and recorded:
        show_next(screen, next_step(book, after=exercise))
    return result.good


def check_all(screen: Screen, book: Book, *, seconds: float = SECONDS) -> bool:
    """Check every exercise that was started, and so write the progress anew; True if all pass."""
    moved = set_broken_aside(book)
    if moved:
        screen.line(f"The progress file could not be read; it is now {moved}.")
    started = [each for each in all_exercises(book) if each.own_file(book).is_file()]
    if not started:
        screen.line("No exercise is started yet. See them all: workbook exercise")
        return True
    good = recorded = True
    for exercise in started:
        checked, result = _grade(book, exercise, seconds)
        if result.good:
            screen.line(f"{screen.mark(good=True)} {exercise.id}", Style.GOOD)
        else:
            good = False
            screen.line(f"{screen.mark(good=False)} {exercise.id}", Style.BAD)
            why = result.failed[0].sentence if result.failed else "its tests could not be run"
            screen.labelled("", why, gutter=4)
        if recorded:  # what cannot be written is said once
            recorded = _record(screen, book, exercise, result.good, checked)
    screen.line()
    if good and recorded:
        show_next(screen, next_step(book))
    elif not good:
        screen.line("See more of one: workbook check NN/name")
    return good


def _record(screen: Screen, book: Book, exercise: Exercise, good: bool, checked: str) -> bool:
    """Remember what came of a check, once it is shown; if that cannot be, say why."""
    try:
        record_check(book, exercise, good, checked)
    except DeskError as error:
        screen.line()
        screen.line("This result could not be recorded.", Style.BAD)
        for line in visible(str(error)).splitlines():
            screen.labelled("", line, gutter=2)
        return False
    return True


def _grade(book: Book, exercise: Exercise, seconds: float) -> tuple[str, Grade]:
    """The hash of the file as it was when the tests began, and what came of them."""
    checked = hash_of(exercise.own_file(book))
    return checked, grade(book, [book.show(exercise.folder)], "mine", seconds=seconds)
