"""`read_file` with an offset: a long file is read in pieces, and each piece says where to go on."""

from __future__ import annotations

import io
from dataclasses import replace

from pydantic import Field

from chapters.ch02.file_tools import MAX_CHARACTERS, WorkspacePath
from chapters.ch02.registry import Arguments, define_tool
from shared.errors import ToolError
from shared.plan import Plan
from shared.ports import WorkspaceFiles
from shared.tools import Effect, Tool

MAX_LINES = 2_000  # of one piece, unless the model asks for another number


class ReadFile(Arguments):
    """Which file, and which of its lines."""

    path: WorkspacePath
    offset: int = Field(default=1, ge=1, description="The first line to read, counted from 1.")
    limit: int = Field(default=MAX_LINES, ge=1, description="At most this many lines.")


def read_file(files: WorkspaceFiles) -> Tool:
    """Reads a text file, whole or piece by piece."""
    # solution: Write a handler that reads the file and cuts a piece of it; define the tool.

    async def handler(arguments: ReadFile) -> str:
        text = await files.read_text(arguments.path)
        if not text and arguments.offset == 1:
            return "(empty file)"
        piece = cut(text, arguments.offset, arguments.limit)
        if len(piece) > MAX_CHARACTERS:
            raise ToolError(
                "too_large",
                f"That would be {len(piece):,} characters; at most {MAX_CHARACTERS:,} can be read "
                "at once. Use a smaller `limit`, or search the file with a command.",
            )
        return piece

    return define_tool(
        "read_file",
        "Read a UTF-8 text file of the workspace and return its content. A long file comes in "
        "pieces: the last line of a piece then says with which `offset` to continue. Fails if the "
        "file does not exist, is not text, or has no line `offset`.",
        Effect.READ,
        ReadFile,
        handler,
    )
    # end solution


def cut(text: str, offset: int, limit: int) -> str:
    """At most `limit` lines, the first being line `offset`, and a notice if more lines follow.

    Raises ToolError("offset_out_of_range") if there is no such line.
    """
    # solution: Split into lines that keep their ends, cut, add the notice if something is left.
    lines = list(io.StringIO(text))  # a line ends at \n only; str.splitlines knows ten more ends
    if offset > len(lines):
        raise ToolError(
            "offset_out_of_range",
            f"Lines in this file: {len(lines)}. There is no line {offset}; "
            f"use an offset of at most {max(len(lines), 1)}.",
        )
    last = min(offset + limit - 1, len(lines))
    piece = "".join(lines[offset - 1 : last])
    if last < len(lines):
        piece += f"[Showing lines {offset}-{last} of {len(lines)}. "
        piece += f"Use offset={last + 1} to continue.]"
    return piece
    # end solution


def replace_tool(plan: Plan, tool: Tool) -> Plan:
    """The same plan with `tool` in the place of the one that has its name.

    Raises ValueError, naming the tools there are, if none has it: a mistake of the programmer.
    """
    # solution: A plan is a frozen value, so make another one. The order of the tools stays.
    names = [other.name for other in plan.tools]
    if tool.name not in names:
        raise ValueError(f"there is no tool {tool.name!r} to replace; there are {names}")
    tools = [tool if other.name == tool.name else other for other in plan.tools]
    return replace(plan, tools=tuple(tools))
    # end solution
