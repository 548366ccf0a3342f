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
    # solution: Write a line for each MessageAdded; the program may crash right after it.

    def listen(event: Event) -> None:
        if isinstance(event, MessageAdded):
            # ASCII, as json.dumps writes it: half a surrogate pair fits into no encoding, and a
            # listener that raises is dropped.
            lines.write(json.dumps(to_data(event.message)) + "\n")
            lines.flush()

    return listen
    # end solution


def read_recording(lines: Iterable[str]) -> list[Message]:
    """The recorded messages. Raises RecordingError at the first line that does not belong."""
    # solution: Decode each line, let a History check the order, name the line if one objects.
    history = History()
    for number, line in enumerate(lines, start=1):
        try:
            history.append(from_data(json.loads(line)))
        except json.JSONDecodeError:
            raise RecordingError(number, "not JSON; it may have been cut off") from None
        except (ValueError, PairingError) as error:
            raise RecordingError(number, str(error)) from None
    return list(history)
    # end solution


async def replay(messages: Sequence[Message], plan: Plan) -> Conversation:
    """Ask the recorded questions again. The replies and the results come from the recording.

    Nothing runs and nobody is asked. What a recorded run ended with, an answer or a RunError, ends
    its replay.
    """
    # solution: A conversation of plan, layer and scripted model; ask it each user message.
    model = ScriptedModel([each for each in messages if isinstance(each, AssistantMessage)])
    conversation = Conversation(plan.with_tool_layer(recorded_results(messages)), model)
    for position, message in enumerate(messages):
        if isinstance(message, UserMessage):
            turns = count_replies(messages[position + 1 :])
            with suppress(RunError):
                await conversation.ask(message.text, max_turns=turns)
    return conversation


def count_replies(messages: Sequence[Message]) -> int:
    """How many replies come before the next user message."""
    exchange = takewhile(lambda message: not isinstance(message, UserMessage), messages)
    return sum(isinstance(message, AssistantMessage) for message in exchange)
    # end solution


def recorded_results(messages: Sequence[Message]) -> ToolLayer:
    """A tool layer that runs nothing: it answers each call with the recorded result."""
    # solution: Take the results in order. Ids are unique in one reply only; failures are raised.
    results = (message for message in messages if isinstance(message, ToolResult))

    def wrap(_: Invoke) -> Invoke:
        async def answer(prepared: PreparedCall) -> str:
            # Results that no layer sees are skipped: the dispatcher refuses those calls again.
            for result in results:
                if result.call_id == prepared.call.id:
                    return text_of(result)
            raise ToolError("not_recorded", "The recording ends before the result of this call.")

        return answer

    return ToolLayer("recorded_results", wrap)


def text_of(result: ToolResult) -> str:
    if result.code is None:
        return result.text
    raise ToolError(result.code, result.text.removeprefix(f"Error [{result.code}]: "))
    # end solution
