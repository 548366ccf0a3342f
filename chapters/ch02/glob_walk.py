"""Finding files by a pattern without ever leaving the workspace (POSIX)."""

from __future__ import annotations

import os
import stat

from chapters.ch02.glob_pattern import GlobPattern, Steps
from chapters.ch02.safe_path import is_usable
from chapters.ch02.walk import Walk

_LIST = (
    os.O_RDONLY
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


def find_files(root: int, pattern: GlobPattern) -> list[str]:
    """Every file below `root` that fits `pattern` and that a path may name, sorted.

    The fixed beginning of a pattern may lead through links, as a path may. From the first wildcard
    on, linked directories are not entered: a link to a parent would never come to an end.
    """
    path = "/".join(pattern.prefix)
    try:
        with Walk(root, pattern.prefix) as place:
            if place.status is None:
                return []
            if not pattern.start:
                return [path] if stat.S_ISREG(place.status.st_mode) else []
            directory = os.open(place.name, _LIST, dir_fd=place.directory)
    except NotADirectoryError:
        return []
    search = _Search(root, pattern)
    try:
        search.scan(directory, path and path + "/", pattern.start)
    finally:
        os.close(directory)
    search.found.sort()
    return search.found


class _Search:
    def __init__(self, root: int, pattern: GlobPattern) -> None:
        self._root = root
        self._pattern = pattern
        self.found: list[str] = []

    def scan(self, directory: int, prefix: str, steps: Steps) -> None:
        """Add what matches in `directory` and below; `prefix` is its path with a slash."""
        fits = self._pattern.ending(steps)
        folders = []
        with os.scandir(directory) as entries:
            for entry in entries:
                name = entry.name
                if entry.is_dir(follow_symlinks=False):
                    folders.append(name)
                elif fits(name):
                    path = prefix + name
                    is_file = entry.is_file(follow_symlinks=False) or self._leads_to_file(path)
                    if is_file and is_usable(path, len(prefix)):
                        self.found.append(path)
        for name in folders:
            following = self._pattern.enter(steps, name)
            # A name that no path may contain also ends the descent: what is below has no path.
            if following and is_usable(prefix + name, len(prefix)):
                self._descend(directory, name, prefix, following)

    def _descend(self, parent: int, name: str, prefix: str, steps: Steps) -> None:
        try:
            directory = os.open(name, _LIST, dir_fd=parent)
        except OSError:  # not readable, gone, or by now a link
            return
        try:
            self.scan(directory, f"{prefix}{name}/", steps)
        finally:
            os.close(directory)

    def _leads_to_file(self, path: str) -> bool:
        try:
            with Walk(self._root, tuple(path.split("/"))) as place:
                return place.status is not None and stat.S_ISREG(place.status.st_mode)
        except OSError:
            return False
