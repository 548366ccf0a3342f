"""The desk finds an exercise by whatever a reader calls it, and makes starters from solutions."""

from __future__ import annotations

from pathlib import Path

import pytest

from labs.desk.book import Book, DeskError
from labs.desk.exercises import all_exercises, find_exercise
from labs.desk.starter import find_regions, make_starter, only_in_solution
from tests.desk_sample import SOLUTION, add_exercise


@pytest.fixture
def book(tmp_path: Path) -> Book:
    for number in (1, 2):
        (tmp_path / "chapters" / f"ch{number:02}").mkdir(parents=True)
        (tmp_path / "chapters" / f"ch{number:02}" / "__init__.py").touch()
    book = Book(tmp_path, tmp_path / "work")
    for name, chapter in (("zebra", 1), ("shared_name", 1), ("append_file", 2), ("shared_name", 2)):
        add_exercise(book, name, chapter=chapter)
    return book


@pytest.mark.parametrize(
    "wanted",
    [
        "02/append_file",
        "2/append_file",
        "ch02/append_file",
        "ch2/append_file",
        "append_file",
        "append-file",
        " 02/append_file/ ",
        "work/ch02/append_file.py",
        "/".join((".", "work", "ch02", "append_file.py")),
        "work\\ch02\\append_file.py",
        "chapters/ch02/exercises/append_file",
        "chapters/ch02/exercises/append_file/README.md",
        "/some/where/chapters/ch02/exercises/append_file/starter.py",
    ],
)
def test_an_exercise_has_many_names(book: Book, wanted: str) -> None:
    assert find_exercise(book, wanted).id == "02/append_file"


@pytest.mark.parametrize(
    ("wanted", "advice"),
    [
        ("apend_file", "Did you mean 02/append_file?"),
        ("2/append", "Did you mean 02/append_file?"),
        ("1/append_file", "Did you mean 02/append_file?"),
        ("shared_name", "may be 01/shared_name or 02/shared_name"),
        ("nothing_like_it_at_all", "The exercises are: 01/shared_name"),
        ("", "The exercises are:"),
    ],
)
def test_a_name_that_names_none_gets_advice(book: Book, wanted: str, advice: str) -> None:
    with pytest.raises(DeskError) as caught:
        find_exercise(book, wanted)
    assert advice in str(caught.value)


def test_exercises_come_in_the_order_of_the_text(book: Book) -> None:
    assert [each.id for each in all_exercises(book)][:2] == ["01/shared_name", "01/zebra"]
    text = "- `01/zebra`\n- [Other](exercises/shared_name/README.md)\n"
    (book.chapter_folder(1) / "README.md").write_text(text, encoding="utf-8")
    assert [each.id for each in all_exercises(book)][:2] == ["01/zebra", "01/shared_name"]


def test_a_folder_without_a_solution_is_no_exercise(book: Book) -> None:
    (book.chapter_folder(1) / "exercises" / "__pycache__").mkdir()
    assert len(all_exercises(book)) == 4


def test_a_starter_has_what_is_to_do_in_place_of_the_solution() -> None:
    starter = make_starter(SOLUTION)
    assert (
        '''\
    """How many words there are in `text`."""
    # TODO: Count runs of characters that are not spaces.
    raise NotImplementedError("your turn")
'''
        in starter
    )
    assert starter.count("raise NotImplementedError") == 2
    assert "import re" in starter
    assert "findall" not in starter
    assert "solution" not in starter


def test_a_starter_made_twice_is_the_same() -> None:
    assert make_starter(SOLUTION) == make_starter(SOLUTION)
    assert make_starter(SOLUTION.replace("\n", "\r\n")) == make_starter(SOLUTION)


def test_only_lines_that_stand_nowhere_else_give_the_solution_away() -> None:
    secret = only_in_solution(SOLUTION)
    assert 'words = re.findall(r"\\S+", text)' in secret
    assert "import re" not in secret


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = 1\n", "nothing for the reader to write"),
        ("# solution: a\nx = 1\n", "line 1: the region has no"),
        ("x = 1\n# end solution\n", "line 2: `# end solution` without"),
        ("# solution: a\n# solution: b\nx\n# end solution\n", "line 2: a region begins before"),
        ("# solution:\nx\n# end solution\n", "line 1: say after"),
        ("# solution: a\nx\n    # end solution\n", "line 3: indented differently"),
        ("# solution: a\n# end solution\n", "line 2: the region is empty"),
    ],
)
def test_broken_markers_are_refused_by_line(source: str, reason: str) -> None:
    with pytest.raises(DeskError) as caught:
        find_regions(source)
    assert reason in str(caught.value)
