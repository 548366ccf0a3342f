"""A tool to try every provider with: which files are in the downloads folder?"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from chapters.ch02.file_tools import MAX_MATCHES
from chapters.ch02.registry import Arguments, define_tool
from shared.errors import ToolError
from shared.ports import WorkspaceFiles
from shared.text import visible
from shared.tools import Effect, Tool

Extension = Annotated[str, Field(pattern=r"^\.[A-Za-z0-9]+$")]


# region: definition
class ListDownloadFiles(Arguments):
    """Which of the files. Not which folder: that is for the program to say, not for the model."""

    extension: Extension | None = Field(
        default=None, description="Only files whose name ends like this, such as .pdf."
    )


def list_download_files(files: WorkspaceFiles) -> Tool:
    """Lists the files of one folder: `files` is opened on it."""

    async def handler(arguments: ListDownloadFiles) -> str:
        try:
            names = await files.glob("*")
        except ToolError:  # it speaks of a pattern, and this tool has none
            raise ToolError("folder_unreadable", UNREADABLE) from None
        if arguments.extension is not None:
            names = [name for name in names if has_extension(name, arguments.extension)]
        shown = [one_line(name) for name in names[:MAX_MATCHES]]
        if left_out := len(names) - len(shown):
            shown.append(f"... ({left_out} more files; ask for one extension)")
        return "\n".join(shown) or "(no matches)"

    return define_tool(
        "list_download_files",
        "List the files in the user's downloads folder, all of them or those with one extension. "
        "Folders are not listed, nor names that not every system allows. Returns one name a line, "
        "sorted, or (no matches). Fails if the folder cannot be read.",
        Effect.READ,
        ListDownloadFiles,
        handler,
    )


# endregion: definition

UNREADABLE = (
    "The downloads folder cannot be read: it may have been moved or locked. This does not mean "
    "that it is empty. Tell the user."
)


def has_extension(name: str, extension: str) -> bool:
    """Whether `name` ends in `extension`, in upper or lower case. `.pdf` alone is all name."""
    stem, dot, last = name.rpartition(".")
    return bool(stem) and (dot + last).lower() == extension.lower()


def one_line(name: str) -> str:
    """`name` on one line: a line break in it would make two files of one.

    The adapters of chapter 2 leave such names out, because no path may hold them. Another adapter
    may not.
    """
    return visible(name).replace("\n", r"\n").replace("\t", r"\t")
