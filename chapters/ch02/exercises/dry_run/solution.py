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
        # solution: Write the `Invoke` that goes around `invoke`, and let the effect decide.
        async def pretend(prepared: PreparedCall) -> Returned:
            if prepared.tool.effect is Effect.READ:
                return await invoke(prepared)
            if prepared.tool.effect is Effect.WRITE:
                return await preview(files, prepared)
            raise cannot_foresee(prepared)

        return pretend
        # end solution

    return ToolLayer(NAME, wrap)


async def preview(files: WorkspaceFiles, prepared: PreparedCall) -> str:
    """What a write would change. It fails where the write would fail, with the same code."""
    # solution: Find the text before (None: no such file) and after, by the type of the arguments.
    before: str | None
    match prepared.arguments:
        case WriteFile(path=path, content=after):
            before = await text_or_none(files, path)
        case EditFile(path=path, old_text=old, new_text=new):
            before = await files.read_text(path)
            after = replace_first(before.encode(), old, new, path).decode()
        case _:
            raise cannot_foresee(prepared)
    if before == after:
        return f"Dry run: nothing was written. {path} would stay as it is."
    verb = "create" if before is None else "change"
    changes = diff(path, before, after) or "(empty file)"
    return f"Dry run: nothing was written. This would {verb} {path}:\n{changes}"
    # end solution


def diff(path: str, before: str | None, after: str) -> str:
    """The change as a unified diff; a file that does not exist yet is called /dev/null in it."""
    # solution: Let difflib compare lines that keep their ends; mark a last line that has none.
    lines = unified_diff(
        # Split at \n only: str.splitlines knows ten more ends, and a diff does not.
        list(io.StringIO(before or "")),
        list(io.StringIO(after)),
        fromfile="/dev/null" if before is None else f"a/{path}",
        tofile=f"b/{path}",
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    # end solution


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
