"""The exercises that exist, and how the reader's words find one of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labs.catalog import chapter_numbers
from labs.desk.book import Book, DeskError


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise: a folder with a statement, a solution, a starter, tests and hints."""

    chapter: int
    name: str
    folder: Path

    @property
    def id(self) -> str:
        """What it is called everywhere: `02/append_file`."""
        return f"{self.chapter:02}/{self.name}"

    @property
    def statement(self) -> Path:
        """What to build and why."""
        return self.folder / "README.md"

    @property
    def solution(self) -> Path:
        """The reference solution, the one source of the exercise."""
        return self.folder / "solution.py"

    @property
    def starter(self) -> Path:
        """What the reader begins with, generated from the solution."""
        return self.folder / "starter.py"

    @property
    def hints(self) -> Path:
        """Three hints, each saying more than the one before."""
        return self.folder / "hints.md"

    @property
    def tests(self) -> Path:
        """One test for each promise."""
        return self.folder / f"test_{self.name}.py"

    @property
    def title(self) -> str:
        """The heading of the statement."""
        if self.statement.is_file():
            for line in self.statement.read_text(encoding="utf-8").splitlines():
                if line.startswith("# "):
                    return line[2:].strip()
        return self.name

    def own_file(self, book: Book) -> Path:
        """The reader's file, whether it exists or not."""
        return book.work / f"ch{self.chapter:02}" / f"{self.name}.py"


def all_exercises(book: Book) -> list[Exercise]:
    """Every exercise: by chapter, and in a chapter in the order in which its text names them."""
    found: list[Exercise] = []
    for number in chapter_numbers(book.root):
        folder = book.chapter_folder(number) / "exercises"
        names = [entry.parent.name for entry in folder.glob("*/solution.py")]
        order = _order_in_text(book.chapter_folder(number) / "README.md")
        names.sort(key=lambda name: (order.get(name, len(order)), name))
        found.extend(Exercise(number, name, folder / name) for name in names)
    return found


def _order_in_text(readme: Path) -> dict[str, int]:
    if not readme.is_file():
        return {}
    named = re.findall(r"\b(?:exercises|\d\d)/([A-Za-z_]\w*)", readme.read_text(encoding="utf-8"))
    return {name: place for place, name in enumerate(dict.fromkeys(named))}


def find_exercise(book: Book, wanted: str) -> Exercise:
    """The exercise meant by `2/append_file`, `ch02/append_file`, `append_file` or a path to it.

    Raises DeskError with a suggestion if there is none, or with the choices if there are several.
    """
    exercises = all_exercises(book)
    chapter, name = _read(wanted)
    matching = [
        exercise
        for exercise in exercises
        if exercise.name == name and chapter in (None, exercise.chapter)
    ]
    if len(matching) == 1:
        return matching[0]
    if matching:
        choices = " or ".join(exercise.id for exercise in matching)
        raise DeskError(f"{wanted!r} may be {choices}. Say which.")
    raise DeskError(f"There is no exercise {wanted!r}.{_suggestion(wanted, name, exercises)}")


def _read(wanted: str) -> tuple[int | None, str]:
    """A chapter number, if one is named, and the name; paths to files of an exercise will do."""
    steps = [step for step in wanted.strip().replace("\\", "/").split("/") if step not in ("", ".")]
    chapter = None
    for step in steps[:-1]:
        if match := re.fullmatch(r"(?:ch)?0*(\d{1,2})", step):
            chapter = int(match.group(1))
    if len(steps) >= 2 and "exercises" in steps[:-2]:
        steps = steps[: steps.index("exercises") + 2]
    name = steps[-1] if steps else ""
    return chapter, name.removesuffix(".py").replace("-", "_")


def _suggestion(wanted: str, name: str, exercises: Sequence[Exercise]) -> str:
    if not exercises:
        return " This workbook has no exercises yet."
    from difflib import get_close_matches

    names = {exercise.name: exercise.id for exercise in exercises}
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f" Did you mean {names[close[0]]}?"
    ids = ", ".join(exercise.id for exercise in exercises)
    return f" The exercises are: {ids}."
