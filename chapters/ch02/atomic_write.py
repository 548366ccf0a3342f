"""Writing a file all or nothing: into a temporary file beside it, which then takes its place."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable

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
) -> None:
    """Put `data` in place of the file `name`, whose status is `old`; None if there is none yet.

    Both names are relative to the open `directory`, if given. `verify` may refuse the descriptor of
    the temporary file while that is still empty. If anything fails, nothing has changed.
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
        # One step for everyone who looks: there is the old file, then there is the new one.
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise


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
