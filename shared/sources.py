"""What arrives between two turns of a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from shared.messages import UserMessage
from shared.ports import Source


class Inbox:
    """A queue of messages for the model; the prompt of a run is the first thing put into it."""

    def __init__(self) -> None:
        self._messages: deque[UserMessage] = deque()

    def put(self, message: UserMessage) -> None:
        """Queue a message for the next turn."""
        self._messages.append(message)

    def take(self) -> Sequence[UserMessage]:
        """Everything queued since the last time, oldest first."""
        taken = tuple(self._messages)
        self._messages.clear()
        return taken

    def waiting(self) -> bool:
        """True if a message is queued."""
        return bool(self._messages)


class AllSources:
    """Several sources seen as one: each is asked in order."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = tuple(sources)

    def take(self) -> Sequence[UserMessage]:
        """What arrived at any source, in the order of the sources."""
        return [message for source in self._sources for message in source.take()]

    def waiting(self) -> bool:
        """True if any source has something."""
        return any(source.waiting() for source in self._sources)
