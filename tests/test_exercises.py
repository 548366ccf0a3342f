"""Every exercise can be begun, and fails because it is unfinished.

That each can be solved is shown by its own tests, which run on the reference solution unless told
otherwise; `workbook dev verify` looks at all of it in one go.
"""

from __future__ import annotations

import pytest

from labs.desk.book import this_book
from labs.desk.exercise_files import problems_on_paper
from labs.desk.exercise_runs import grade_all, lint, problems_of_starter
from labs.desk.exercises import Exercise, all_exercises
from labs.desk.grading import Grade
from labs.desk.verify import stray_folders

BOOK = this_book()
EXERCISES = all_exercises(BOOK)
each = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)


@pytest.fixture(scope="module")
def begun() -> Grade:
    """The tests of all exercises on the starters."""
    return grade_all(BOOK, EXERCISES, "starter")


@each
def test_its_files_are_sound(exercise: Exercise) -> None:
    assert problems_on_paper(BOOK, exercise) == []


@each
def test_its_starter_fails_at_a_todo(exercise: Exercise, begun: Grade) -> None:
    assert problems_of_starter(BOOK, exercise, begun) == []


def test_they_are_formatted_and_linted() -> None:
    pytest.importorskip("ruff", reason="pip install -e '.[dev]'")
    assert lint(BOOK, EXERCISES) == []


def test_none_is_missing_from_the_lists() -> None:
    assert stray_folders(BOOK) == []
    assert len({exercise.id for exercise in EXERCISES}) == len(EXERCISES)
