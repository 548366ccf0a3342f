"""The reader's own file of an exercise: begun, begun again, never overwritten, never deleted."""

from __future__ import annotations

from pathlib import Path

from labs.desk.book import Book, DeskError
from labs.desk.exercises import Exercise
from labs.desk.progress import record_start
from labs.desk.progress_file import load, place_aside


def start(book: Book, exercise: Exercise) -> Path:
    """Copy the starter to where the reader will write. Raises DeskError if a file is there."""
    own = exercise.own_file(book)
    load(book)  # a broken progress file is said before anything is written
    own.parent.mkdir(parents=True, exist_ok=True)
    try:
        with own.open("x", encoding="utf-8", newline="\n") as file:
            file.write(exercise.starter.read_text(encoding="utf-8"))
    except FileExistsError:
        raise DeskError(
            f"{exercise.id} is started: {book.show(own)} is yours and stays as it is.\n"
            f"  workbook check {exercise.id}    see how far you are\n"
            f"  workbook reset {exercise.id}    begin again"
        ) from None
    record_start(book, exercise)
    return own


def reset(book: Book, exercise: Exercise) -> Path:
    """Move the reader's file aside, put the starter in its place; returns where the old one is."""
    own = exercise.own_file(book)
    load(book)
    aside = own.replace(place_aside(book, own.name))
    start(book, exercise)
    return aside
