"""Writing to where a walk has led, directories that are missing included (POSIX)."""

from __future__ import annotations

import contextlib
import errno
import os

from chapters.ch02.atomic_write import replace_file, temporary_name
from chapters.ch02.file_errors import os_error
from chapters.ch02.regular_file import require_writable
from chapters.ch02.safe_path import MAX_NAMES
from chapters.ch02.walk import DIRECTORY, Walk


def write_file(place: Walk, data: bytes, *, fsync: bool, unchanged: bool = False) -> None:
    """Create or replace the file at `place`. Raises OSError; then nothing has changed.

    With `unchanged`, EAGAIN if the file is another one than the walk has seen, or was written to.
    """
    if place.status is not None:
        old = require_writable(place.status)
        _replace(place.directory, place.name, data, old, fsync, unchanged)
    elif len(place.missing) > MAX_NAMES:
        raise os_error(errno.ENAMETOOLONG)  # by way of a link: no path could name this file
    else:
        _create(place.directory, place.missing, data, fsync)


def _create(directory: int, names: tuple[str, ...], data: bytes, fsync: bool) -> None:
    """Create the file `names[-1]` below `directory`, and the directories on the way to it."""
    name, rest = names[0], names[1:]
    if not rest:
        _replace(directory, name, data, None, fsync)
        return
    made = _make_directory(directory, name)
    try:
        child = os.open(name, DIRECTORY, dir_fd=directory)
        try:
            _create(child, rest, data, fsync)
        finally:
            os.close(child)
    except BaseException:
        if made:
            with contextlib.suppress(OSError):  # somebody else has put something into it
                os.rmdir(name, dir_fd=directory)
        raise
    if fsync:
        _sync_directory(directory)


def _make_directory(directory: int, name: str) -> bool:
    """True if this call made it: only then may it be removed again."""
    try:
        os.mkdir(name, dir_fd=directory)
    except FileExistsError:
        return False
    return True


def _replace(
    directory: int,
    name: str,
    data: bytes,
    old: os.stat_result | None,
    fsync: bool,
    unchanged: bool = False,
) -> None:
    replace_file(
        name,
        temporary_name(),
        data,
        old,
        fsync=fsync,
        directory=directory,
        unchanged=unchanged,
    )
    if fsync:
        _sync_directory(directory)


def _sync_directory(directory: int) -> None:
    # The file is in place. That a power cut could still undo it is no reason to report a failure.
    with contextlib.suppress(OSError):
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=directory)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
