"""A new chapter is green at once, and shows up everywhere without a list being edited."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from labs.catalog import chapter_numbers
from labs.desk.book import Book, DeskError
from labs.desk.new_chapter import lay_out, slug
from labs.packages import ROOT

NUMBER = max(chapter_numbers()) + 1
FOLDER = f"ch{NUMBER:02}"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workbook in another folder, with a chapter that was laid out there."""
    pytest.importorskip("cogapp", reason="pip install -e '.[dev]'")
    folder = tmp_path_factory.mktemp("workbook")
    for top in ("chapters", "labs", "shared", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / top, folder / top, ignore=ignored)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder)
    # The other texts have transcripts, which other tests look at: none of them here.
    for text in folder.glob("chapters/*/README.md"):
        text.write_text(f"# {text.parent.name}\n", encoding="utf-8")
    said = workbook(folder, "dev", "new-chapter", str(NUMBER), "Turtles and their “shells”")
    assert f"Next       workbook test {NUMBER}" in said
    return folder


def run(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def workbook(folder: Path, *words: str) -> str:
    return run(folder, "-c", "from labs.cli import main; main()", *words)


def test_its_tests_and_those_of_the_whole_are_green(copy: Path) -> None:
    said = run(
        copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest",
        f"chapters/{FOLDER}", "tests/test_plan.py", "tests/test_labs.py",
        "tests/test_architecture.py::test_imports_go_only_the_way_the_design_allows",
        "tests/test_architecture.py::test_every_folder_with_python_is_a_package",
        "-k", f"{FOLDER} or same_loop or profile or imports or package or contains",
    )  # fmt: skip
    assert "passed" in said
    assert "failed" not in said


def test_it_is_in_the_list(copy: Path) -> None:
    chapters = json.loads(workbook(copy, "list", "--json"))
    assert chapters[-1]["chapter"] == NUMBER
    assert chapters[-1]["title"] == "Turtles and their “shells”"
    assert chapters[-1]["lab"] is True
    assert chapters[-1]["new_tools"] == ["turtles_their_shells"]


def test_its_quiz_and_its_exercise_are_found(copy: Path) -> None:
    assert "1 of 1 answers are proved" in workbook(copy, "quiz", str(NUMBER), "--prove")
    assert f"{NUMBER:02}/first_step" in workbook(copy, "exercise")


def test_it_is_in_the_contract_and_in_the_map(copy: Path) -> None:
    assert f'layers = ["{FOLDER}", ' in (copy / "pyproject.toml").read_text(encoding="utf-8")
    if "chapter_map()" in (ROOT / "README.md").read_text(encoding="utf-8"):
        assert f"chapters/{FOLDER}/README.md" in (copy / "README.md").read_text(encoding="utf-8")


def test_it_is_formatted_and_linted(copy: Path) -> None:
    pytest.importorskip("ruff", reason="pip install -e '.[dev]'")
    places = [f"chapters/{FOLDER}", *(str(p) for p in copy.glob(f"labs/{FOLDER}_*.py"))]
    run(copy, "-m", "ruff", "format", "--check", *places)
    run(copy, "-m", "ruff", "check", *places)


def test_its_text_has_the_order_of_every_chapter(copy: Path) -> None:
    text = (copy / "chapters" / FOLDER / "README.md").read_text(encoding="utf-8")
    order = [
        "What you will see when it works", "One run, message by message", "Run it yourself",
        "When it goes wrong", "What is missing, on purpose", "Self-test", "Exercises",
    ]  # fmt: skip
    places = [text.index(f"\n## {title}\n") for title in order]
    assert places == sorted(places)
    assert "All 3 facts hold." in text, "the transcript of its lab is in it"
    assert "harbor-4711" in text, "the random word in it is settled"
    assert "@" not in text.replace("@pytest", "")


@pytest.mark.parametrize(
    ("number", "title", "reason"),
    [
        (NUMBER + 1, "Permissions", f"The next chapter is {NUMBER}"),
        (1, "Permissions", f"The next chapter is {NUMBER}"),
        (NUMBER, "x", "3 to 60 characters"),
        (NUMBER, 'A "quoted" title', "no double quotes"),
        (NUMBER, "two\nlines", "3 to 60 characters"),
        (NUMBER, "2 and 3", "Begin the title with another word"),
        (NUMBER, "的的的", "Begin the title with another word"),
        (NUMBER, "tests", "No module can be called 'tests'"),
        (NUMBER, "The exercises", "No module can be called 'exercises'"),
        (NUMBER, "Plan", "No module can be called 'plan'"),
        (NUMBER, "Kit", "No module can be called 'kit'"),
        (NUMBER, "Class", "No module can be called 'class'"),
        (NUMBER, "ch01", "No module can be called 'ch01'"),
        (NUMBER, "Print", "There is a 'print' already"),
        (NUMBER, "Read file", "There is a 'read_file' already"),
        (NUMBER, "Tool registry", "There is a 'tool_registry' already"),
        (NUMBER, "Cog [[[ here", "take out '\\[\\[\\['"),
        (NUMBER, "Cog ]]] here", "take out ']]]'"),
        (NUMBER, "A <!-- comment", "take out '<!--'"),
        (NUMBER, "End --> of it", "take out '-->'"),
        (NUMBER, "A title @LOWER@", "take out '@'"),
        (NUMBER, "One | two", "take out '\\|'"),
        (NUMBER, "Blank at the end ", "take out ' '"),
    ],
)
def test_a_chapter_that_cannot_be_is_refused_before_anything_is_written(
    tmp_path: Path, number: int, title: str, reason: str
) -> None:
    book = empty_workbook(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(DeskError, match=reason):
        list(lay_out(book, number, title))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_module_of_an_earlier_chapter_keeps_its_name_to_itself(tmp_path: Path) -> None:
    book = empty_workbook(tmp_path)
    (book.chapters / "ch01" / "turtles.py").touch()
    with pytest.raises(DeskError, match="There is a 'turtles' already"):
        list(lay_out(book, NUMBER, "Turtles"))
    assert not book.chapter_folder(NUMBER).exists()


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    book = empty_workbook(tmp_path)
    draft = tmp_path / "chapters" / FOLDER / "README.md"
    draft.parent.mkdir()
    draft.write_text("a draft", encoding="utf-8")
    with pytest.raises(DeskError, match=f"chapters/{FOLDER}/README.md is there already"):
        list(lay_out(book, NUMBER, "Turtles"))
    assert draft.read_text(encoding="utf-8") == "a draft"
    assert list(draft.parent.iterdir()) == [draft]


def empty_workbook(folder: Path) -> Book:
    for existing in chapter_numbers():
        (folder / "chapters" / f"ch{existing:02}").mkdir(parents=True)
        (folder / "chapters" / f"ch{existing:02}" / "__init__.py").touch()
    return Book(folder, folder / "work")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Permissions", "permissions"),
        ("A registry and file tools", "registry_file_tools"),
        ("Sub-agents", "sub_agents"),
        ("One tool, every provider", "one_tool_every"),
        ("Extraordinarily long-winded circumlocutions", "extraordinarily_long_win"),
    ],
)
def test_a_module_is_named_after_the_first_words(title: str, name: str) -> None:
    assert slug(title) == name
