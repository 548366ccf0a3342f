"""A folder that is full, read-only or none at all: said with a way out, and nothing half done."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from labs.cli import main
from labs.desk.book import WORK_VARIABLE, Book, DeskError
from labs.desk.check import check, check_all
from labs.desk.exercises import Exercise
from labs.desk.grading import Grade, Verdict, spelled_out
from labs.desk.own_file import reset, start
from labs.desk.progress import record_start
from labs.desk.progress_file import load, progress_file
from shared.screen import Screen
from tests.desk_sample import README, SOLUTION, add_exercise

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot be told to be full")


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Book:
    (tmp_path / "chapters" / "ch02").mkdir(parents=True)
    (tmp_path / "chapters" / "ch02" / "__init__.py").touch()
    (tmp_path / "chapters" / "ch02" / "README.md").write_text(README, encoding="utf-8")
    book = Book(tmp_path, tmp_path / "work")
    monkeypatch.setattr("labs.desk.book.this_book", lambda: book)
    monkeypatch.setattr(
        "labs.desk.check.grade", lambda *_, seconds: Grade((Verdict("test_x.py::t", "passed"),))
    )
    return book


@pytest.fixture
def exercise(book: Book) -> Exercise:
    return add_exercise(book)


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Types `workbook WORDS`; returns the exit code and what was printed."""

    def run(*words: str) -> tuple[int, str]:
        code = main(words, standalone_mode=False)
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


