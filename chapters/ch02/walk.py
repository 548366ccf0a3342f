"""Check 2 of 2: where does the path really lead? (POSIX: names relative to open directories.)

A check on a text is over before the file is opened, and in between a directory may have become a
link to somewhere else. So nothing is checked here and opened later. The walk opens one directory
after the other, each relative to the one before and never through a link, and hands out the last
one as an open descriptor. Whatever is then done relative to that descriptor happens inside the
workspace, even if every name on the way has changed since.

It fails like the system call it stands in for, with an OSError: EXDEV for a path that leaves.
"""

from __future__ import annotations

import errno
import os
import stat

from chapters.ch02.file_errors import os_error

MAX_LINKS = 40
MAX_CHANGES = 3  # how often something may change under our eyes until we give up

# O_PATH passes through directories that may be searched but not listed; macOS does not have it.
DIRECTORY = (
    getattr(os, "O_PATH", os.O_RDONLY)
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


class Walk:
    """The way from the root to one path; within its `with` block the last directory is open.

    `directory` is the descriptor of the last directory on the way, `name` what to look up in it and
    `status` what `name` is (a link never: links have been followed), or None if there is no such
    thing. `missing` holds the names that do not exist yet, `name` being the first of them, and
    `way` the real names of the directories from the root to `directory`.
    """

    __slots__ = ("_changes", "_links", "_names", "_opened", "missing", "name", "status", "way")

    def __init__(self, root: int, names: tuple[str, ...]) -> None:
        self._opened = [root]
        self._names = names
        self._links = 0
        self._changes = 0
        self.way: list[str] = []
        self.name = "."
        self.status: os.stat_result | None = None
        self.missing: tuple[str, ...] = ()

    @property
    def directory(self) -> int:
        """The descriptor of the directory that holds `name`."""
        return self._opened[-1]

    def __enter__(self) -> Walk:
        try:
            self._go()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    # region: walk
    def _go(self) -> None:
        todo = list(reversed(self._names))
        while todo:
            name = todo.pop()
            if name == "..":  # only the target of a link can hold one: check 1 refuses them
                self._leave()
                continue
            try:
                if todo:
                    self._enter(name)
                    continue
                status = os.lstat(name, dir_fd=self.directory)
                if not stat.S_ISLNK(status.st_mode):
                    self.name, self.status = name, status
                    return
            except FileNotFoundError:
                if ".." in todo:
                    raise
                self.name, self.missing = name, (name, *reversed(todo))
                return
            except OSError as problem:
                if problem.errno not in (errno.ENOTDIR, errno.ELOOP):
                    raise
            todo += self._follow(name, last=not todo)
        self.status = os.fstat(self.directory)  # the path ended in a directory, or named the root

    def _enter(self, name: str) -> None:
        self._opened.append(os.open(name, DIRECTORY, dir_fd=self.directory))
        self.way.append(name)

    def _leave(self) -> None:
        if not self.way:
            raise os_error(errno.EXDEV)
        self.way.pop()
        # Closing is the way back. Opening ".." would lead to wherever the directory is by now.
        os.close(self._opened.pop())

    # endregion: walk

    def _follow(self, name: str, *, last: bool) -> list[str]:
        """What is to be walked in place of the link `name`, the next name at the end."""
        try:
            target = os.readlink(name, dir_fd=self.directory)
        except OSError as problem:
            if problem.errno != errno.EINVAL:
                raise
            # Not a link, or no longer one. The last name was seen to be one, so it is tried again.
            # Before the last, a file is in the way; anything else has changed and is tried again.
            mode = os.lstat(name, dir_fd=self.directory).st_mode
            if not (last or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
                raise os_error(errno.ENOTDIR) from None
            self._changes += 1
            if self._changes > MAX_CHANGES:
                raise os_error(errno.EAGAIN) from None
            return [name]
        self._links += 1
        if self._links > MAX_LINKS:
            raise os_error(errno.ELOOP)
        if target.startswith("/"):
            raise os_error(errno.EXDEV)
        return [part for part in reversed(target.split("/")) if part not in ("", ".")]

    def _close(self) -> None:
        for descriptor in self._opened[1:]:
            os.close(descriptor)
        del self._opened[1:]
