"""A check says which promise is broken, on what input, where to read: and never more than that."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from labs.desk.book import Book
from labs.desk.check import check, check_all
from labs.desk.exercises import Exercise
from labs.desk.grading import Grade, Verdict, grade, spelled_out
from labs.desk.own_file import start
from labs.desk.progress_file import load, progress_file
from labs.desk.report import show_failure
from labs.desk.trouble import Kind, explain
from shared.screen import Screen
from tests.desk_sample import SOLUTION, add_exercise, copy_of_workbook

SWALLOWING = '''\
"""Promises of a tool that crashes inside an agent."""

from __future__ import annotations

from types import ModuleType

import pytest

from chapters import ch02
from shared.plan import Kit, Plan
from shared.scripted import call, says
from shared.testing import run_script


@pytest.mark.contract("The tool answers.")
@pytest.mark.anyio
async def test_the_tool_answers(target: ModuleType) -> None:
    def plan(kit: Kit) -> Plan:
        made: Plan = ch02.plan(kit).with_tools(target.tool())
        return made

    recording = await run_script(plan, [says(call("count")), says("done")])
    assert [result.text for result in recording.results] == ["3"]
'''
TOOL = '''\
"""A tool."""

from __future__ import annotations

from chapters.ch02.registry import Arguments, define_tool
from shared.tools import Effect, Tool


def tool() -> Tool:
    """Counts to three."""

    async def handler(arguments: Arguments) -> str:
        # solution: Answer with three.
        return str(3)
        # end solution

    return define_tool("count", "Counts.", Effect.READ, Arguments, handler)
'''

# What a reader may have written, each in an exercise of its own.
FILES = {
    "untouched": None,
    "right": SOLUTION,
    "wrong": SOLUTION.replace("return len(words)", 'return len(text.split(" "))'),
    "crashing": SOLUTION.replace("len(words)", "len(wrods)"),
    "renamed": SOLUTION.replace("def longest", "def long_est"),
    "syntax": SOLUTION.replace("return len(words)", "return len(words"),
    "unimported": SOLUTION.replace("import re\n", "import no_such_module\n"),
    "exiting": SOLUTION + "\nraise SystemExit(0)\n",
    "swallowed": TOOL.replace("str(3)", "str(3 + None)"),
    "swallowed_todo": None,
}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return copy_of_workbook(tmp_path_factory.mktemp("workbook"))


@pytest.fixture(scope="module")
def exercises(book: Book) -> dict[str, Exercise]:
    made: dict[str, Exercise] = {}
    for name, text in FILES.items():
        special = name.startswith("swallowed")
        made[name] = (
            add_exercise(book, name, solution=TOOL, tests=SWALLOWING)
            if special
            else add_exercise(book, name)
        )
        own = start(book, made[name])
        if text is not None:
            own.write_text(text, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def grades(book: Book, exercises: dict[str, Exercise]) -> dict[str, Grade]:
    """All of them graded in one run, and taken apart again: a start of pytest is what costs."""
    whole = grade(book, [book.show(each.folder) for each in exercises.values()], "mine")
    assert whole.broken == ()
    return {
        name: Grade(
            tuple(v for v in whole.verdicts if v.test.startswith(f"{book.show(each.tests)}::"))
        )
        for name, each in exercises.items()
    }


def shown(book: Book, exercise: Exercise, result: Grade, hints: int = 0) -> str:
    out = io.StringIO()
    show_failure(Screen(out, {"COLUMNS": "80"}), book, exercise, result, hints)
    return out.getvalue()


@pytest.fixture
def message(
    book: Book,
    exercises: dict[str, Exercise],
    grades: dict[str, Grade],
    request: pytest.FixtureRequest,
) -> str:
    """What a failing check of the exercise named by the parameter says."""
    name = request.param
    text = shown(book, exercises[name], grades[name])
    assert "Traceback" not in text
    assert str(book.root) not in text
    assert len(text.splitlines()) <= 30, text
    assert max(len(line) for line in text.splitlines()) <= 80, text
    return text


def test_a_right_file_keeps_every_promise(grades: dict[str, Grade]) -> None:
    assert grades["right"].good
    assert grades["right"].promises == {
        "Words are what stands between spaces.": True,
        "The longest word wins.": True,
    }


@pytest.mark.parametrize("message", ["untouched"], indirect=True)
def test_an_unwritten_part_is_named_by_its_task(message: str) -> None:
    assert "0 of 2 checks passed" in message
    assert "not written yet" in message
    assert "# TODO: Count runs of characters that are not spaces." in message
    assert "work/ch02/untouched.py:11" in message
    assert "Not yet, either" not in message, "that all the rest is missing is no news"


@pytest.mark.parametrize("message", ["wrong"], indirect=True)
def test_a_broken_promise_comes_with_the_input_that_shows_it(message: str) -> None:
    expected = """\
