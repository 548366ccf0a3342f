"""The commands of the desk, typed as a reader types them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from labs.cli import main
from labs.desk.book import Book, DeskError
from labs.desk.exercises import Exercise
from labs.desk.progress import hash_of, record_check
from labs.desk.progress_file import Seen, change, load
from labs.desk.watch import watch
from shared.screen import Screen
from tests.desk_sample import README, SOLUTION, add_exercise

Type = Callable[..., tuple[int, str]]


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Book:
    (tmp_path / "chapters" / "ch02").mkdir(parents=True)
    (tmp_path / "chapters" / "ch02" / "__init__.py").touch()
    (tmp_path / "chapters" / "ch02" / "README.md").write_text(README, encoding="utf-8")
    book = Book(tmp_path, tmp_path / "work")
    monkeypatch.setattr("labs.desk.book.this_book", lambda: book)
    return book


@pytest.fixture
def exercise(book: Book) -> Exercise:
    return add_exercise(book)


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Type:
    """Types `workbook WORDS`; returns the exit code and what was printed."""

    def run(*words: str) -> tuple[int, str]:
        code = main(words, standalone_mode=False)
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def test_read_folds_the_answers(book: Book, typed: Type) -> None:
    code, said = typed("read", "2")
    assert code == 0
    assert "**1. What ends a word?**" in said
    assert said.count("Answers are hidden") == 1
    assert "`workbook quiz 2` asks them one by one; `workbook read 2 --answers` shows them" in said
    assert "A space." not in said
    assert "A space." in typed("read", "2", "--answers")[1]


def test_read_names_the_tests_of_sentences_only_if_asked(book: Book, typed: Type) -> None:
    text = README.replace("Intro.", "[It holds](tests/test_words.py#test_spaces).")
    book.text_of(2).write_text(text, encoding="utf-8")
    said = typed("read", "2")[1]
    assert said.startswith(
        "# Chapter\n\n*Tests prove this text: `workbook read 2 --proofs` names them.*\n"
    )
    assert "It holds.\n" in said
    assert "test_spaces" not in said
    said = typed("read", "2", "--proofs")[1]
    assert "It holds [1].\n\n```text proofs\n1 test_spaces\n```\n\n## Words" in said
    assert "names them" not in said


def test_read_can_show_one_section(book: Book, typed: Type) -> None:
    assert typed("read", "2", "--section", "words") == (0, "## Words\n\nWhat a word is.\n")
    code, said = typed("read", "2", "--section", "worms")
    assert code == 2
    assert "self-test" in said


def test_exercises_are_listed_with_what_comes_next(exercise: Exercise, typed: Type) -> None:
    code, said = typed("exercise")
    assert code == 0
    assert "02/count_words  Count words" in said
    assert said.endswith("Next      workbook exercise 02/count_words\n")
    typed("exercise", "count_words")
    said = typed("exercise")[1]
    assert "started: work/ch02/count_words.py" in said
    assert said.endswith("Next      workbook check\n")


def test_starting_copies_the_starter_once(book: Book, exercise: Exercise, typed: Type) -> None:
    code, said = typed("exercise", "2/count_words")
    own = exercise.own_file(book)
    assert code == 0
    assert own.read_text(encoding="utf-8") == exercise.starter.read_text(encoding="utf-8")
    assert "Write     work/ch02/count_words.py:10" in said
    assert "Next      workbook check" in said
    own.write_text("mine", encoding="utf-8")
    code, said = typed("exercise", "2/count_words")
    assert code == 2
    assert "workbook reset 02/count_words" in said
    assert own.read_text(encoding="utf-8") == "mine"


def test_a_statement_can_be_read_without_starting(
    book: Book, exercise: Exercise, typed: Type
) -> None:
    code, said = typed("exercise", "count_words", "--read")
    assert (code, said.splitlines()[0]) == (0, "# Count words")
    assert not book.work.exists()


def test_a_typing_error_gets_a_suggestion(exercise: Exercise, typed: Type) -> None:
    code, said = typed("exercise", "2/cuont_words")
    assert (code, said.strip()) == (
        2,
        "There is no exercise '2/cuont_words'. Did you mean 02/count_words?",
    )


@pytest.mark.parametrize("command", ["check", "hint", "reset"])
def test_what_is_not_started_is_said_with_the_way_to_start(
    exercise: Exercise, typed: Type, command: str
) -> None:
    code, said = typed(command, "count_words")
    assert code == 2
    assert "  workbook exercise 02/count_words\n" in said
    code, said = typed(command)
    assert code == 2
    assert "No exercise is open" in said


def test_check_ends_with_one_until_the_exercise_passes(
    book: Book, exercise: Exercise, typed: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed("exercise", "count_words")
    for passes, expected in ((False, 1), (True, 0)):
        monkeypatch.setattr("labs.desk.check.check", lambda *_, p=passes: p)
        assert typed("check")[0] == expected
    assert typed("check", "--all", "count_words")[0] == 2
    assert typed("check", "--all", "--watch")[0] == 2


def test_hints_come_one_by_one_and_are_remembered(
    book: Book, exercise: Exercise, typed: Type
) -> None:
    typed("exercise", "count_words")
    assert typed("hint", "--seen")[0] == 2
    for number, words in enumerate(("Which characters", "`re.findall`", "`len(text.split())`"), 1):
        said = typed("hint")[1]
        assert f"Hint {number} of 3" in said
        assert words in said
        assert said.count("Hint ") == 1
        assert load(book)[exercise.id].hints == number
    assert "workbook solution 02/count_words --anyway" in said
    assert "Hint 3 of 3" in typed("hint")[1]
    assert load(book)[exercise.id].hints == 3
    assert typed("hint", "--seen")[1].count("Hint ") == 3


def test_a_passed_exercise_needs_no_hint(book: Book, exercise: Exercise, typed: Type) -> None:
    typed("exercise", "count_words")
    typed("hint")
    record_check(book, exercise, True, hash_of(exercise.own_file(book)))
    said = typed("hint", "count_words")[1]
    assert said == "02/count_words: passed; see `workbook solution 02/count_words`.\n"
    assert load(book)[exercise.id].hints == 1, "none was shown, none is counted"
    assert "Hint 1 of 3" in typed("hint", "count_words", "--seen")[1]
    exercise.own_file(book).write_text("changed", encoding="utf-8")
    assert "Hint 2 of 3" in typed("hint", "count_words")[1], "it is being worked on again"


def test_the_solution_waits_for_a_pass_or_is_noted(
    book: Book, exercise: Exercise, typed: Type
) -> None:
    code, said = typed("solution", "count_words")
    assert code == 1
    assert "re.findall" not in said
    assert "--anyway" in said
    assert load(book) == {}
    code, said = typed("solution", "count_words", "--anyway")
    assert code == 0
    assert said.replace("chapters/ch02/exercises/count_words/solution.py\n", "") == SOLUTION
    assert load(book)[exercise.id].solution is Seen.ANYWAY
    assert typed("solution", "count_words")[0] == 0, "it has been seen"


def test_after_a_pass_the_solution_is_open(book: Book, exercise: Exercise, typed: Type) -> None:
    from labs.desk.progress_file import now

    change(book, exercise, lambda entry: replace(entry, passed=now()))
    assert typed("solution", "count_words")[0] == 0
    assert load(book)[exercise.id].solution is Seen.AFTER_PASS


def test_reset_asks_and_keeps_the_old_file(book: Book, exercise: Exercise, typed: Type) -> None:
    typed("exercise", "count_words")
    own = exercise.own_file(book)
    own.write_text("mine", encoding="utf-8")
    code, said = typed("reset")
    assert code == 2
    assert "workbook reset 02/count_words --yes" in said
    assert own.read_text(encoding="utf-8") == "mine"
    code, said = typed("reset", "--yes")
    assert code == 0
    (kept,) = (book.work / ".trash").iterdir()
    assert kept.read_text(encoding="utf-8") == "mine"
    assert f"work/.trash/{kept.name}" in said


def test_quiz_prints_questions_and_answers_only_if_asked(book: Book, typed: Type) -> None:
    code, said = typed("quiz", "2")
    assert code == 0
    assert "**1 of 2.** What ends a word?" in said
    assert "A space." not in said
    said = typed("quiz", "2", "--answers")[1]
    assert "A space." in said
    assert "Proof, in chapters/ch02/tests/test_words.py:\npytest -k test_spaces\n" in said


def test_quiz_waits_for_the_reader(
    book: Book, typed: Type, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("labs.commands.quiz.at_a_terminal", lambda: True)
    shown_before: list[str] = []
    answers = iter(["", "", "q"])

    def press(prompt: str) -> str:
        shown_before.append(capsys.readouterr().out)
        return next(answers)

    monkeypatch.setattr("builtins.input", press)
    assert typed("quiz", "2")[0] == 0
    question, answer, second = shown_before
    assert question.startswith("Answer aloud or in your head, then press Enter.\n")
    assert "What ends a word?" in question
    assert "A space." not in question
    assert "A space." in answer
    assert "What ends a text?" in second
    assert "Its end." not in second


def test_watch_checks_again_after_a_save_until_it_passes(tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text("first", encoding="utf-8")
    seen: list[str] = []

    def check() -> bool:
        seen.append(own.read_text(encoding="utf-8"))
        if len(seen) == 1:  # an editor replaces the file, and another one next to it is no matter
            (tmp_path / "other.py").touch()
            (tmp_path / "new").write_text("second", encoding="utf-8")
            (tmp_path / "new").replace(own)
        return len(seen) == 2

    watch(Screen(sys.stdout), own, "work/mine.py", check)
    assert seen == ["first", "second"]


def test_watch_without_watchfiles_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(DeskError, match="needs the package watchfiles"):
        watch(Screen(sys.stdout), tmp_path / "x", "x", lambda: True)


def test_a_broken_progress_file_is_said_by_every_command(
    book: Book, exercise: Exercise, typed: Type
) -> None:
    typed("exercise", "count_words")
    (book.work / "progress.toml").write_text("broken", encoding="utf-8")
    for words in (["exercise"], ["check"], ["hint"], ["solution"], ["reset", "--yes"]):
        code, said = typed(*words)
        assert code == 2, words
        assert "workbook check --all" in said, words


def test_dev_starters_writes_only_what_changed(book: Book, exercise: Exercise, typed: Type) -> None:
    assert typed("dev", "starters") == (0, "The starters are what the solutions give.\n")
    exercise.starter.unlink()
    assert typed("dev", "starters") == (
        0,
        "wrote chapters/ch02/exercises/count_words/starter.py\n",
    )


def test_dev_docs_check_fails_on_drift(book: Book, typed: Type) -> None:
    (book.root / "a.py").write_text("# region: r\nx = 1\n# endregion: r\n", encoding="utf-8")
    readme = book.text_of(2)
    readme.write_text('<!-- [[[cog region("a.py", "r") ]]] -->\n<!-- [[[end]]] -->\n', "utf-8")
    code, said = typed("dev", "docs", "--check")
    assert code == 1
    assert "+x = 1" in said
    assert said.endswith("workbook dev docs\n")
    assert typed("dev", "docs") == (0, "refreshed chapters/ch02/README.md\n")
    assert typed("dev", "docs", "--check") == (0, "The texts show what the code is.\n")
