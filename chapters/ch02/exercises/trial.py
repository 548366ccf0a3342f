"""What the tests of these exercises share: a workspace to look into, a call as a model sends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

from chapters.ch02.exercises.removable_files import RemovableFiles, RemovableMemoryFiles
from chapters.ch02.registry import Registry
from shared.errors import ToolError
from shared.messages import ToolResult
from shared.scripted import call
from shared.tools import Tool, call_handler

# What an editor, another system or a careless `splitlines` may change: a byte order mark, three
# kinds of line ends, characters that only look like line ends, no line end at the last line.
AWKWARD = "\ufeffone\r\ntwo\rthree\x0c\u2028four\n\nfünf 😀"

PROPERTY = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,  # the same examples in every run
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # `target` only holds functions
)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace as the agent has it, `files`, and as somebody beside it sees it."""

    files: RemovableFiles
    put: Callable[[str, str | bytes], None]
    contents: Callable[[], dict[str, bytes]]


def memory_workspace() -> Workspace:
    """A workspace that exists in memory only."""
    files = RemovableMemoryFiles()

    def put(path: str, content: str | bytes) -> None:
        files.files[path] = content.encode() if isinstance(content, str) else content

    return Workspace(files, put, lambda: dict(files.files))


def disk_workspace(root: Path, files: RemovableFiles) -> Workspace:
    """A workspace in the folder `root`, which `files` gives access to."""

    def put(path: str, content: str | bytes) -> None:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)

    def contents() -> dict[str, bytes]:
        return {
            path.relative_to(root).as_posix(): path.read_bytes()
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }

    return Workspace(files, put, contents)


class Failing:
    """The files of a workspace, some of whose methods fail: `Failing(files, remove="no_space")`."""

    def __init__(self, files: RemovableFiles, **codes: str) -> None:
        self._files = files
        self.codes = codes

    def __getattr__(self, method: str) -> Any:
        if method not in self.codes:
            return getattr(self._files, method)

        async def fail(*_: str) -> None:
            raise ToolError(self.codes[method], f"{method} failed, as this test wants it.")

        return fail


async def use(tool: Tool, **arguments: object) -> ToolResult:
    """Send one call of `tool` through the registry, as a model would, and return its result."""
    results: list[ToolResult] = []
    registry = Registry((tool,), call_handler)
    await registry.run([call(tool.name, id="1", **arguments)], results.append, lambda _: None)
    (result,) = results
    return result
