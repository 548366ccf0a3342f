"""The reader's own file of an exercise: begun, begun again, never overwritten, never deleted."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from labs.desk.book import Book, DeskError, writing
from labs.desk.exercises import Exercise
from labs.desk.progress import record_start
from labs.desk.progress_file import load, place_aside


def start(book: Book, exercise: Exercise) -> Path:
    """Copy the starter to where the reader will write. Raises DeskError if a file is there.

    If it cannot be written, or not be remembered, nothing has been started.
    """
    own = exercise.own_file(book)
    load(book)  # a broken progress file is said before anything is written
    starter = _starter(book, exercise)
    with writing(book):
        own.parent.mkdir(parents=True, exist_ok=True)
        try:
            _create(own, starter)
        except FileExistsError:
            raise DeskError(
                f"{exercise.id} is started: {book.show(own)} is yours and stays as it is.\n"
                f"  workbook check {exercise.id}    see how far you are\n"
                f"  workbook reset {exercise.id}    begin again"
            ) from None
    try:
        record_start(book, exercise)
    except DeskError:
        with suppress(OSError):
            own.unlink()  # it holds nothing but the starter
        raise
    return own


def reset(book: Book, exercise: Exercise) -> Path:
    """Move the reader's file aside, put the starter in its place; returns where the old one is.

    If that fails halfway, the reader's file is back where it was.
    """
    own = exercise.own_file(book)
    load(book)
    with writing(book):
        aside = own.replace(place_aside(book, own.name))
    try:
        start(book, exercise)
    except DeskError:
        with writing(book):
            if not own.exists():
                aside.replace(own)
        raise
    return aside


def _starter(book: Book, exercise: Exercise) -> bytes:
    try:
        return exercise.starter.read_bytes().replace(b"\r\n", b"\n")
    except OSError as error:
        raise DeskError(
            f"{book.show(exercise.starter)} cannot be read: {error.strerror}. Bring it back:\n"
            f"  git checkout -- {book.show(exercise.folder)}"
        ) from None


def _create(own: Path, content: bytes) -> None:
    """Make the file appear with all of its content, or not at all. Raises FileExistsError."""
    new = own.with_name(f".{own.name}-{os.getpid()}.tmp")
    try:
        new.write_bytes(content)
        try:
            own.hardlink_to(new)  # unlike a rename, this never replaces a file
        except FileExistsError:
            raise
        except OSError:  # a file system without links: take the name, then fill it in one step
            own.touch(exist_ok=False)
            try:
                new.replace(own)
            except OSError:
                own.unlink()
                raise
    finally:
        with suppress(OSError):
            new.unlink()
