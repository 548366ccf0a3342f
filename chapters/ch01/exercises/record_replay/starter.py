"""Record what is said in a conversation as JSON lines, and have it said again without a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import TextIO

from chapters.ch01.exercises.message_data import from_data, to_data
from shared.conversation import Conversation
from shared.errors import PairingError, RunError, ToolError, WorkbookError
from shared.events import Event, Listener, MessageAdded
from shared.history import History
from shared.messages import AssistantMessage, Message, ToolResult, UserMessage
from shared.plan import Plan
from shared.scripted import ScriptedModel
from shared.tools import Invoke, PreparedCall, ToolLayer


class RecordingError(WorkbookError):
    """A recording that cannot be read. `line` is the number of the line, counted from 1."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line} of the recording: {reason}")
        self.line = line


def record(lines: TextIO) -> Listener:
    """A listener that writes each message to `lines`, one line of JSON a message."""
    # TODO: Write a line for each MessageAdded; the program may crash right after it.
    raise NotImplementedError("your turn")


def read_recording(lines: Iterable[str]) -> list[Message]:
    """The recorded messages. Raises RecordingError at the first line that does not belong."""
    # TODO: Decode each line, let a History check the order, name the line if one objects.
    raise NotImplementedError("your turn")


async def replay(messages: Sequence[Message], plan: Plan) -> Conversation:
    """Ask the recorded questions again. The replies and the results come from the recording.

    Nothing runs and nobody is asked. What a recorded run ended with, an answer or a RunError, ends
    its replay.
    """
    # TODO: A conversation of plan, layer and scripted model; ask it each user message.
    raise NotImplementedError("your turn")


def recorded_results(messages: Sequence[Message]) -> ToolLayer:
    """A tool layer that runs nothing: it answers each call with the recorded result."""
    # TODO: Take the results in order. Ids are unique in one reply only; failures are raised.
    raise NotImplementedError("your turn")
