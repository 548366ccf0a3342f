"""What the tests of these exercises share: calls that are checked and have not run yet."""

from __future__ import annotations

from collections.abc import Mapping

from chapters.ch01.shell import shell
from chapters.ch02.file_tools import WorkspacePath, edit_file, read_file, write_file
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch02.registry import Arguments, Registry, define_tool
from shared.scripted import call
from shared.testing import FakeCommands
from shared.tools import Effect, PreparedCall, Tool, call_handler


class MoveFile(Arguments):
    """A call with two paths."""

    source: WorkspacePath
    target: WorkspacePath


class Linked(MemoryFiles):
    """A workspace in memory in which some paths are links: `Linked({"notes": ".git/config"})`."""

    def __init__(self, links: Mapping[str, str]) -> None:
        super().__init__()
        self._links = dict(links)

    async def resolve(self, path: str) -> str:
        """Where `path` leads, through at most one link."""
        plain = await super().resolve(path)
        return self._links.get(plain, plain)


FILES = MemoryFiles()
TOOLS = {
    tool.name: tool
    for tool in (shell(FakeCommands()), read_file(FILES), write_file(FILES), edit_file(FILES))
}


def prepared(tool: Tool | str, **arguments: object) -> PreparedCall:
    """A checked call of `tool`, or of the agent's own tool of that name."""
    chosen = TOOLS[tool] if isinstance(tool, str) else tool
    registry = Registry((chosen,), call_handler)
    return registry.prepare(call(chosen.name, id="call_1", **arguments))


def some_tool(name: str, effect: Effect, arguments: type[Arguments] = Arguments) -> Tool:
    """A tool nobody has heard of, which does nothing."""

    async def handler(_: Arguments) -> str:
        return "done"

    return define_tool(name, "Does nothing.", effect, arguments, handler)
