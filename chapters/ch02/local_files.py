"""The files of a workspace on a disk of this machine, reached by the walk (Linux, macOS)."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from chapters.ch02.file_content import MAX_BYTES, decode, encode, replace_first
from chapters.ch02.file_errors import from_os_error, os_error
from chapters.ch02.glob_pattern import GlobPattern
from chapters.ch02.glob_walk import find_files
from chapters.ch02.local_write import write_file
from chapters.ch02.regular_file import claim, open_file, read_all, require_file
from chapters.ch02.safe_path import parse_path, parse_pattern
from chapters.ch02.walk import Walk


class LocalFiles:
    """A `WorkspaceFiles` for the directory `root`, which stays open until `close`.

    `root` itself may be reached through a link; the person who starts the agent decides that.
    `max_bytes` is the largest file that is read or edited. `fsync=False` writes faster, and a
    power cut may then lose what was written last; never a half-written file, though.

    The methods are coroutines because the port's are: another adapter may have to wait for a
    network. This one does its work directly. That takes some microseconds, a thread hop would take
    longer, and no other task of this process can come between the steps of one call.
    """

    def __init__(self, root: Path, *, fsync: bool = True, max_bytes: int = MAX_BYTES) -> None:
        flags = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
        self._root = os.open(root, flags)
        self._fsync = fsync
        self._max_bytes = max_bytes

    def close(self) -> None:
        """Let go of the root. Every later call fails."""
        root, self._root = self._root, -1
        if root >= 0:
            os.close(root)

    def __enter__(self) -> LocalFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def read_text(self, path: str) -> str:
        """The whole file, decoded as strict UTF-8, line endings untouched."""
        names = parse_path(path)
        try:
            with Walk(self._root, names) as place:
                return decode(self._read(place), path)
        except OSError as error:
            raise from_os_error(error, path) from None

    async def write_text(self, path: str, content: str) -> int:
        """Replace or create the file, parents included, all or nothing. Returns bytes written."""
        names = parse_path(path)
        try:
            with Walk(self._root, names) as place:
                data = encode(content)
                write_file(place, data, fsync=self._fsync)
                return len(data)
        except OSError as error:
            raise from_os_error(error, path) from None

    async def edit_text(self, path: str, old: str, new: str) -> None:
        """Replace the first exact occurrence of `old`; every other byte stays as it was.

        ToolError("conflict") if somebody else changes the file meanwhile: no edit is lost.
        """
        names = parse_path(path)
        try:
            with Walk(self._root, names) as place:
                descriptor = self._open(place)
                try:
                    claim(descriptor)
                    data = replace_first(read_all(descriptor, self._max_bytes), old, new, path)
                    write_file(place, data, fsync=self._fsync, unchanged=True)
                finally:
                    os.close(descriptor)
        except OSError as error:
            raise from_os_error(error, path) from None

    async def glob(self, pattern: str) -> list[str]:
        """Files that match, sorted, relative, with `/`; links if they lead to a file inside."""
        names = parse_pattern(pattern)
        try:
            found = find_files(self._root, GlobPattern(names))
            if not found and os.fstat(self._root).st_nlink == 0:
                raise os_error(errno.ENOENT)  # a directory that was removed reads like an empty one
            return found
        except OSError as error:
            raise from_os_error(error, pattern) from None

    async def resolve(self, path: str) -> str:
        """The path without links that `path` leads to; it need not exist. The root is `.`."""
        names = parse_path(path)
        try:
            with Walk(self._root, names) as place:
                end = place.missing or (() if place.name == "." else (place.name,))
                return "/".join([*place.way, *end]) or "."
        except OSError as error:
            raise from_os_error(error, path) from None

    def _read(self, place: Walk) -> bytes:
        descriptor = self._open(place)
        try:
            return read_all(descriptor, self._max_bytes)
        finally:
            os.close(descriptor)

    def _open(self, place: Walk) -> int:
        require_file(place.status)  # before opening: opening a pipe or a device has effects
        return open_file(place.name, directory=place.directory)
