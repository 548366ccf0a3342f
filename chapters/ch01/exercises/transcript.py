"""What a conversation looks like in the message of a failing test: one short line a message."""

from __future__ import annotations

from collections.abc import Iterable

from shared.messages import AssistantMessage, ToolResult, UserMessage
from shared.text import visible

WIDTH = 90  # characters of one line


def transcript(messages: Iterable[object]) -> str:
    """The messages in order. A line that was too long ends with an ellipsis."""
    lines = [line.replace("\n", "⏎") for message in messages for line in _lines(message)]
    lines = [line if len(line) <= WIDTH else line[: WIDTH - 1] + "…" for line in lines]
    return "\n".join(["the conversation:", *lines])


def _lines(message: object) -> list[str]:
    match message:
        case UserMessage(text=text):
            return [f"user    {visible(text)}"]
        case AssistantMessage():
            calls = [f"call    {call.name} {visible(call.arguments)}" for call in message.calls]
            said = [f"model   {visible(message.text)}"] if message.text or not calls else []
            return said + calls
        case ToolResult(text=text):
            return [f"result  {visible(text)}"]
        case _:
            return [repr(message)]
