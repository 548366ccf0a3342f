"""What exactly would happen: the arguments in full, and for a change of a file the difference."""

from __future__ import annotations

import json

from chapters.ch02.file_tools import EditFile, WriteFile
from chapters.ch02.safe_path import parse_path
from chapters.ch03.arguments import fields
from chapters.ch03.difference import difference
from shared.errors import ToolError
from shared.ports import WorkspaceFiles
from shared.text import visible
from shared.tools import PreparedCall


# region: preview
async def preview(prepared: PreparedCall, files: WorkspaceFiles) -> str:
    """Text for a person who has to decide: all of it, nothing shortened.

    Text of several lines has a mark in front of each: no line of it can pass for one of the
    question.
    """
    arguments = prepared.arguments
    if isinstance(arguments, WriteFile | EditFile):
        return await changed_file(arguments, files)
    shown = [argument(name, value) for name, value in fields(arguments).items()]
    return "\n".join(shown) or "  (no arguments)"


async def changed_file(arguments: WriteFile | EditFile, files: WorkspaceFiles) -> str:
    """A unified diff against the file as it is now, or why there is none and what was sent."""
    path = f"  {on_one_line(await place(arguments.path, files))}"
    try:
        before = await files.read_text(arguments.path)
    except ToolError as error:
        if isinstance(arguments, EditFile):
            return f"{path}: this edit fails as things are ({error.code})\n{sent(arguments)}"
        if error.code == "file_not_found":
            return f"{path} (a new file)\n{marked(difference('', arguments.content))}"
        why = f"what is there now cannot be shown ({error.code}); this would replace it"
        return f"{path}: {why}\n{sent(arguments)}"
    if isinstance(arguments, WriteFile):
        return f"{path} (replaced)\n{marked(difference(before, arguments.content))}"
    if arguments.old_text not in before:
        return f"{path}: this edit fails as things are (text_not_found)\n{sent(arguments)}"
    after = before.replace(arguments.old_text, arguments.new_text, 1)
    return f"{path} (edited)\n{marked(difference(before, after))}"


async def place(path: str, files: WorkspaceFiles) -> str:
    """A path as the call spells it, and for a link also where it leads."""
    try:
        real = await files.resolve(path)
        return path if real == "/".join(parse_path(path)) else f"{path} -> {real}"
    except ToolError:
        return path


def sent(arguments: WriteFile | EditFile) -> str:
    """All arguments but the path."""
    named = fields(arguments).items()
    return "\n".join(argument(name, value) for name, value in named if name != "path")


def argument(name: str, value: object) -> str:
    """One argument; text of several lines is marked."""
    name = on_one_line(name)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if "\n" not in text:
        return f"  {name}: {text}"
    return f"  {name}:\n{marked(text)}"


def marked(lines: str) -> str:
    """The lines with a mark in front of each."""
    return "\n".join(f"    | {line}" for line in lines.split("\n"))


def on_one_line(text: str) -> str:
    """`text`, made visible, with its line breaks and tabs spelled out as well."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


# endregion: preview
