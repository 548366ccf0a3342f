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
    # solution: Write a handler from the port's own methods, and define the tool with it.

    async def handler(arguments: AppendFile) -> str:
        before = await text_or_nothing(files, arguments.path)
        total = await files.write_text(arguments.path, before + arguments.content)
        added = total - len(before.encode())
        return f"Appended {added} bytes to {arguments.path} (now {total})"

    return define_tool(
        "append_file",
        "Add text to the end of a UTF-8 text file of the workspace; nothing is put in between. "
        "The file and its folders are created if they are missing. To change what is in a file "
        "already use edit_file.",
        Effect.WRITE,
        AppendFile,
        handler,
    )
    # end solution


async def text_or_nothing(files: WorkspaceFiles, path: str) -> str:
    """What is in the file; nothing if, and only if, there is no such file."""
    # solution: Let one failure mean "no such file", and every other one stay a failure.
    try:
        return await files.read_text(path)
    except ToolError as error:
        if error.code != "file_not_found":
            raise
        return ""
    # end solution
