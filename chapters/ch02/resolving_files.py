"""The files of a workspace where names cannot be opened relative to a directory (Windows).

Python has no such call there, so a walk is not possible. Instead the path is resolved, the result
is compared with the root, and after opening the system is asked where the open file really is,
before a byte is read or written.

What a process that changes the workspace at the same time can still do, unlike with the walk: have
an empty file or an empty directory created outside, which is removed again as far as possible; have
names outside listed by a glob; and, by a swap within the very last call, have the new file put in
place outside. On Windows, directories that another process holds open cannot be swapped at all.

Links that lead out and in again, or that are absolute, are followed as long as they end inside: the
directory links of Windows (junctions) are always absolute.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from chapters.ch02.atomic_write import replace_file, temporary_name
from chapters.ch02.file_content import MAX_BYTES, decode, encode, replace_first
from chapters.ch02.file_errors import from_os_error, os_error
from chapters.ch02.glob_pattern import GlobPattern, Steps
from chapters.ch02.opened_path import path_of
from chapters.ch02.regular_file import open_file, read_all, require_file, require_writable
from chapters.ch02.safe_path import is_usable, parse_path, parse_pattern
from chapters.ch02.walk import MAX_LINKS


class ResolvingFiles:
    """A `WorkspaceFiles` for the directory `root`, for systems where `LocalFiles` cannot work."""

    def __init__(self, root: Path, *, fsync: bool = True, max_bytes: int = MAX_BYTES) -> None:
        self._root = Path(os.path.realpath(root, strict=True))
        if not self._root.is_dir():
            raise os_error(errno.ENOTDIR)
        self._fsync = fsync
        self._max_bytes = max_bytes

    def close(self) -> None:
        """Nothing is held open."""

    def __enter__(self) -> ResolvingFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def read_text(self, path: str) -> str:
        """The whole file, decoded as strict UTF-8, line endings untouched."""
        names = parse_path(path)
        try:
            return decode(self._read(names), path)
        except OSError as error:
            raise from_os_error(error, path) from None

    async def write_text(self, path: str, content: str) -> int:
        """Replace or create the file, parents included, all or nothing. Returns bytes written."""
        names = parse_path(path)
        try:
            real, missing = self._resolve(names)
            data = encode(content)
            self._write(real, missing, data)
        except OSError as error:
            raise from_os_error(error, path) from None
        return len(data)

    async def edit_text(self, path: str, old: str, new: str) -> None:
        """Replace the first exact occurrence of `old`; every other byte stays as it was."""
        names = parse_path(path)
        try:
            real, missing = self._resolve(names)
            seen = None if missing else real.lstat()
            data = replace_first(self._read(names), old, new, path)
            self._write(real, missing, data, seen)
        except OSError as error:
            raise from_os_error(error, path) from None

    async def glob(self, pattern: str) -> list[str]:
        """Files that match, sorted, relative, with `/`; links if they lead to a file inside."""
        search = GlobPattern(parse_pattern(pattern))
        path = "/".join(search.prefix)
        found: list[str] = []
        try:
            real, missing = self._resolve(search.prefix)
            if not missing and not search.start:
                return [path] if stat.S_ISREG(real.lstat().st_mode) else []
            if not missing:
                self._scan(real, path and path + "/", search, search.start, found)
        except OSError as error:
            if isinstance(error, NotADirectoryError) and path:
                return []
            raise from_os_error(error, pattern) from None
        return sorted(found)

    async def resolve(self, path: str) -> str:
        """The path without links that `path` leads to; it need not exist. The root is `.`."""
        names = parse_path(path)
        try:
            real, missing = self._resolve(names)
        except OSError as error:
            raise from_os_error(error, path) from None
        return real.relative_to(self._root).joinpath(*missing).as_posix()

    def _resolve(self, names: tuple[str, ...]) -> tuple[Path, tuple[str, ...]]:
        """The real path of as much of `names` as exists, and the names that do not exist."""
        path = self._root.joinpath(*names)
        missing: tuple[str, ...] = ()
        links = 0
        while True:
            try:
                real = Path(os.path.realpath(path, strict=True))
                break
            except (FileNotFoundError, NotADirectoryError):
                # A link to nothing does exist. Taken for a new name, it would be written through.
                if path.is_symlink():
                    path = path.parent / path.readlink()
                    links += 1
                else:
                    missing = (path.name, *missing)
                    path = path.parent
            if links > MAX_LINKS:
                raise os_error(errno.ELOOP)
        if not real.is_relative_to(self._root):
            raise os_error(errno.EXDEV)
        if ".." in missing:
            raise os_error(errno.ENOENT)
        if missing and not real.is_dir():
            raise os_error(errno.ENOTDIR)
        return real, missing

    def _verify(self, descriptor: int) -> None:
        if not path_of(descriptor).is_relative_to(self._root):
            raise os_error(errno.EXDEV)

    def _read(self, names: tuple[str, ...]) -> bytes:
        real, missing = self._resolve(names)
        require_file(None if missing else real.lstat())
        descriptor = open_file(str(real))
        try:
            self._verify(descriptor)
            return read_all(descriptor, self._max_bytes)
        finally:
            os.close(descriptor)

    def _write(
        self,
        real: Path,
        missing: tuple[str, ...],
        data: bytes,
        seen: os.stat_result | None = None,
    ) -> None:
        old = None if missing else require_writable(seen or real.lstat())
        target = real.joinpath(*missing)
        made: list[Path] = []
        try:
            for length in range(1, len(missing)):
                parent = real.joinpath(*missing[:length])
                with contextlib.suppress(FileExistsError):
                    parent.mkdir()
                    made.append(parent)
            temporary = str(target.with_name(temporary_name()))
            replace_file(
                str(target),
                temporary,
                data,
                old,
                fsync=self._fsync,
                verify=self._verify,
                unchanged=seen is not None,
            )
        except BaseException:
            for parent in reversed(made):
                with contextlib.suppress(OSError):
                    parent.rmdir()
            raise

    def _scan(
        self, directory: Path, prefix: str, search: GlobPattern, steps: Steps, found: list[str]
    ) -> None:
        fits = search.ending(steps)
        with os.scandir(directory) as entries:
            for entry in entries:
                path = prefix + entry.name
                if not is_usable(path, len(prefix)):
                    continue
                if entry.is_dir(follow_symlinks=False) and not _is_junction(entry):
                    if following := search.enter(steps, entry.name):
                        with contextlib.suppress(OSError):  # not readable, or gone
                            self._scan(directory / entry.name, f"{path}/", search, following, found)
                elif fits(entry.name) and self._leads_to_file(path):
                    found.append(path)

    def _leads_to_file(self, path: str) -> bool:
        try:
            real, missing = self._resolve(tuple(path.split("/")))
            return not missing and stat.S_ISREG(real.lstat().st_mode)
        except OSError:
            return False


def _is_junction(entry: os.DirEntry[str]) -> bool:
    # Python takes a junction for a directory and not for a link; only 3.12 can ask for it by name.
    tag = getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0)
    return bool(tag) and tag == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", 0)
