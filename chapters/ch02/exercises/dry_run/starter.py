"""`dry_run`: a layer under which an agent reads for real and only says what it would write."""

from __future__ import annotations

import io
from difflib import unified_diff

from chapters.ch02.file_content import replace_first
from chapters.ch02.file_tools import EditFile, WriteFile
from shared.errors import ToolError
from shared.ports import WorkspaceFiles
from shared.tools import Effect, Invoke, PreparedCall, Returned, ToolLayer

NAME = "dry_run"


def dry_run(files: WorkspaceFiles) -> ToolLayer:
    """A layer that lets reads through, answers writes with a diff, and refuses everything else."""

    def wrap(invoke: Invoke) -> Invoke:
        # TODO: Write the `Invoke` that goes around `invoke`, and let the effect decide.
        raise NotImplementedError("your turn")

    return ToolLayer(NAME, wrap)


async def preview(files: WorkspaceFiles, prepared: PreparedCall) -> str:
    """What a write would change. It fails where the write would fail, with the same code."""
    # TODO: Find the text before (None: no such file) and after, by the type of the arguments.
    raise NotImplementedError("your turn")


def diff(path: str, before: str | None, after: str) -> str:
    """The change as a unified diff; a file that does not exist yet is called /dev/null in it."""
    # TODO: Let difflib compare lines that keep their ends; mark a last line that has none.
    raise NotImplementedError("your turn")


async def text_or_none(files: WorkspaceFiles, path: str) -> str | None:
    """What is in the file; None if, and only if, there is no such file."""
    try:
        return await files.read_text(path)
    except ToolError as error:
        if error.code != "file_not_found":
            raise
        return None


def cannot_foresee(prepared: PreparedCall) -> ToolError:
    """The refusal of a call whose outcome nobody can know without running it."""
    return ToolError(
        "dry_run",
        f"This is a dry run, and what {prepared.tool.name} would do cannot be foreseen, so it was "
        "not run. Say what you would have done with it, and go on without its result.",
    )
