"""What was answered "always" in this session. It ends with the program: nothing is written down."""

from __future__ import annotations

import json
from collections import Counter
from enum import StrEnum

from chapters.ch02.file_tools import EditFile, WriteFile
from chapters.ch03.arguments import fields
from chapters.ch03.paths import workspace_paths
from shared.decision import Behaviour, Decision
from shared.errors import ToolError
from shared.ports import WorkspaceFiles
from shared.tools import PreparedCall

Places = tuple[str, ...]
"""Where the paths of a call lead."""

ENOUGH = 3  # times in a row a person says no to the same call before nobody is asked any more


class Scope(StrEnum):
    """How far a yes reaches."""

    ONCE = "once"
    TOOL = "tool"
    PATTERN = "exactly"


# region: session
class SessionAnswers:
    """Remembers answers that were meant to last, and how often the same call got a no.

    A yes to "always this" ends when a path of the call leads somewhere else. Without `files` a path
    counts as it is spelled.
    """

    name = "session"

    def __init__(self, files: WorkspaceFiles | None = None) -> None:
        self._files = files
        self._tools: set[str] = set()
        self._patterns: dict[str, Places] = {}
        self._seen: dict[str, Places | None] = {}
        self._denied: Counter[str] = Counter()

    async def decide(self, prepared: PreparedCall) -> Decision:
        """Allow what a person allowed for good; deny what a person keeps denying."""
        if self._denied[exactly(prepared)] >= ENOUGH:
            why = f"the user said no to this very call {ENOUGH} times and is not asked again"
            return Decision(Behaviour.DENY, why, self.name, by_person=True)
        if prepared.tool.name in self._tools:
            why = f"the user said yes to every {prepared.tool.name} of this session"
            return Decision(Behaviour.ALLOW, why, self.name, by_person=True)
        places = self._seen[prepared.call.id] = await self._places(prepared)
        if places is not None and self._patterns.get(pattern(prepared)) == places:
            why = f"the user said yes for this session: {pattern(prepared)}"
            return Decision(Behaviour.ALLOW, why, self.name, by_person=True)
        return Decision(Behaviour.PASS, "nothing remembered", self.name)

    def allow(self, prepared: PreparedCall, scope: Scope) -> None:
        """Remember a yes, as far as it reaches. A yes for once is not remembered."""
        self._denied.pop(exactly(prepared), None)
        if scope is Scope.TOOL:
            self._tools.add(prepared.tool.name)
        elif scope is Scope.PATTERN:
            # Where it led before the question was asked: a link may have changed since.
            places = self._seen.get(prepared.call.id, workspace_paths(prepared.arguments))
            if places is not None:
                self._patterns[pattern(prepared)] = places

    def deny(self, prepared: PreparedCall) -> None:
        """Count a no."""
        self._denied[exactly(prepared)] += 1

    async def _places(self, prepared: PreparedCall) -> Places | None:
        """Where the paths of a call really lead; None if that cannot be told."""
        paths = workspace_paths(prepared.arguments)
        if self._files is None:
            return paths
        try:
            return tuple([await self._files.resolve(path) for path in paths])
        except ToolError:
            return None


def pattern(prepared: PreparedCall) -> str:
    """What "always this" means: these very arguments; for a change of a file, the same file."""
    if isinstance(prepared.arguments, WriteFile | EditFile):
        path = json.dumps(prepared.arguments.path, ensure_ascii=False)
        return f"{prepared.tool.name} on {path}, whatever is written"
    return exactly(prepared)


def exactly(prepared: PreparedCall) -> str:
    """The tool with these very arguments."""
    arguments = json.dumps(fields(prepared.arguments), ensure_ascii=False, sort_keys=True)
    return f"{prepared.tool.name} {arguments}"


# endregion: session
