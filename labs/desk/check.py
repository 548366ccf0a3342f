"""Check the reader's files: run the tests, say what came of it, remember it."""

from __future__ import annotations

from labs.desk.book import Book, DeskError
from labs.desk.exercises import Exercise, all_exercises, find_exercise
from labs.desk.grading import SECONDS, Grade, grade, spelled_out
from labs.desk.progress import current_exercise, hash_of, next_step, record_check
from labs.desk.progress_file import load, set_broken_aside
from labs.desk.report import mark, show_failure, show_next, show_pass
from shared.screen import Screen, Style


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
    record_check(book, exercise, result.good, checked)
    if result.good:
        show_pass(screen, book, exercise, result)
        show_next(screen, next_step(book))
    else:
        show_failure(screen, book, exercise, result, entry.hints if entry else 0)
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
    good = True
    for exercise in started:
        checked, result = _grade(book, exercise, seconds)
        record_check(book, exercise, result.good, checked)
        if result.good:
            screen.line(f"{mark(good=True)} {exercise.id}", Style.GOOD)
        else:
            good = False
            screen.line(f"{mark(good=False)} {exercise.id}", Style.BAD)
            why = result.failed[0].sentence if result.failed else "its tests could not be run"
            screen.labelled("", why, gutter=4)
    screen.line()
    if good:
        show_next(screen, next_step(book))
    else:
        screen.line("See more of one: workbook check NN/name")
    return good


def _grade(book: Book, exercise: Exercise, seconds: float) -> tuple[str, Grade]:
    """The hash of the file as it was when the tests began, and what came of them."""
    checked = hash_of(exercise.own_file(book))
    return checked, grade(book, [book.show(exercise.folder)], "mine", seconds=seconds)
