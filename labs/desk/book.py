"""Where the workbook is on this machine, and where the reader's own files go."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from labs.catalog import chapter_numbers
from labs.packages import ROOT
from shared.errors import WorkbookError

WORK_VARIABLE = "WORKBOOK_WORK"


class DeskError(WorkbookError):
    """Something was asked of the desk that it cannot do; the message says what to type instead."""


@dataclass(frozen=True, slots=True)
class Book:
    """The workbook's folder, and the folder of the reader's files, which nobody else writes to."""

    root: Path
    work: Path

    @classmethod
    def at(cls, root: Path, environ: Mapping[str, str] = os.environ) -> Book:
        """The workbook in `root`. The reader's files are in `work/`, unless WORKBOOK_WORK says."""
        elsewhere = environ.get(WORK_VARIABLE)
        return cls(root, Path(elsewhere).absolute() if elsewhere else root / "work")

    @property
    def chapters(self) -> Path:
        """The folder of the chapters."""
        return self.root / "chapters"

    def chapter_folder(self, number: int) -> Path:
        """The folder of one chapter, whether it exists or not."""
        return self.chapters / f"ch{number:02}"

    def text_of(self, number: int) -> Path:
        """The README of a chapter. Raises DeskError if there is no such chapter."""
        readme = self.chapter_folder(number) / "README.md"
        if readme.is_file():
            return readme
        if number in chapter_numbers(self.root):
            raise DeskError(f"Chapter {number} has no text yet.")
        known = ", ".join(str(n) for n in chapter_numbers(self.root)) or "none"
        raise DeskError(f"There is no chapter {number}. The chapters are: {known}.")

    def show(self, path: Path) -> str:
        """`path` as a reader would type it: from the workbook's folder, with `/`."""
        for folder, name in ((self.work, "work"), (self.root, "")):
            if path.is_relative_to(folder):
                return (Path(name) / path.relative_to(folder)).as_posix()
        return path.name


@contextmanager
def writing(book: Book) -> Iterator[None]:
    """Writing in the reader's folder. What the system refuses is said with a way out: DeskError."""
    try:
        yield
    except OSError as error:
        raise unusable(book, error) from None


def unusable(book: Book, error: OSError) -> DeskError:
    """What to say when the folder of the reader's files cannot be used."""
    name = "work" if book.work == book.root / "work" else str(book.work)
    reason = error.strerror or type(error).__name__
    with suppress(OSError):
        if book.work.exists() and not book.work.is_dir():
            reason = "it is not a folder"
    setting = '$env:WORKBOOK_WORK="FOLDER"' if os.name == "nt" else "export WORKBOOK_WORK=FOLDER"
    return DeskError(
        f"Your files belong in {name}, and it cannot be used: {reason}.\n"
        "Make room there, make it writable, or choose another folder for your files:\n"
        f"  {setting}"
    )


def this_book() -> Book:
    """The workbook this code belongs to."""
    return Book.at(ROOT)
