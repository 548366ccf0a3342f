"""What must hold when exercises run: solutions pass, starters fail because they are unfinished."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence

from labs.desk.book import Book
from labs.desk.exercises import Exercise
from labs.desk.grading import Grade, Target, grade
from labs.desk.trouble import Kind


def grade_all(book: Book, exercises: Sequence[Exercise], target: Target) -> Grade:
    """The tests of all the exercises on their solutions or on their starters, in one run."""
    return grade(book, [book.show(exercise.folder) for exercise in exercises], target, seconds=30)


def problems_of_solution(book: Book, exercise: Exercise, result: Grade) -> list[str]:
    """What is wrong if the tests ran on the solution: anything but passing."""
    part = _part(book, exercise, result)
    problems = [f"{exercise.id}: {line}" for line in part.broken]
    problems += [
        f"{exercise.id}: the solution breaks “{verdict.sentence}” ({verdict.test})"
        for verdict in part.failed
    ]
    if not part.passed and not problems:
        problems.append(f"{exercise.id}: no test passes on the solution")
    return problems


def problems_of_starter(book: Book, exercise: Exercise, result: Grade) -> list[str]:
    """What is wrong if the tests ran on the starter: passing, or failing for another reason."""
    part = _part(book, exercise, result)
    problems = [f"{exercise.id}: {line}" for line in part.broken]
    if not part.failed and not problems:
        problems.append(f"{exercise.id}: the starter passes: there is nothing left to do")
    others = [v for v in part.failed if v.trouble and v.trouble.kind is not Kind.NOT_WRITTEN]
    if others and others[0].trouble:
        test, why = others[0].test.partition("::")[2], " ".join(others[0].trouble.message)
        more = f" ({len(others) - 1} more tests do)" if len(others) > 1 else ""
        problems.append(
            f"{exercise.id}: {test} fails on the starter, but not at a TODO: {why}{more}"
        )
    return problems


def _part(book: Book, exercise: Exercise, result: Grade) -> Grade:
    path = book.show(exercise.tests)
    return Grade(
        tuple(verdict for verdict in result.verdicts if verdict.test.startswith(f"{path}::")),
        tuple(
            line
            for line in result.broken
            if line.startswith(f"{path}:") or not line.startswith("chapters/")
        ),
    )


def lint(book: Book, exercises: Sequence[Exercise]) -> list[str]:
    """What ruff says about solutions, starters and tests."""
    files = [
        book.show(path)
        for exercise in exercises
        for path in (exercise.solution, exercise.starter, exercise.tests)
        if path.is_file()
    ]
    commands = (["format", "--check", "--quiet"], ["check", "--quiet", "--output-format=concise"])
    return [
        f"ruff {words[0]}: {line}"
        for words in commands
        for line in _tool(book, ["ruff", *words, *files])
    ]


def type_check(book: Book, exercises: Sequence[Exercise]) -> list[str]:
    """What `mypy --strict` says about solutions and tests."""
    files = [
        book.show(path) for exercise in exercises for path in (exercise.solution, exercise.tests)
    ]
    lines = _tool(book, ["mypy", "--strict", "--no-error-summary", *files])
    return [f"mypy: {line}" for line in lines]


def _tool(book: Book, words: list[str]) -> list[str]:
    if importlib.util.find_spec(words[0]) is None:
        return [f"{words[0]} is not installed: pip install -e '.[dev]'"]
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=book.root,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines or [f"ended with {done.returncode}"] if done.returncode else []
