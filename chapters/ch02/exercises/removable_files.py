"""A workspace whose files can also be removed: a port that grows without being edited.

`WorkspaceFiles` has no way to remove a file, and most tools are better off without one. A tool that
needs it asks for this protocol instead. The old port, its adapters and its tools stay as they are.
"""

from __future__ import annotations

import os
from typing import Protocol

from chapters.ch02.file_errors import file_error, from_os_error
from chapters.ch02.local_files import LocalFiles
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch02.regular_file import require_file
from chapters.ch02.safe_path import parse_path
from chapters.ch02.walk import Walk
from shared.ports import WorkspaceFiles


class RemovableFiles(WorkspaceFiles, Protocol):
    """The files of a workspace, and a way to remove one."""

    async def remove(self, path: str) -> None:
        """Remove the file. Raises ToolError (`file_not_found`, ...), having changed nothing."""
        ...


class RemovableMemoryFiles(MemoryFiles):
    """A `RemovableFiles` that exists in memory only."""

    async def remove(self, path: str) -> None:
        """Remove the file."""
        if self.files.pop(self._locate(path), None) is None:
            raise file_error("file_not_found", path)


class RemovableLocalFiles(LocalFiles):
    """A `RemovableFiles` on a disk of this machine, where the walk works (Linux, macOS)."""

    async def remove(self, path: str) -> None:
        """Remove the file that `path` leads to; a link on the way stays, and leads to nothing."""
        names = parse_path(path)
        try:
            with Walk(self._root, names) as place:
                require_file(place.status)
                os.unlink(place.name, dir_fd=place.directory)
        except OSError as error:
            raise from_os_error(error, path) from None
