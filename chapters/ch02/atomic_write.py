"""Writing a file all or nothing: into a temporary file beside it, which then takes its place."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable

from chapters.ch02.file_errors import os_error

_CREATE = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def temporary_name() -> str:
    """A name nobody else uses, independent of the target's: that may already be of full length."""
    return f".ws-{os.urandom(8).hex()}.tmp"


def replace_file(
    name: str,
    temporary: str,
    data: bytes,
    old: os.stat_result | None,
    *,
    fsync: bool,
    directory: int | None = None,
    verify: Callable[[int], None] | None = None,
    unchanged: bool = False,
) -> None:
    """Put `data` in place of the file `name`, whose status is `old`; None if there is none yet.

    Both names are relative to the open `directory`, if given. `verify` may refuse the descriptor of
    the temporary file while that is still empty. With `unchanged`, EAGAIN if the file is no longer
    the one that `old` describes. If anything fails, nothing has changed.
    """
    mode = 0o666 if old is None else stat.S_IMODE(old.st_mode) & 0o777
    descriptor = os.open(temporary, _CREATE, mode, dir_fd=directory)
    try:
        try:
            if verify is not None:
                verify(descriptor)
            if old is not None:
                _keep_owner_and_mode(descriptor, old, mode)
            _write_all(descriptor, data)
            if fsync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if unchanged and old is not None and _differs(os.lstat(name, dir_fd=directory), old):
            raise os_error(errno.EAGAIN)
        # One step for everyone who looks: there is the old file, then there is the new one.
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise


def _differs(now: os.stat_result, then: os.stat_result) -> bool:
    """True if this is another file by now, or was written to."""
    return (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns) != (
        then.st_dev,
        then.st_ino,
        then.st_size,
        then.st_mtime_ns,
    )


def _keep_owner_and_mode(descriptor: int, old: os.stat_result, mode: int) -> None:
    if sys.platform == "win32":
        return
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        # An agent that runs as root must not take the reader's files away. Others may not do this.
        with contextlib.suppress(OSError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, mode)  # the umask has taken bits away


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:  # the system may take fewer bytes at a time than it is given
        rest = rest[os.write(descriptor, rest) :]
