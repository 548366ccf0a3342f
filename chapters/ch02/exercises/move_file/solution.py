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
    # solution: Write the handler, step by step so that no step can lose the file; define the tool.

    async def handler(arguments: MoveFile) -> str:
        source, target = arguments.source, arguments.target
        content = await files.read_text(source)
        await check_free(files, target)
        written = await files.write_text(target, content)
        try:
            await files.remove(source)
        except ToolError as error:
            raise ToolError(
                error.code,
                f"The content is in {target} now, but {source} could not be removed, so there are "
                f"two copies. {error.message}",
            ) from None
        return f"Moved {source} to {target} ({written} bytes)"

    return define_tool(
        "move_file",
        "Move or rename a UTF-8 text file of the workspace. Folders that are missing are created. "
        "Fails, and changes nothing, if there is something at `target` already.",
        Effect.WRITE,
        MoveFile,
        handler,
    )
    # end solution


async def check_free(files: WorkspaceFiles, path: str) -> None:
    """Return if nothing is at `path`; else raise ToolError: `file_exists`, or why one cannot know.

    What cannot be read, a folder or a picture for example, is there all the same.
    """
    # solution: Find out with the port's own methods; the failures of a read tell most of it.
    try:
        await files.read_text(path)
    except ToolError as error:
        if error.code == "file_not_found":
            return
        raise
    raise ToolError(
        "file_exists", f"{path} exists already, so nothing was moved. Choose another target."
    )
    # end solution
