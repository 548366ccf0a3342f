"""Nobody meets a broken exercise: whatever can be wrong with one is found and named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from labs.desk.book import Book
from labs.desk.exercise_files import problems_on_paper
from labs.desk.exercise_runs import grade_all, lint, problems_of_solution, problems_of_starter
from labs.desk.exercises import Exercise
from labs.desk.verify import proofs, stray_folders
from tests.desk_sample import README, SOLUTION, TESTS, add_exercise, copy_of_workbook


@pytest.fixture
def book(tmp_path: Path) -> Book:
    (tmp_path / "chapters" / "ch02").mkdir(parents=True)
    (tmp_path / "chapters" / "ch02" / "__init__.py").touch()
    (tmp_path / "chapters" / "ch02" / "README.md").write_text(README, encoding="utf-8")
    return Book(tmp_path, tmp_path / "work")


def test_a_sound_exercise_has_no_problems(book: Book) -> None:
    exercise = add_exercise(book)
    (exercise.folder / "__pycache__").mkdir()
    assert problems_on_paper(book, exercise) == []


def rewrite(part: str, old: str, new: str) -> Callable[[Exercise], None]:
    def change(exercise: Exercise) -> None:
        path: Path = getattr(exercise, part)
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    return change


def remove(part: str) -> Callable[[Exercise], None]:
    return lambda exercise: getattr(exercise, part).unlink()


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (remove("hints"), "hints.md is missing"),
        (remove("starter"), "starter.py is missing"),
        (remove("tests"), "test_count_words.py is missing"),
        (rewrite("hints", "Which characters end a word?", ""), "a hint in hints.md is empty"),
        (rewrite("hints", "## 3", "## 4"), "hints.md must have the sections"),
        (rewrite("hints", "## 2\n\n`re.findall` gives all runs.", ""), "must have the sections"),
        (rewrite("starter", "# TODO: Count", "# TODO: count"), "run `workbook dev starters`"),
        (
            rewrite("starter", 'raise NotImplementedError("your turn")', "return len(words)"),
            "starter.py gives the solution away: return len(words)",
        ),
        (rewrite("solution", "    # end solution", ""), "solution.py: line"),
        (rewrite("statement", "# Count words", "Count words"), "README.md must have a title"),
        (rewrite("tests", "#words", "#worms"), "chapters/ch02/README.md has no section #worms"),
        (
            rewrite("tests", "@pytest.mark.contract", "@pytest.mark.skip"),
            "test_counts has no @pytest.mark.contract",
        ),
        (lambda e: (e.folder / "notes.txt").touch(), "notes.txt does not belong here"),
        (lambda e: (e.folder / "extra.py").touch(), "extra.py does not belong here"),
    ],
)
def test_a_flaw_is_named(book: Book, spoil: Callable[[Exercise], None], problem: str) -> None:
    exercise = add_exercise(book)
    spoil(exercise)
    problems = problems_on_paper(book, exercise)
    assert [text for text in problems if problem in text], problems
    assert all(text.startswith("02/count_words: ") for text in problems)


def test_a_dead_reference_is_found_behind_a_name(book: Book) -> None:
    tests = TESTS.replace('read="chapters/ch02/README.md#words"', "read=WORDS").replace(
        "import pytest\n", 'import pytest\n\nWORDS = "chapters/ch02/README.md#gone"\n'
    )
    problems = problems_on_paper(book, add_exercise(book, tests=tests))
    assert problems == [
        "02/count_words: test_counts says where to read, but "
        "chapters/ch02/README.md has no section #gone"
    ]


def test_a_name_must_be_short(book: Book) -> None:
    exercise = add_exercise(book, "a" * 33)
    assert "at most 32 characters" in problems_on_paper(book, exercise)[0]


def test_a_helper_the_tests_import_belongs(book: Book) -> None:
    exercise = add_exercise(book, tests=TESTS + "\n# from .extra import x\n")
    (exercise.folder / "extra.py").touch()
    assert problems_on_paper(book, exercise) == []


def test_a_folder_in_no_list_is_found(book: Book) -> None:
    exercise = add_exercise(book)
    exercise.solution.unlink()
    assert stray_folders(book) == ["chapters/ch02/exercises/count_words has no solution.py"]


def test_an_answer_without_its_test_is_found(book: Book) -> None:
    assert [line for line in proofs(book) if "question 1: there is no test" in line]


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> tuple[Book, dict[str, Exercise]]:
    """Exercises that can only be told from sound ones by running them, or by ruff."""
    book = copy_of_workbook(tmp_path_factory.mktemp("workbook"))
    todo = "# solution: Count runs of characters that are not spaces."
    return book, {
        "sound": add_exercise(book, "sound"),
        "wrong": add_exercise(book, "wrong", solution=SOLUTION.replace("len(words)", "9")),
        "uncollected": add_exercise(
            book, "uncollected", tests=TESTS.replace("import pytest", "import no_such_module")
        ),
        "empty": add_exercise(book, "empty", tests='"""No tests."""\n'),
        "passing": add_exercise(
            book, "passing", tests=TESTS.replace("assert target.", "assert ...  # target.")
        ),
        "unloadable": add_exercise(
            book,
            "unloadable",
            solution=SOLUTION.replace(
                "import re\n", "# solution: Import.\nimport re\n# end solution\n"
            ),
        ),
        "half_done": add_exercise(
            book,
            "half_done",
            solution=SOLUTION.replace(f"    {todo}\n", f"    text.no_method()\n    {todo}\n"),
        ),
        "unformatted": add_exercise(book, "unformatted", solution=SOLUTION + "\n\n\nx=1\n"),
    }


def test_solutions_must_pass(spoilt: tuple[Book, dict[str, Exercise]]) -> None:
    book, exercises = spoilt
    result = grade_all(book, list(exercises.values()), "solution")
    problems = {
        name: "\n".join(problems_of_solution(book, exercise, result))
        for name, exercise in exercises.items()
    }
    assert "the solution breaks “Words are what stands between spaces.”" in problems["wrong"]
    assert "no_such_module" in problems["uncollected"]
    assert "no test passes" in problems["empty"]
    assert problems["sound"] == problems["passing"] == problems["unformatted"] == ""


def test_starters_must_fail_at_a_todo(spoilt: tuple[Book, dict[str, Exercise]]) -> None:
    book, exercises = spoilt
    result = grade_all(book, list(exercises.values()), "starter")
    problems = {
        name: "\n".join(problems_of_starter(book, exercise, result))
        for name, exercise in exercises.items()
    }
    assert problems["sound"] == problems["wrong"] == problems["unformatted"] == ""
    assert "no_such_module" in problems["uncollected"]
    assert "the starter passes" in problems["passing"]
    assert "NotImplementedError" in problems["unloadable"], "it must be importable"
    assert "not at a TODO: AttributeError" in problems["half_done"]


def test_solutions_must_be_formatted_and_linted(
    spoilt: tuple[Book, dict[str, Exercise]],
) -> None:
    book, exercises = spoilt
    assert lint(book, [exercises["sound"]]) == []
    problems = "\n".join(lint(book, [exercises["unformatted"], exercises["uncollected"]]))
    assert "exercises/unformatted/solution.py" in problems
    assert "ruff check" in problems
