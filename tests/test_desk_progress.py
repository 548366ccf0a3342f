"""Progress: readable, rebuilt when broken, whole when two write at once, and never a push."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from labs.desk.book import Book, DeskError
from labs.desk.exercises import Exercise, all_exercises
from labs.desk.own_file import reset, start
from labs.desk.progress import (
    Status,
    current_exercise,
    hash_of,
    next_step,
    record_check,
    status,
)
from labs.desk.progress_file import Entry, Seen, change, load, progress_file, set_broken_aside
from labs.packages import ROOT
from tests.desk_sample import add_exercise

THEN = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def book(tmp_path: Path) -> Book:
    (tmp_path / "chapters" / "ch02").mkdir(parents=True)
    (tmp_path / "chapters" / "ch02" / "__init__.py").touch()
    book = Book(tmp_path, tmp_path / "work")
    for name in ("first", "second", "third"):
        add_exercise(book, name)
    return book


def exercises(book: Book) -> list[Exercise]:
    return all_exercises(book)


def state(book: Book, exercise: Exercise) -> Status:
    return status(book, exercise, load(book).get(exercise.id))


def passed(book: Book, exercise: Exercise) -> None:
    record_check(book, exercise, True, hash_of(exercise.own_file(book)))


def test_the_file_is_small_and_says_what_it_is(book: Book) -> None:
    first, second, _ = exercises(book)
    change(book, first, lambda _: Entry(THEN, THEN, "0a1b", "2c3d", 2, Seen.ANYWAY))
    change(book, second, lambda _: Entry(started=THEN))
    assert progress_file(book).read_text(encoding="utf-8") == (
        "# What you have done in this workbook; times are in UTC.\n"
        "# Lost or broken? `workbook check --all` writes it again from your files.\n"
        "\n"
        '["02/first"]\n'
        "started = 2020-01-02T03:04:05Z\n"
        "passed = 2020-01-02T03:04:05Z\n"
        'file = "0a1b"\n'
        'tests = "2c3d"\n'
        "hints = 2\n"
        'solution = "before the pass"\n'
        "\n"
        '["02/second"]\n'
        "started = 2020-01-02T03:04:05Z\n"
    )
    assert load(book)["02/first"] == Entry(THEN, THEN, "0a1b", "2c3d", 2, Seen.ANYWAY)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('["02/first"\n', "line 1"),
        ("\x00", "cannot be read"),
        ('["02/first"]\nhints = "two"\n', "hints = 'two'"),
        ('["02/first"]\nhints = -1\n', "hints = -1"),
        ('["02/first"]\nhints = true\n', "hints = True"),
        ('["02/first"]\npassed = "yes"\n', "passed = 'yes'"),
        ('["02/first"]\nfile = "\\""\n', "file ="),
        ('["02/first"]\nsolution = "maybe"\n', "solution = 'maybe'"),
        ("first = 1\n", "'first' is not an exercise"),
        ('["02/first"]\nstarted = 2020-01-02\n', "started ="),
        ('["02/first"]\nstarted = 0001-01-01T00:00:00+23:59\n', "started = datetime"),
        ('["02/first"]\npassed = 9999-12-31T23:59:59-23:59\n', "passed = datetime"),
        ('["02/first"]\nhints = ' + "9" * 5000 + "\n", "cannot be read"),
        ('["02/first"]\nhints = 0x' + "f" * 5000 + "\n", "hints = …"),
        ('["02/first"]\nfile = 0x' + "f" * 5000 + "\n", "file = …"),
        ('["02/first"]\nfile' + ".a" * 2000 + " = 1\n", "file ="),
        ('["02/first"]\nfile = ' + "[" * 2000 + "\n", "cannot be read"),
        ('["02/first"]\nfile = ' + "[" * 2000 + "]" * 2000 + "\n", "cannot be read"),
    ],
)
def test_a_broken_file_is_named_and_never_overwritten(book: Book, text: str, reason: str) -> None:
    book.work.mkdir()
    progress_file(book).write_text(text, encoding="utf-8")
    with pytest.raises(DeskError) as caught:
        load(book)
    assert "work/progress.toml" in str(caught.value)
    assert reason in str(caught.value)
    assert "workbook check --all" in str(caught.value)
    with pytest.raises(DeskError):
        change(book, exercises(book)[0], lambda entry: replace(entry, hints=1))
    with pytest.raises(DeskError):
        start(book, exercises(book)[0])
    assert len(str(caught.value)) < 400
    assert progress_file(book).read_text(encoding="utf-8") == text
    assert not exercises(book)[0].own_file(book).exists()
    moved = set_broken_aside(book)
    assert moved is not None
    assert (book.root / moved).read_text(encoding="utf-8") == text
    start(book, exercises(book)[0])
    assert load(book)["02/first"].started is not None, "the way out leads out"


def test_bytes_that_are_not_text_are_a_broken_file_too(book: Book) -> None:
    book.work.mkdir()
    progress_file(book).write_bytes(b"\xff\xfe")
    with pytest.raises(DeskError, match="UnicodeDecodeError"):
        load(book)


def test_a_broken_file_is_moved_aside_not_deleted(book: Book) -> None:
    book.work.mkdir()
    progress_file(book).write_text("= broken", encoding="utf-8")
    moved = set_broken_aside(book)
    assert moved is not None
    assert (book.root / moved).read_text(encoding="utf-8") == "= broken"
    assert load(book) == {}
    assert set_broken_aside(book) is None


def test_a_hand_edited_time_without_a_zone_is_utc(book: Book) -> None:
    book.work.mkdir()
    progress_file(book).write_text('["02/first"]\nstarted = 2020-01-02T03:04:05\nnote = "x"\n')
    assert load(book)["02/first"] == Entry(started=THEN)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_time_of_another_age_is_still_a_time_after_the_next_write(book: Book, text: str) -> None:
    book.work.mkdir()
    progress_file(book).write_text(f'["02/first"]\nstarted = {text}\n', encoding="utf-8")
    before = load(book)["02/first"].started
    entry = change(book, exercises(book)[0], lambda entry: replace(entry, hints=1))
    assert load(book)["02/first"] == entry
    assert entry.started == before


def test_processes_do_not_lose_each_others_entries_and_nobody_reads_half(book: Book) -> None:
    program = (
        "import sys\nfrom dataclasses import replace\nfrom pathlib import Path\n"
        "from labs.desk.book import Book\nfrom labs.desk.exercises import find_exercise\n"
        "from labs.desk.progress_file import change\n"
        "root = Path(sys.argv[1]); book = Book(root, root / 'work')\n"
        "exercise = find_exercise(book, sys.argv[2])\n"
        "for _ in range(40):\n"
        "    change(book, exercise, lambda entry: replace(entry, hints=entry.hints + 1))\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(book.root), name],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for name in ("first", "first", "second")
    ]
    seen = [0]
    while any(process.poll() is None for process in running):
        seen.append(sum(entry.hints for entry in load(book).values()))
    assert seen == sorted(seen), "what was written once is there for everybody who reads"
    assert [process.returncode for process in running] == [0, 0, 0]
    assert {id_: entry.hints for id_, entry in load(book).items()} == {
        "02/first": 80,
        "02/second": 40,
    }
    assert [path.name for path in book.work.iterdir() if path.suffix == ".tmp"] == []


def test_before_any_work_the_next_step_costs_nothing(book: Book) -> None:
    assert next_step(book) is None
    book.work.mkdir()
    assert next_step(book) is None


def test_the_next_step_is_the_open_exercise_then_the_first_that_waits(book: Book) -> None:
    first, second, third = exercises(book)
    start(book, second)
    change(book, second, lambda entry: replace(entry, started=THEN))
    start(book, third)
    step = next_step(book)
    assert step is not None
    assert step.command == "workbook check"
    assert "02/third, in work/ch02/third.py" in step.sentence
    passed(book, third)
    assert "02/second" in (next_step(book) or step).sentence
    passed(book, second)
    last = next_step(book)
    assert last is not None
    assert (last.sentence, last.command) == (
        "2 of 3 exercises passed.",
        f"workbook exercise {first.id}",
    )
    start(book, first)
    passed(book, first)
    assert next_step(book) == type(step)("3 of 3 exercises passed.", None)


def test_after_a_pass_the_same_chapter_goes_on_before_other_chapters(book: Book) -> None:
    (book.chapters / "ch01").mkdir()
    (book.chapters / "ch01" / "__init__.py").touch()
    add_exercise(book, "early", chapter=1)
    early, first, second, third = exercises(book)
    assert early.id == "01/early"
    start(book, early)

    def command_after(exercise: Exercise) -> str | None:
        start(book, exercise)
        passed(book, exercise)
        step = next_step(book, after=exercise)
        assert step is not None
        return step.command

    assert command_after(second) == f"workbook exercise {third.id}"
    assert command_after(third) == f"workbook exercise {first.id}"
    assert command_after(first) == "workbook check 01/early", "it is open already"
    passed(book, early)
    assert next_step(book, after=early) == next_step(book)


def test_where_nothing_is_open_the_last_pass_says_where_to_go_on(book: Book) -> None:
    first, second, third = exercises(book)
    start(book, second)
    passed(book, second)
    assert (step := next_step(book))
    assert step.command == f"workbook exercise {third.id}"
    start(book, third)
    passed(book, third)
    assert (step := next_step(book))
    assert step.command == f"workbook exercise {first.id}"


def test_nothing_is_started_by_a_pass(book: Book) -> None:
    first, second, _ = exercises(book)
    start(book, first)
    passed(book, first)
    assert state(book, second) is Status.NOT_STARTED
    assert current_exercise(book, load(book), exercises(book)) is None


def test_the_status_follows_the_file(book: Book) -> None:
    first = exercises(book)[0]
    assert state(book, first) is Status.NOT_STARTED
    own = start(book, first)
    assert state(book, first) is Status.STARTED
    passed(book, first)
    assert state(book, first) is Status.PASSED
    own.write_bytes(own.read_bytes().replace(b"\n", b"\r\n"))
    assert state(book, first) is Status.PASSED, "line endings are not a change"
    own.write_text("changed", encoding="utf-8")
    assert state(book, first) is Status.CHANGED
    record_check(book, first, False, hash_of(own))
    assert state(book, first) is Status.STARTED
    own.unlink()
    assert state(book, first) is Status.NOT_STARTED


def test_changed_tests_ask_for_another_check(book: Book) -> None:
    first = exercises(book)[0]
    start(book, first)
    passed(book, first)
    first.tests.write_text("changed", encoding="utf-8")
    assert state(book, first) is Status.CHANGED


def test_passing_again_keeps_the_day_it_first_passed(book: Book) -> None:
    first = exercises(book)[0]
    start(book, first)
    passed(book, first)
    change(book, first, lambda entry: replace(entry, passed=THEN - timedelta(days=1)))
    passed(book, first)
    assert load(book)[first.id].passed == THEN - timedelta(days=1)


def test_a_file_that_was_started_is_never_overwritten(book: Book) -> None:
    first = exercises(book)[0]
    own = start(book, first)
    own.write_text("my work", encoding="utf-8")
    with pytest.raises(DeskError, match="is yours and stays as it is"):
        start(book, first)
    assert own.read_text(encoding="utf-8") == "my work"


def test_reset_moves_the_file_aside_and_forgets_only_the_pass(book: Book) -> None:
    first = exercises(book)[0]
    own = start(book, first)
    kept = []
    for text in ("one", "two"):  # within one second: the names must not collide
        own.write_text(text, encoding="utf-8")
        passed(book, first)
        change(book, first, lambda entry: replace(entry, hints=2))
        kept.append(reset(book, first))
    assert [path.read_text(encoding="utf-8") for path in kept] == ["one", "two"]
    assert {path.parent for path in kept} == {book.work / ".trash"}
    assert own.read_text(encoding="utf-8") == first.starter.read_text(encoding="utf-8")
    entry = load(book)[first.id]
    assert (entry.passed, entry.hints) == (None, 2)
