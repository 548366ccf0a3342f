"""`move_file`: a tool that gives a file another path, and loses nothing whatever goes wrong."""

from __future__ import annotations

from chapters.ch02.exercises.removable_files import RemovableFiles
from chapters.ch02.file_tools import WorkspacePath
from chapters.ch02.registry import Arguments, define_tool
from shared.errors import ToolError
from shared.ports import WorkspaceFiles
from shared.tools import Effect, Tool


class MoveFile(Arguments):
    """From where to where."""

    source: WorkspacePath
    target: WorkspacePath


def move_file(files: RemovableFiles) -> Tool:
    """Moves a text file to a path that is free."""
    # TODO: Write the handler, step by step so that no step can lose the file; define the tool.
    raise NotImplementedError("your turn")


async def check_free(files: WorkspaceFiles, path: str) -> None:
    """Return if nothing is at `path`; else raise ToolError: `file_exists`, or why one cannot know.

    What cannot be read, a folder or a picture for example, is there all the same.
    """
    # TODO: Find out with the port's own methods; the failures of a read tell most of it.
    raise NotImplementedError("your turn")
