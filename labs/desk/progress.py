"""Where the reader is, and what to type next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from labs.desk.book import Book
from labs.desk.exercises import Exercise, all_exercises
from labs.desk.progress_file import Entry, change, load, now


class Status(StrEnum):
    """Where the reader is with one exercise."""

    NOT_STARTED = "not started"
    STARTED = "started"
    PASSED = "passed"
    CHANGED = "passed, changed since"


@dataclass(frozen=True, slots=True)
class Next:
    """One sentence about where the reader is, and the line to type next, if there is one."""

    sentence: str
    command: str | None


def next_step(book: Book, *, after: Exercise | None = None) -> Next | None:
    """Where the reader is and what to type next; None, at the cost of one look, before any work.

    `after` an exercise that has passed, the next one of its chapter comes first, whatever else is
    open. Raises DeskError if the progress file is broken.
    """
    if not book.work.is_dir():
        return None
    entries = load(book)
    exercises = all_exercises(book)
    current = current_exercise(book, entries, exercises)
    if current and after is None:
        where = book.show(current.own_file(book))
        return Next(f"You are at exercise {current.id}, in {where}.", "workbook check")
    states = {each: status(book, each, entries.get(each.id)) for each in exercises}
    done = sum(state in (Status.PASSED, Status.CHANGED) for state in states.values())
    if not done:
        return None
    sentence = f"{done} of {len(exercises)} exercises passed."
    after = after or last_passed(entries, exercises)
    for exercise in in_order(exercises, after):
        if states[exercise] is Status.NOT_STARTED:
            return Next(sentence, f"workbook exercise {exercise.id}")
        if states[exercise] is Status.STARTED:
            return Next(sentence, f"workbook check {exercise.id}")
    return Next(sentence, None)


def last_passed(entries: Mapping[str, Entry], exercises: Sequence[Exercise]) -> Exercise | None:
    """The exercise whose tests passed last."""
    passed = [
        (entry.passed, exercise)
        for exercise in exercises
        if (entry := entries.get(exercise.id)) and entry.passed
    ]
    return max(passed, key=lambda pair: pair[0])[1] if passed else None


def in_order(exercises: Sequence[Exercise], after: Exercise | None) -> list[Exercise]:
    """What to do after an exercise: the rest of its chapter, later chapters, earlier ones."""
    if after is None or after not in exercises:
        return list(exercises)
    place = exercises.index(after)
    turned = [*exercises[place + 1 :], *exercises[:place]]
    return sorted(
        turned,
        key=lambda each: (each.chapter != after.chapter, each.chapter < after.chapter),
    )


def current_exercise(
    book: Book, entries: Mapping[str, Entry], exercises: Sequence[Exercise]
) -> Exercise | None:
    """The exercise that was started last and has not passed."""
    open_ones: list[tuple[tuple[datetime, datetime], Exercise]] = []
    for exercise in exercises:
        entry = entries.get(exercise.id)
        if status(book, exercise, entry) is Status.STARTED:
            changed = datetime.fromtimestamp(exercise.own_file(book).stat().st_mtime, UTC)
            started = (entry.started if entry else None) or changed
            open_ones.append(((started, changed), exercise))
    return max(open_ones, key=lambda pair: pair[0])[1] if open_ones else None


def status(book: Book, exercise: Exercise, entry: Entry | None) -> Status:
    """Where the reader is: the file itself counts, the entry only says what once passed."""
    own = exercise.own_file(book)
    if not own.is_file():
        return Status.NOT_STARTED
    if entry is None or entry.passed is None:
        return Status.STARTED
    unchanged = entry.file == hash_of(own) and entry.tests == hash_of(exercise.tests)
    return Status.PASSED if unchanged else Status.CHANGED


def record_start(book: Book, exercise: Exercise) -> None:
    """Remember that the exercise was begun, or begun again; hints and solution stay seen."""
    change(
        book,
        exercise,
        lambda entry: replace(entry, started=now(), passed=None, file="", tests=""),
    )


def record_check(book: Book, exercise: Exercise, passed: bool, checked: str) -> None:
    """Remember how a check ended. A file that fails now has not passed, whatever it did before.

    `checked` is the hash of the file that was checked: it may have been edited meanwhile.
    """
    tests = hash_of(exercise.tests)

    def alter(entry: Entry) -> Entry:
        if not passed:
            return replace(entry, passed=None, file="", tests="")
        same = (entry.file, entry.tests) == (checked, tests)
        when = entry.passed if same and entry.passed else now()
        return replace(entry, passed=when, file=checked, tests=tests)

    change(book, exercise, alter)


def hash_of(path: Path) -> str:
    """A short hash of a file's text, the same whatever its line endings; empty without a file."""
    if not path.is_file():
        return ""
    import hashlib

    return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()[:16]
