"""What a reader's code says is shown, and never acts on the terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from labs.desk.book import Book
from labs.desk.exercises import Exercise
from labs.desk.grading import Grade, Verdict
from labs.desk.report import show_failure
from labs.desk.trouble import Kind, Trouble
from shared.screen import Screen

TITLE = "\x1b]0;owned\x07"


def failing(trouble: Trouble) -> Grade:
    return Grade((Verdict("test_x.py::test_a", "failed", "It works.", trouble=trouble),))


@pytest.mark.parametrize(
    "result",
    [
        failing(Trouble(Kind.CRASH, (f"ValueError: {TITLE}",), line=1)),
        failing(Trouble(Kind.PROMISE, ("1 == 2",), excerpt=(f"with text = {TITLE}",), at=1)),
        failing(Trouble(Kind.LOAD, ("SyntaxError: x",), excerpt=(f"> {TITLE}",), line=1)),
        failing(Trouble(Kind.NOT_WRITTEN, (), line=2)),
        Grade((), (f"pytest ended: {TITLE}",)),
    ],
    ids=["message", "excerpt", "line", "task", "output"],
)
def test_escape_sequences_are_spelled_out(tmp_path: Path, result: Grade) -> None:
    exercise = Exercise(2, "x", tmp_path / "chapters" / "ch02" / "exercises" / "x")
    book = Book(tmp_path, tmp_path / "work")
    own = exercise.own_file(book)
    own.parent.mkdir(parents=True)
    own.write_text(f"# TODO: {TITLE}\n", encoding="utf-8")
    out = io.StringIO()
    show_failure(Screen(out), book, exercise, result, 0)
    assert r"\x1b]0;owned\x07" in out.getvalue()
    assert "\x1b" not in out.getvalue()
    assert "\x07" not in out.getvalue()