Broken    Words are what stands between spaces.

    with text = '  one  two '
    with words = 2
    > assert target.count_words(text) == words

    6 == 2
     +  where 6 = count_words('  one  two ')

File      work/ch02/wrong.py
Test      chapters/ch02/exercises/wrong/test_wrong.py:13
Read      chapters/ch02/README.md:5, Words
          workbook read 2 --section words
Hint      workbook hint 02/wrong  (3 left)
Again     workbook check 02/wrong
"""
    assert expected in message
    assert "1 of 2 checks passed" in message


@pytest.mark.parametrize("message", ["crashing"], indirect=True)
def test_a_crash_is_named_with_its_line(message: str) -> None:
    assert "NameError: name 'wrods' is not defined" in message
    assert "work/ch02/crashing.py:12" in message


@pytest.mark.parametrize("message", ["renamed"], indirect=True)
def test_a_missing_name_is_named(message: str) -> None:
    assert "Your file has no `longest`." in message
    assert 'text = "a list of words"' in message, "the lines before show what was tried"
    assert "A docstring that is not shown" not in message


@pytest.mark.parametrize("message", ["syntax"], indirect=True)
def test_a_syntax_error_is_file_line_and_message(message: str) -> None:
    assert "your file cannot be loaded" in message
    assert "SyntaxError: '(' was never closed" in message
    assert "> return len(words\n" in message
    assert "work/ch02/syntax.py:12" in message
    assert "Broken" not in message


@pytest.mark.parametrize("message", ["unimported"], indirect=True)
def test_an_import_error_is_file_line_and_message(message: str) -> None:
    assert "No module named 'no_such_module'" in message
    assert "work/ch02/unimported.py:5" in message


@pytest.mark.parametrize("message", ["exiting"], indirect=True)
def test_a_file_that_ends_the_program_cannot_be_loaded(message: str) -> None:
    assert "SystemExit: 0" in message
    assert "work/ch02/exiting.py:22" in message


@pytest.mark.parametrize("message", ["swallowed"], indirect=True)
def test_a_crash_that_became_a_tool_result_is_still_shown(message: str) -> None:
    """The dispatcher makes `tool_execution_error` of it, which would tell a reader nothing."""
    assert "TypeError: unsupported operand" in message
    assert "work/ch02/swallowed.py:14" in message
    assert "tool_execution_error" in message


def test_an_unwritten_tool_is_seen_through_the_dispatcher(grades: dict[str, Grade]) -> None:
    (verdict,) = grades["swallowed_todo"].failed
    assert verdict.trouble is not None
    assert verdict.trouble.kind is Kind.NOT_WRITTEN
    assert verdict.trouble.line == 14


SENTENCE = "A server says at length what it does not take, and " * 4 + "why."
HELPED = f'''\
import pytest


def asked():
    if True:
        pytest.fail("{SENTENCE}", pytrace=False)


def test_something():
    asked()
'''


def test_what_a_helper_of_the_test_says_is_whole_and_stands_at_the_line_of_the_test(
    tmp_path: Path,
) -> None:
    tests = tmp_path / "test_it.py"
    tests.write_text(HELPED, encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(HELPED, str(tests), "exec"), names)
    with pytest.raises(pytest.fail.Exception) as caught:
        names["test_something"]()
    trouble = explain(caught.value, own_file=tmp_path / "mine.py", tests=tests)
    assert trouble.message == (SENTENCE,)
    assert trouble.excerpt == ("> asked()",)
    assert trouble.at == 10


def test_a_reader_who_has_seen_all_hints_is_told_of_the_solution(
    book: Book, exercises: dict[str, Exercise], grades: dict[str, Grade]
) -> None:
    text = shown(book, exercises["wrong"], grades["wrong"], hints=3)
    assert "all seen; or: workbook solution 02/wrong" in text


def test_tests_that_cannot_run_are_not_the_readers_fault(
    book: Book, exercises: dict[str, Exercise]
) -> None:
    text = shown(book, exercises["right"], Grade((), ("test_x.py: ImportError",)))
    assert "could not be run" in text
    assert "test_x.py: ImportError" in text
    assert "git status" in text


def test_nothing_but_skipped_tests_is_no_pass(book: Book, exercises: dict[str, Exercise]) -> None:
    skipped = Grade((Verdict("test_x.py::test_a", "skipped"),))
    assert not skipped.good
    assert "skipped" in shown(book, exercises["right"], skipped)


def test_a_loop_without_end_is_stopped_and_its_line_named(
    book: Book, exercises: dict[str, Exercise]
) -> None:
    own = exercises["wrong"].own_file(book)
    before = own.read_text(encoding="utf-8")
    endless = SOLUTION.replace("return len(words)", "while True:\n        print(words)")
    own.write_text(endless, encoding="utf-8")
    try:
        out = io.StringIO()
        assert not check(Screen(out), book, exercises["wrong"], seconds=0.4)
    finally:
        own.write_text(before, encoding="utf-8")
    text = out.getvalue()
    assert "Words are what stands between spaces." in text
    assert "It did not come back within 0.4 seconds and was stopped." in text
    assert "work/ch02/wrong.py:13" in text
    assert load(book)["02/wrong"].passed is None


@pytest.fixture
def graded_before(grades: dict[str, Grade], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing runs again: the grade of an exercise is the one it got above."""
    monkeypatch.setattr(
        "labs.desk.check.grade",
        lambda book, places, target, seconds: grades[places[0].rpartition("/")[2]],
    )


