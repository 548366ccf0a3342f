"""Which adapter opens a workspace on this system."""

from __future__ import annotations

import os
from pathlib import Path

from chapters.ch02.local_files import LocalFiles
from chapters.ch02.resolving_files import ResolvingFiles


def open_workspace(root: Path, *, fsync: bool = True) -> LocalFiles | ResolvingFiles:
    """The files below `root`, to be closed, or used in a `with` block. Raises OSError."""
    return LocalFiles(root, fsync=fsync) if can_walk() else ResolvingFiles(root, fsync=fsync)


def can_walk() -> bool:
    """True if this system can do everything relative to an open directory."""
    # os.replace works like os.rename, but is not listed.
    needed = {os.open, os.stat, os.mkdir, os.rmdir, os.unlink, os.rename, os.readlink}
    return (
        needed <= os.supports_dir_fd
        and os.scandir in os.supports_fd
        and hasattr(os, "O_NOFOLLOW")
        and hasattr(os, "O_DIRECTORY")
    )
