"""The file that remembers what the reader has done: `work/progress.toml`, made to be read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from labs.desk.book import Book, DeskError, unusable, writing
from labs.desk.exercises import Exercise
from shared.text import shorten

HEADING = """\
# What you have done in this workbook; times are in UTC.
# Lost or broken? `workbook check --all` writes it again from your files.
"""


LONGEST_SHOWN = 60  # characters of a value that has no meaning
MOST = 1_000_000  # of anything that is counted here


class Seen(StrEnum):
    """When the reference solution was opened, if it was."""

    NO = "no"
    AFTER_PASS = "after the pass"
    ANYWAY = "before the pass"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is remembered of one exercise. `file` and `tests` are hashes of what passed."""

    started: datetime | None = None
    passed: datetime | None = None
    file: str = ""
    tests: str = ""
    hints: int = 0
    solution: Seen = Seen.NO


def progress_file(book: Book) -> Path:
    """Where the progress is kept."""
    return book.work / "progress.toml"


def now() -> datetime:
    """The time, to the second, in UTC."""
    return datetime.now(UTC).replace(microsecond=0)


def load(book: Book) -> dict[str, Entry]:
    """The entries by exercise id. Raises DeskError, with the reason, if the file is broken."""
    path = progress_file(book)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and not os.access(book.work, os.X_OK):
            raise unusable(book, error) from None  # it is not the file that is broken
        raise _broken(book, type(error).__name__) from None
    import tomllib  # not above: the bare `workbook` command has no use for it without this file

    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # long numbers and deep nests are no TOML errors
        raise _broken(book, str(error)) from None
    return {key: _entry(book, key, table) for key, table in tables.items()}


def change(book: Book, exercise: Exercise, alter: Callable[[Entry], Entry]) -> Entry:
    """Read the file, alter one entry, write the file; nobody else can come in between."""
    with writing(book), _locked(book):
        entries = load(book)
        entry = alter(entries.get(exercise.id, Entry()))
        _write(book, {**entries, exercise.id: entry})
    return entry


def set_broken_aside(book: Book) -> str | None:
    """Move a progress file that cannot be read out of the way, and say where it is now."""
    with suppress(DeskError):
        load(book)
        return None  # without the lock: a folder that cannot be written to has nothing to repair
    with writing(book), _locked(book):
        try:
            load(book)
        except DeskError:
            moved = progress_file(book).replace(place_aside(book, "progress.toml"))
            return book.show(moved)
    return None


def place_aside(book: Book, name: str) -> Path:
    """A free place in `work/.trash`: nothing of the reader's is ever deleted."""
    trash = book.work / ".trash"
    trash.mkdir(parents=True, exist_ok=True)
    stamp = now().strftime("%Y%m%dT%H%M%S")
    place, count = trash / f"{stamp}-{name}", 1
    while place.exists():
        count += 1
        place = trash / f"{stamp}-{count}-{name}"
    return place


def _entry(book: Book, key: str, table: Any) -> Entry:
    if not re.fullmatch(r"\d\d/\w+", key) or not isinstance(table, dict):
        raise _broken(book, f"{_shown(key)} is not an exercise")
    values: dict[str, Any] = {}
    for field in fields(Entry):
        if field.name not in table:
            continue
        value = table[field.name]
        read = _READ[field.name]
        try:
            values[field.name] = read(value)
        except (TypeError, ValueError, OverflowError, RecursionError):
            shown = f"[{key}] {field.name} = {_shown(value)}"
            raise _broken(book, f"{shown} has no meaning") from None
    return Entry(**values)


def _shown(value: object) -> str:
    try:
        return shorten(repr(value), LONGEST_SHOWN)
    except (ValueError, RecursionError):  # too many digits, or too deep, to be spelled out
        return "…"


def _time(value: Any) -> datetime:
    if not isinstance(value, datetime):
        raise TypeError
    return value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC)


def _hash(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]*", value):
        raise TypeError
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MOST:
        raise TypeError
    return value


_READ: dict[str, Callable[[Any], Any]] = {
    "started": _time,
    "passed": _time,
    "file": _hash,
    "tests": _hash,
    "hints": _count,
    "solution": Seen,
}


def _broken(book: Book, reason: str) -> DeskError:
    return DeskError(
        f"{book.show(progress_file(book))} cannot be read: {reason}.\n"
        "Repair it, or have it moved aside and written anew:\n"
        "  workbook check --all"
    )


def _write(book: Book, entries: dict[str, Entry]) -> None:
    """Write beside the file, then put it in its place in one step: nobody sees half of it."""
    blocks = [HEADING]
    for key, entry in sorted(entries.items()):
        lines = [f'["{key}"]']
        for field in fields(Entry):
            value = getattr(entry, field.name)
            if value != field.default:
                lines.append(f"{field.name} = {_toml(value)}")
        blocks.append("\n".join(lines) + "\n")
    new = book.work / f".progress-{os.getpid()}.tmp"
    try:
        new.write_text("\n".join(blocks), encoding="utf-8", newline="\n")
        new.replace(progress_file(book))
    finally:
        with suppress(OSError):
            new.unlink()


def _toml(value: datetime | int | str) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
    return str(value) if isinstance(value, int) else f'"{value}"'


@contextmanager
def _locked(book: Book) -> Iterator[None]:
    """Hold the lock on the progress: a second `workbook check` waits for the first."""
    book.work.mkdir(parents=True, exist_ok=True)
    with (book.work / ".progress.lock").open("a+b") as handle:
        try:
            import fcntl
        except ImportError:  # Windows; it lets go of the lock when the handle is closed
            import msvcrt

            handle.seek(0)
            msvcrt.locking(handle.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
