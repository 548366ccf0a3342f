"""`UndoFiles`: the files of a workspace, with a history of what each write replaced."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from chapters.ch02.exercises.removable_files import RemovableFiles
from shared.errors import ToolError

MAX_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Step:
    """What one write replaced: the old text, or None if there was no file."""

    path: str
    before: str | None

    @property
    def size(self) -> int:
        """What remembering it costs, in UTF-8 bytes. A path costs, too: no step is free."""
        return len(self.path.encode()) + len((self.before or "").encode())


class UndoFiles:
    """A `WorkspaceFiles` around another one. Its writes can be taken back, the last one first.

    It remembers as many of the last steps as cost at most `max_bytes` together.
    """

    def __init__(self, files: RemovableFiles, *, max_bytes: int = MAX_BYTES) -> None:
        self._files = files
        self._max_bytes = max_bytes
        self._steps: deque[Step] = deque()
        self._cost = 0

    async def read_text(self, path: str) -> str:
        """The whole file, as the files inside read it."""
        return await self._files.read_text(path)

    async def glob(self, pattern: str) -> list[str]:
        """Paths that match, as the files inside find them."""
        return await self._files.glob(pattern)

    async def write_text(self, path: str, content: str) -> int:
        """Replace or create the file. Fails, and writes nothing, if that could not be undone."""
        # solution: Look at what is there, write, and only then remember.
        before = await self._text_or_none(path)
        written = await self._files.write_text(path, content)
        self._remember(Step(path, before))
        return written
        # end solution

    async def edit_text(self, path: str, old: str, new: str) -> None:
        """Replace the first exact occurrence of `old`."""
        # solution: The same for an edit, by the edit of the files inside.
        before = await self._files.read_text(path)
        await self._files.edit_text(path, old, new)
        self._remember(Step(path, before))
        # end solution

    async def undo(self) -> str:
        """Take back the last step and return its path.

        Raises ToolError: `nothing_to_undo`, or why the files inside could not be changed back; the
        step is then still the last one.
        """
        # solution: Restore the old text, or the old absence, and only then forget the step.
        if not self._steps:
            raise ToolError("nothing_to_undo", "There is no remembered write to take back.")
        step = self._steps[-1]
        if step.before is None:
            await self._remove(step.path)
        else:
            await self._files.write_text(step.path, step.before)
        self._cost -= self._steps.pop().size
        return step.path
        # end solution

    def _remember(self, step: Step) -> None:
        # solution: Add the step, then forget the oldest ones until the rest fits.
        self._steps.append(step)
        self._cost += step.size
        while self._cost > self._max_bytes:
            self._cost -= self._steps.popleft().size
        # end solution

    async def _text_or_none(self, path: str) -> str | None:
        """What is in the file; None if, and only if, there is no such file."""
        # solution: Let one failure mean "no such file", and every other one stay a failure.
        try:
            return await self._files.read_text(path)
        except ToolError as error:
            if error.code != "file_not_found":
                raise
            return None
        # end solution

    async def _remove(self, path: str) -> None:
        """Remove the file, unless it has gone already."""
        try:
            await self._files.remove(path)
        except ToolError as error:
            if error.code != "file_not_found":
                raise
