"""What must hold for the files of an exercise, so that no reader ever meets a broken one."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from labs.desk.book import Book, DeskError
from labs.desk.exercises import Exercise, all_exercises
from labs.desk.hints import read_hints
from labs.desk.sections import locate
from labs.desk.starter import make_starter, only_in_solution

LONGEST_NAME = 32


def problems_on_paper(book: Book, exercise: Exercise) -> list[str]:
    """What is wrong with the files of an exercise, as far as can be seen without running them."""
    checks: tuple[Callable[[Book, Exercise], Iterator[str]], ...] = (
        _files,
        _starter,
        _statement,
        _contracts,
    )
    problems = [problem for check in checks for problem in check(book, exercise)]
    return [f"{exercise.id}: {problem}" for problem in problems]


def _files(book: Book, exercise: Exercise) -> Iterator[str]:
    if not exercise.name.isidentifier() or len(exercise.name) > LONGEST_NAME:
        yield f"the name must be an identifier of at most {LONGEST_NAME} characters"
    expected = {
        "__init__.py",
        *(
            path.name
            for path in (
                exercise.statement,
                exercise.solution,
                exercise.starter,
                exercise.hints,
                exercise.tests,
            )
        ),
    }
    found = {path.name for path in exercise.folder.iterdir()} - {"__pycache__"}
    for name in sorted(expected - found):
        yield f"{name} is missing"
    code = "".join(
        path.read_text(encoding="utf-8")
        for path in (exercise.solution, exercise.tests)
        if path.is_file()
    )
    for name in sorted(found - expected):
        if not name.endswith(".py") or not re.search(rf"\b{name[:-3]}\b", code):
            yield f"{name} does not belong here"


def _starter(book: Book, exercise: Exercise) -> Iterator[str]:
    if not exercise.starter.is_file():
        return
    solution = exercise.solution.read_text(encoding="utf-8")
    starter = exercise.starter.read_text(encoding="utf-8")
    try:
        expected = make_starter(solution)
    except DeskError as error:
        yield f"solution.py: {error}"
        return
    if starter != expected:
        yield "starter.py is not what solution.py gives: run `workbook dev starters`"
    for line in sorted(only_in_solution(solution) & {line.strip() for line in starter.split("\n")}):
        yield f"starter.py gives the solution away: {line}"


def _statement(book: Book, exercise: Exercise) -> Iterator[str]:
    try:
        read_hints(exercise)
    except DeskError as error:
        yield str(error).removeprefix(f"{exercise.id}: ")
    if exercise.statement.is_file():
        text = exercise.statement.read_text(encoding="utf-8")
        if not text.startswith("# ") or len(text.splitlines()) < 3:
            yield "README.md must have a title and say what to build"


def _contracts(book: Book, exercise: Exercise) -> Iterator[str]:
    """Every test says its promise, and the section it names exists."""
    if not exercise.tests.is_file():
        return
    tree = ast.parse(exercise.tests.read_text(encoding="utf-8"))
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    dead: dict[str, str] = {}
    for test in ast.walk(tree):
        if not isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not test.name.startswith("test_"):
            continue
        marks = [mark for mark in test.decorator_list if _is_contract(mark)]
        if not marks:
            yield f"{test.name} has no @pytest.mark.contract(...)"
            continue
        for keyword in marks[0].keywords if isinstance(marks[0], ast.Call) else ():
            value = keyword.value
            text = value.value if isinstance(value, ast.Constant) else None
            if isinstance(value, ast.Name):
                text = constants.get(value.id)
            if keyword.arg == "read" and isinstance(text, str):
                try:
                    locate(book, text)
                except DeskError as error:
                    dead.setdefault(str(error), test.name)
    for reason, name in dead.items():
        yield f"{name} says where to read, but {reason}"


def _is_contract(mark: ast.expr) -> bool:
    return isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.contract"


def write_starters(book: Book) -> list[Path]:
    """Make every starter anew from its solution; returns those that changed."""
    written: list[Path] = []
    for exercise in all_exercises(book):
        try:
            starter = make_starter(exercise.solution.read_text(encoding="utf-8"))
        except DeskError as error:
            raise DeskError(f"{book.show(exercise.solution)}: {error}") from None
        if not exercise.starter.is_file() or exercise.starter.read_text("utf-8") != starter:
            exercise.starter.write_text(starter, encoding="utf-8", newline="\n")
            written.append(exercise.starter)
    return written