@contextmanager
def full_disk() -> Iterator[None]:
    """Files can be made, and not one byte gets into them."""
    if sys.platform == "win32":
        pytest.skip("no limit on files here")
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing in `folder` can be made, replaced or removed."""
    places = [folder, *(place for place in folder.rglob("*") if place.is_dir())]
    for place in places:
        place.chmod(0o555)
    try:
        if os.access(folder, os.W_OK):
            pytest.skip("who runs this may write everywhere")
        yield
    finally:
        for place in places:
            place.chmod(0o755)


def files(folder: Path) -> list[str]:
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in found if name != ".progress.lock")


@POSIX
def test_a_full_disk_starts_nothing(book: Book, exercise: Exercise) -> None:
    with full_disk(), pytest.raises(DeskError, match="Make room there"):
        start(book, exercise)
    assert files(book.work) == []
    assert start(book, exercise).read_bytes() == exercise.starter.read_bytes()


@POSIX
def test_a_start_that_cannot_be_remembered_is_none(
    book: Book, exercise: Exercise, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_now_full(book: Book, exercise: Exercise) -> None:
        with full_disk():
            record_start(book, exercise)

    monkeypatch.setattr("labs.desk.own_file.record_start", only_now_full)
    with pytest.raises(DeskError, match="Make room there"):
        start(book, exercise)
    assert files(book.work) == []


@POSIX
def test_a_reset_on_a_full_disk_leaves_the_readers_file_in_its_place(
    book: Book, exercise: Exercise
) -> None:
    own = start(book, exercise)
    own.write_text("mine", encoding="utf-8")
    with full_disk(), pytest.raises(DeskError, match="Make room there"):
        reset(book, exercise)
    assert own.read_text(encoding="utf-8") == "mine"
    assert files(book.work) == ["ch02/count_words.py", "progress.toml"]


def test_without_its_starter_an_exercise_is_not_reset(book: Book, exercise: Exercise) -> None:
    own = start(book, exercise)
    exercise.starter.unlink()
    with pytest.raises(DeskError, match=r"git checkout -- chapters/ch02/exercises/count_words"):
        reset(book, exercise)
    assert own.exists()


def test_where_files_cannot_be_linked_an_exercise_starts_as_well(
    book: Book, exercise: Exercise, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(self: Path, target: Path) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "hardlink_to", no_links)
    own = start(book, exercise)
    assert own.read_bytes() == exercise.starter.read_bytes()
    own.write_text("mine", encoding="utf-8")
    with pytest.raises(DeskError, match="is yours and stays as it is"):
        start(book, exercise)
    assert own.read_text(encoding="utf-8") == "mine"
    assert files(book.work) == ["ch02/count_words.py", "progress.toml"]


@POSIX
def test_a_full_disk_keeps_the_progress_as_it_was(book: Book, exercise: Exercise) -> None:
    start(book, exercise)
    before = progress_file(book).read_bytes()
    with full_disk(), pytest.raises(DeskError, match="Make room there"):
        record_start(book, exercise)
    assert progress_file(book).read_bytes() == before
    assert files(book.work) == ["ch02/count_words.py", "progress.toml"]


@POSIX
def test_a_check_is_shown_even_if_it_cannot_be_recorded(book: Book, exercise: Exercise) -> None:
    start(book, exercise)
    out = io.StringIO()
    with full_disk():
        assert check(Screen(out, {"COLUMNS": "80"}), book, exercise)
    shown, _, complaint = out.getvalue().partition("This result could not be recorded.\n")
    assert "02/count_words passed" in shown
    assert "export WORKBOOK_WORK=FOLDER" in complaint
    assert "Next" not in complaint, "what comes next depends on what is recorded"
    assert load(book)[exercise.id].passed is None


@POSIX
def test_check_all_complains_once(book: Book, exercise: Exercise) -> None:
    start(book, exercise)
    start(book, add_exercise(book, "second"))
    out = io.StringIO()
    with full_disk():
        assert check_all(Screen(out), book)
    assert out.getvalue().count("could not be recorded") == 1
    assert "02/count_words" in out.getvalue()
    assert "02/second" in out.getvalue()


@pytest.mark.parametrize(
    "words",
    [
        ["exercise"],
        ["exercise", "count_words"],
        ["check"],
        ["check", "count_words"],
        ["check", "--all"],
        ["hint"],
        ["hint", "count_words"],
        ["solution", "count_words", "--anyway"],
        ["reset", "count_words", "--yes"],
    ],
    ids=" ".join,
)
def test_a_work_folder_that_is_none_is_named(
    book: Book, exercise: Exercise, typed: Callable[..., tuple[int, str]], words: list[str]
) -> None:
    book.work.write_text("a file", encoding="utf-8")
    code, said = typed(*words)
    assert code == 2
    assert "Your files belong in work, and it cannot be used: it is not a folder." in said
    assert "\n  export WORKBOOK_WORK=FOLDER\n" in said or os.name == "nt"
    assert book.work.read_text(encoding="utf-8") == "a file"


def test_a_read_only_folder_is_named_and_the_solution_still_seen(
    book: Book, exercise: Exercise, typed: Callable[..., tuple[int, str]]
) -> None:
    second = add_exercise(book, "second")
    start(book, exercise)
    (book.work / ".progress.lock").unlink()  # as in a clone that somebody else worked in
    with read_only(book.work):
        for words in (["exercise", second.id], ["hint"], ["reset", "--yes"]):
            code, said = typed(*words)
            assert (code, "it cannot be used: Permission denied" in said) == (2, True), words
        assert typed("check")[0] == 0
        assert typed("check", "--all")[0] == 0
        code, said = typed("solution", exercise.id, "--anyway")
        assert code == 0
        assert SOLUTION in said
        assert "That you saw it could not be noted." in said


@pytest.mark.parametrize("words", [["exercise"], ["check", "count_words"], ["check", "--all"]])
def test_a_folder_nobody_may_look_into_is_named(
    book: Book, exercise: Exercise, typed: Callable[..., tuple[int, str]], words: list[str]
) -> None:
    closed = book.root / "closed"
    closed.mkdir()
    object.__setattr__(book, "work", closed / "work")
    closed.chmod(0o000)
    try:
        if os.access(closed, os.X_OK):
            pytest.skip("who runs this may look everywhere")
        said = typed(*words)[1]
        assert typed()[0] == 0, "the bare command says where to begin"
    finally:
        closed.chmod(0o755)
    assert "work, and it cannot be used: Permission denied" in " ".join(said.split())


@POSIX
def test_on_a_full_disk_a_solution_can_be_seen(
    book: Book, exercise: Exercise, typed: Callable[..., tuple[int, str]]
) -> None:
    with full_disk():
        code, said = typed("solution", exercise.id, "--anyway")
    assert code == 0
    assert SOLUTION in said
    assert "That you saw it could not be noted." in said


def test_a_relative_work_folder_is_one_from_where_the_command_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests run from the workbook's folder: there, the same words mean another one."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv(WORK_VARIABLE, "mine")
    book = Book.at(tmp_path)
    assert book.work == here / "mine"
    assert f"{WORK_VARIABLE}=" in spelled_out(book, ["a"], "mine")
    assert str(here / "mine") in spelled_out(book, ["a"], "mine")
    assert Book.at(tmp_path, {}).work == tmp_path / "work"
