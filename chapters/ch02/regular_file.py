"""What is done with one regular file, given its open descriptor: the same on every system."""

from __future__ import annotations

import errno
import os
import stat

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from chapters.ch02.file_errors import os_error

# Without O_NONBLOCK, opening a pipe waits until somebody writes to it. O_BINARY: on Windows the
# descriptor would otherwise translate line ends.
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def require_file(status: os.stat_result | None) -> os.stat_result:
    """`status`, if it is a regular file's. Raises OSError: ENOENT, EISDIR or ENXIO."""
    if status is None:
        raise os_error(errno.ENOENT)
    if stat.S_ISDIR(status.st_mode):
        raise os_error(errno.EISDIR)
    if not stat.S_ISREG(status.st_mode):
        raise os_error(errno.ENXIO)
    return status


def require_writable(status: os.stat_result) -> os.stat_result:
    """`status`, if it is a regular file's that somebody may write to. Else raises OSError."""
    require_file(status)
    # Replacing a file needs no permission of the file itself, only of its directory.
    if not status.st_mode & 0o222:
        raise os_error(errno.EACCES)
    return status


def open_file(name: str, *, directory: int | None = None) -> int:
    """A descriptor to read the file `name`, relative to `directory`. Raises OSError."""
    try:
        return os.open(name, _READ, dir_fd=directory)
    except OSError as error:
        if error.errno == errno.ELOOP:  # it was a file when it was looked at, and is a link now
            raise os_error(errno.EAGAIN) from None
        raise


def claim(descriptor: int) -> None:
    """Keep other editors away from this file until the descriptor is closed, or raise EAGAIN.

    They can only be kept away if they ask: a program that simply writes is noticed afterwards, by
    the file having changed.
    """
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise os_error(errno.EAGAIN) from None
    except OSError:  # a file system without locks
        return


def read_all(descriptor: int, max_bytes: int) -> bytes:
    """Everything in the file. Raises OSError: EFBIG if that is more than `max_bytes`."""
    size = require_file(os.fstat(descriptor)).st_size
    if size > max_bytes:
        raise os_error(errno.EFBIG)
    data = b""
    # The size is a hint: the file may be growing.
    while chunk := os.read(descriptor, max(size - len(data), 0) + 1):
        data += chunk
        if len(data) > max_bytes:
            raise os_error(errno.EFBIG)
    return data