@pytest.mark.usefixtures("graded_before")
def test_a_check_shows_the_command_and_remembers_the_pass(
    book: Book, exercises: dict[str, Exercise], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(book.root)
    out = io.StringIO()
    assert check(Screen(out), book, exercises["right"])
    lines = out.getvalue().splitlines()
    assert lines[0].endswith("pytest chapters/ch02/exercises/right")
    assert "✓ 02/right passed all 2 checks." in lines
    assert "Compare   chapters/ch02/exercises/right/solution.py" in lines
    assert any(line.startswith("Next      workbook check") for line in lines)
    assert load(book)["02/right"].passed is not None


@pytest.mark.usefixtures("graded_before")
def test_check_all_writes_a_lost_progress_file_again(
    book: Book, exercises: dict[str, Exercise], tmp_path: Path
) -> None:
    book = Book(book.root, tmp_path / "work")
    start(book, exercises["untouched"])
    start(book, exercises["right"]).write_text(SOLUTION, encoding="utf-8")
    progress_file(book).write_text("[broken", encoding="utf-8")
    out = io.StringIO()
    assert not check_all(Screen(out), book)
    assert "The progress file could not be read; it is now work/.trash/" in out.getvalue()
    assert "✓ 02/right" in out.getvalue()
    assert "✗ 02/untouched" in out.getvalue()
    entries = load(book)
    assert entries["02/right"].passed
    assert not entries["02/untouched"].passed
    assert "02/wrong" not in entries, "it is not started"


def test_the_command_can_be_typed_as_it_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = Book(tmp_path, tmp_path / "work")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.name", "posix")
    assert spelled_out(book, ["a"], "mine") == "WORKBOOK_TARGET=mine pytest a"
    assert spelled_out(book, ["a"], "solution") == "pytest a"
    monkeypatch.chdir(tmp_path.parent)
    assert spelled_out(book, ["a"], "mine") == (f"cd {tmp_path} && WORKBOOK_TARGET=mine pytest a")
