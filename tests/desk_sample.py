"""A copy of the workbook with one small exercise in it, for the tests of the desk to play with."""

from __future__ import annotations

import shutil
from pathlib import Path

from labs.desk.book import Book
from labs.desk.exercises import Exercise
from labs.desk.starter import make_starter
from labs.packages import ROOT

SOLUTION = '''\
"""Words a model would have to pay for."""

from __future__ import annotations

import re


def count_words(text: str) -> int:
    """How many words there are in `text`."""
    # solution: Count runs of characters that are not spaces.
    words = re.findall(r"\\S+", text)
    return len(words)
    # end solution


def longest(text: str) -> str:
    """The longest word of `text`; the first one, if there are several."""
    # solution: Find it; an empty text has none.
    return max(text.split(), key=len, default="")
    # end solution
'''

TESTS = '''\
"""What the word counter promises."""

from __future__ import annotations

from types import ModuleType

import pytest


@pytest.mark.contract("Words are what stands between spaces.", read="chapters/ch02/README.md#words")
@pytest.mark.parametrize(("text", "words"), [("one", 1), ("one two", 2), ("  one  two ", 2)])
def test_counts(target: ModuleType, text: str, words: int) -> None:
    assert target.count_words(text) == words


@pytest.mark.contract("The longest word wins.", read="chapters/ch02/README.md#words")
def test_longest(target: ModuleType) -> None:
    """A docstring that is not shown."""
    text = "a list of words"
    assert target.longest(text) == "words"
    assert target.longest("") == ""
'''

STATEMENT = """\
# Count words

An engineer wants to know what a text costs.
"""

HINTS = """\
# Hints

## 1

Which characters end a word?

## 2

`re.findall` gives all runs.

## 3

`len(text.split())`
"""

README = """\
# Chapter

Intro.

## Words

What a word is.

## Self-test

<details>
<summary><b>1.</b> What ends a word?</summary>

A space.

Proof: `chapters/ch02/tests/test_words.py::test_spaces`

</details>

<details>
<summary><b>2.</b> What ends a text?</summary>

Its end.

Proof: `chapters/ch02/tests/test_words.py::test_end`

</details>

## Exercises

- [count](exercises/count_words/README.md)
"""


def copy_of_workbook(folder: Path, *, readme: str = README) -> Book:
    """The workbook's code in `folder`: no tests, no exercises, no text but `readme`."""

    def unwanted(parent: str, names: list[str]) -> set[str]:
        return {n for n in names if n in ("__pycache__", "tests", "exercises", "README.md")}

    shutil.copytree(ROOT / "chapters", folder / "chapters", ignore=unwanted)
    for top in ("labs", "shared"):
        shutil.copytree(ROOT / top, folder / top, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "chapters" / "ch02" / "README.md").write_text(readme, encoding="utf-8")
    return Book(folder, folder / "work")


def add_exercise(
    book: Book,
    name: str = "count_words",
    *,
    chapter: int = 2,
    solution: str = SOLUTION,
    tests: str = TESTS,
    hints: str = HINTS,
) -> Exercise:
    """An exercise, complete and sound unless something else is given for a part of it."""
    folder = book.chapter_folder(chapter) / "exercises" / name
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text('"""The exercises."""\n', encoding="utf-8")
    contents = {
        "__init__.py": '"""An exercise."""\n',
        "README.md": STATEMENT,
        "solution.py": solution,
        "starter.py": make_starter(solution),
        f"test_{name}.py": tests,
        "hints.md": hints,
    }
    for file, content in contents.items():
        (folder / file).write_text(content, encoding="utf-8")
    return Exercise(chapter, name, folder)
