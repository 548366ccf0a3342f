"""The self-test: questions without answers, answers on request, each with a test that proves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from labs.desk.book import Book, DeskError
from labs.desk.quiz import missing_proofs, proof_exists, prove, questions_of
from tests.desk_sample import README, copy_of_workbook

TESTS = '''\
"""Words."""

import pytest


@pytest.mark.parametrize("n", [1, 2])
def test_spaces(n: int) -> None:
    assert n


def test_end() -> None:
    assert False


class TestMore:
    async def test_inner(self) -> None:
        pass


def helper() -> None:
    pass
'''


@pytest.fixture
def book(tmp_path: Path) -> Book:
    tests = tmp_path / "chapters" / "ch02" / "tests"
    tests.mkdir(parents=True)
    (tmp_path / "chapters" / "ch02" / "__init__.py").touch()
    (tests / "__init__.py").touch()
    (tests / "test_words.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "chapters" / "ch02" / "README.md").write_text(README, encoding="utf-8")
    return Book(tmp_path, tmp_path / "work")


def test_questions_are_read_from_the_text(book: Book) -> None:
    first, second = questions_of(book, 2)
    assert (first.number, first.text, first.answer) == (1, "What ends a word?", "A space.")
    assert first.proofs == ("chapters/ch02/tests/test_words.py::test_spaces",)
    assert second.answer == "Its end."


def test_a_question_may_run_over_lines_and_have_several_proofs(book: Book) -> None:
    text = README.replace("What ends a word?", "What <code>ends</code>\na word?").replace(
        "words.py::test_spaces`", "words.py::test_spaces`, `chapters/b.py::test_c`"
    )
    book.text_of(2).write_text(text, encoding="utf-8")
    first = questions_of(book, 2)[0]
    assert first.text == "What `ends` a word?"
    assert first.proofs == (
        "chapters/ch02/tests/test_words.py::test_spaces",
        "chapters/b.py::test_c",
    )


def test_folds_outside_the_self_test_are_no_questions(book: Book) -> None:
    text = "<details>\n<summary>x</summary>\ny\n</details>\n\n" + README
    book.text_of(2).write_text(text, encoding="utf-8")
    assert len(questions_of(book, 2)) == 2


def test_a_chapter_without_a_self_test_says_so(book: Book) -> None:
    book.text_of(2).write_text("# Title\n", encoding="utf-8")
    with pytest.raises(DeskError, match="no self-test"):
        questions_of(book, 2)


@pytest.mark.parametrize(
    ("proof", "exists"),
    [
        ("test_words.py::test_spaces", True),
        ("test_words.py::test_spaces[1]", True),
        ("test_words.py::TestMore::test_inner", True),
        ("test_words.py::test_inner", False),
        ("test_words.py::TestMore", False),
        ("test_words.py::helper", False),
        ("test_words.py::test_gone", False),
        ("test_words.py", False),
        ("test_gone.py::test_spaces", False),
    ],
)
def test_a_proof_must_be_a_test(book: Book, proof: str, exists: bool) -> None:
    assert proof_exists(book.root / "chapters/ch02/tests", proof) is exists


def test_what_is_wrong_with_the_proofs_is_said(book: Book) -> None:
    assert missing_proofs(book, 2) == []
    text = README.replace("test_spaces", "test_gone").replace(
        "Proof: `chapters/ch02/tests/test_words.py::test_end`", ""
    )
    book.text_of(2).write_text(text.replace("A space.", ""), encoding="utf-8")
    assert missing_proofs(book, 2) == [
        "chapter 2, question 1: no answer",
        "chapter 2, question 1: there is no test chapters/ch02/tests/test_words.py::test_gone",
        "chapter 2, question 2: no proof",
    ]


def test_proving_runs_the_tests(tmp_path: Path, book: Book) -> None:
    copy = copy_of_workbook(tmp_path / "copy")
    tests = copy.chapter_folder(2) / "tests"
    tests.mkdir()
    (tests / "__init__.py").touch()
    (tests / "test_words.py").write_text(TESTS, encoding="utf-8")
    assert [proved for _, proved in prove(copy, questions_of(copy, 2))] == [True, False]
