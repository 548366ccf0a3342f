"""The workspace boundary: a call whose path leads outside is denied before anybody is asked."""

from __future__ import annotations

from chapters.ch03.paths import workspace_paths
from shared.decision import Behaviour, Decision
from shared.errors import ToolError
from shared.ports import WorkspaceFiles
from shared.tools import PreparedCall

OUTSIDE = {"path_escape", "invalid_path", "path_too_long", "symlink_loop"}


# region: boundary
class WorkspaceBoundary:
    """Denies a path that leaves the workspace. The file tools do so too, but later."""

    name = "boundary"

    def __init__(self, files: WorkspaceFiles) -> None:
        self._files = files

    async def decide(self, prepared: PreparedCall) -> Decision:
        """Deny, or nothing: being inside is no reason to allow anything."""
        for path in workspace_paths(prepared.arguments):
            try:
                await self._files.resolve(path)
            except ToolError as error:
                if error.code in OUTSIDE:
                    return Decision(Behaviour.DENY, f"{error.code}: {error.message}", self.name)
        return Decision(Behaviour.PASS, "inside the workspace", self.name)


# endregion: boundary
