"""`append_file`: a tool that adds text to the end of a file and touches nothing before it."""

from __future__ import annotations

from pydantic import Field

from chapters.ch02.file_tools import WorkspacePath
from chapters.ch02.registry import Arguments, define_tool
from shared.errors import ToolError
from shared.ports import WorkspaceFiles
from shared.tools import Effect, Tool


class AppendFile(Arguments):
    """Which file, and what shall come after everything that is in it."""

    path: WorkspacePath
    content: str = Field(description="The text to add, line end included; may be empty.")


def append_file(files: WorkspaceFiles) -> Tool:
    """Adds text to the end of a file, or creates the file with it."""
    # TODO: Write a handler from the port's own methods, and define the tool with it.
    raise NotImplementedError("your turn")


async def text_or_nothing(files: WorkspaceFiles, path: str) -> str:
    """What is in the file; nothing if, and only if, there is no such file."""
    # TODO: Let one failure mean "no such file", and every other one stay a failure.
    raise NotImplementedError("your turn")
