"""The four file tools: each knows its arguments and its wording; the files are a port."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from chapters.ch02.registry import Arguments, define_tool
from shared.errors import ToolError
from shared.ports import WorkspaceFiles
from shared.tools import Effect, Tool

MAX_CHARACTERS = 200_000  # what read_file returns at most: a model has to read it all
MAX_MATCHES = 1000  # what glob returns at most

IS_PATH = "a path of the workspace"  # marks a field as one, for whoever has to judge a call

WorkspacePath = Annotated[
    str,
    IS_PATH,
    Field(min_length=1, description="Path relative to the workspace, with / between names."),
]


# region: read_arguments
class ReadFile(Arguments):
    """Which file, and how much of it."""

    path: WorkspacePath
    limit: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="At most this many lines, from the start."
    )


# endregion: read_arguments


def read_file(files: WorkspaceFiles) -> Tool:
    """Reads a text file, whole or its first lines."""

    async def handler(arguments: ReadFile) -> str:
        text = await files.read_text(arguments.path)
        if arguments.limit is not None:
            text = first_lines(text, arguments.limit)
        if len(text) > MAX_CHARACTERS:
            raise ToolError(
                "too_large",
                f"That would be {len(text):,} characters; at most {MAX_CHARACTERS:,} can be read "
                "at once. Use a smaller `limit`, or search the file with a command.",
            )
        return text or "(empty file)"

    return define_tool(
        "read_file",
        "Read a UTF-8 text file of the workspace and return its content. Use `limit` for the first "
        "lines of a long file. Fails if the file does not exist or is not text.",
        Effect.READ,
        ReadFile,
        handler,
    )


def first_lines(text: str, limit: int) -> str:
    """The first `limit` lines of `text`, and how many were left out."""
    lines = text.split("\n")
    total = len(lines) - (lines[-1] == "")  # a final newline ends a line, it does not start one
    if total <= limit:
        return text
    return "\n".join(lines[:limit]) + f"\n... ({total - limit} more lines)"


class WriteFile(Arguments):
    """Which file, and everything that shall be in it."""

    path: WorkspacePath
    content: str = Field(description="The whole new content; may be empty.")


def write_file(files: WorkspaceFiles) -> Tool:
    """Creates or replaces a text file."""

    async def handler(arguments: WriteFile) -> str:
        written = await files.write_text(arguments.path, arguments.content)
        return f"Wrote {written} bytes to {arguments.path}"

    return define_tool(
        "write_file",
        "Create a file of the workspace, or replace all of it, with the given text. Folders that "
        "are missing are created. To change a part of a file use edit_file.",
        Effect.WRITE,
        WriteFile,
        handler,
    )


class EditFile(Arguments):
    """Which file, what to look for, what to put there."""

    path: WorkspacePath
    old_text: str = Field(
        min_length=1, description="The text to replace, exactly as in the file, spaces included."
    )
    new_text: str = Field(description="The text to put there; may be empty.")


def edit_file(files: WorkspaceFiles) -> Tool:
    """Replaces the first occurrence of a text; every other byte of the file stays as it was."""

    async def handler(arguments: EditFile) -> str:
        await files.edit_text(arguments.path, arguments.old_text, arguments.new_text)
        return f"Edited {arguments.path}"

    return define_tool(
        "edit_file",
        "Replace the first exact occurrence of `old_text` in a file by `new_text`. Fails, and "
        "changes nothing, if `old_text` is not in the file: read the file first.",
        Effect.WRITE,
        EditFile,
        handler,
    )


class Glob(Arguments):
    """What to look for."""

    pattern: str = Field(
        min_length=1,
        description="Relative to the workspace: * within a name, ** for any folders, ?, [abc].",
    )


def glob(files: WorkspaceFiles) -> Tool:
    """Finds files by name."""

    async def handler(arguments: Glob) -> str:
        found = await files.glob(arguments.pattern)
        shown = found[:MAX_MATCHES]
        if left_out := len(found) - len(shown):
            shown.append(f"... ({left_out} more matches; use a narrower pattern)")
        return "\n".join(shown) or "(no matches)"

    return define_tool(
        "glob",
        "Find the files of the workspace whose path matches a pattern, for example src/**/*.py. "
        "Returns one path a line, sorted, or (no matches).",
        Effect.READ,
        Glob,
        handler,
    )
