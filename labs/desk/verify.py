"""All that a workbook promises about its exercises and questions, step by step."""

from __future__ import annotations

from collections.abc import Iterator

from labs.catalog import chapter_numbers
from labs.desk.book import Book, DeskError
from labs.desk.exercise_files import problems_on_paper
from labs.desk.exercise_runs import (
    grade_all,
    lint,
    problems_of_solution,
    problems_of_starter,
    type_check,
)
from labs.desk.exercises import all_exercises
from labs.desk.quiz import missing_proofs


def steps(book: Book) -> Iterator[tuple[str, list[str]]]:
    """Each thing that was looked at, and what is wrong with it."""
    exercises = all_exercises(book)
    yield (
        f"{len(exercises)} exercises: files, starters, hints, promises",
        [problem for exercise in exercises for problem in problems_on_paper(book, exercise)],
    )
    yield "folders without an exercise", stray_folders(book)
    if exercises:
        solved = grade_all(book, exercises, "solution")
        yield (
            "solutions pass their tests",
            [p for exercise in exercises for p in problems_of_solution(book, exercise, solved)],
        )
        begun = grade_all(book, exercises, "starter")
        yield (
            "starters fail because they are unfinished, and for no other reason",
            [p for exercise in exercises for p in problems_of_starter(book, exercise, begun)],
        )
        yield "formatted and linted", lint(book, exercises)
        yield "typed", type_check(book, exercises)
    yield "the tests behind the answers of the self-tests exist", proofs(book)


def stray_folders(book: Book) -> list[str]:
    """Folders among the exercises that hold no solution: they would be in no list."""
    return [
        f"{book.show(folder)} has no solution.py"
        for folder in sorted(book.chapters.glob("ch*/exercises/*/"))
        if folder.name != "__pycache__" and not (folder / "solution.py").is_file()
    ]


def proofs(book: Book) -> list[str]:
    """What is wrong with the questions of the chapters."""
    problems: list[str] = []
    for number in chapter_numbers(book.root):
        try:
            problems += missing_proofs(book, number)
        except DeskError as error:
            problems.append(str(error))
    return problems
