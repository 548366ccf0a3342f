"""What a conversation says, in a form in which two of them can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from chapters.ch01.dispatch import parse_arguments
from chapters.ch04.conformance.readers import FAILED
from chapters.ch04.repair import BEGINNING_IS_MISSING
from shared.errors import ToolError
from shared.messages import (
    AssistantMessage,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)

NOT_OURS = "(not in the bad request)"


def calls_of(message: Message) -> Sequence[ToolCall]:
    """The calls of a message, none if it is not a reply."""
    return message.calls if isinstance(message, AssistantMessage) else ()


def answered_in(messages: Sequence[Message]) -> set[int]:
    """The calls with a result, by their place in the conversation."""
    return {number for number, _ in numbered(messages) if number is not None}


# region: plain
def plain(messages: Sequence[Message], names: set[str], answered: set[int]) -> list[Any]:
    """What a conversation says, without what may be said in more than one way."""
    said: list[Any] = []
    called = 0
    for number, message in numbered(messages):
        match message:
            case UserMessage(content):
                parts = (
                    [content] if isinstance(content, str) else [_words(part) for part in content]
                )
                if not said and parts == [BEGINNING_IS_MISSING]:
                    continue
                if said and said[-1][0] == "user":
                    said[-1] += parts
                else:
                    said.append(["user", *parts])
            case AssistantMessage():
                reply: list[Any] = ["assistant"]
                for part in message.content:
                    if isinstance(part, ToolCall):
                        name = part.name if part.name in names else NOT_OURS
                        reply.append([called, name, _arguments(part), part.signature])
                        called += 1
                    elif isinstance(part, Text | Thinking):
                        reply.append([type(part).__name__, part.text, part.signature])
                said.append(reply)
            case ToolResult():
                ours = number not in answered
                failed = message.code == FAILED if ours else message.code is not None
                said.append(["result", number, NOT_OURS if ours else message.text, failed])
    return said


def numbered(messages: Sequence[Message]) -> Iterator[tuple[int | None, Message]]:
    """Each message; a result with the number of its call, or None if there is none before it."""
    numbers: dict[str, list[int]] = {}
    called = 0
    for message in messages:
        for call in calls_of(message):
            numbers.setdefault(call.id, []).append(called)
            called += 1
        number = None
        if isinstance(message, ToolResult):
            open_calls = numbers.get(message.call_id, [])
            number = open_calls.pop(0) if len(open_calls) > 1 else next(iter(open_calls), None)
        yield number, message


def _words(part: Any) -> str:
    return part.text if isinstance(part, Text) else "(a picture)"


def _arguments(call: ToolCall) -> Any:
    try:
        return parse_arguments(call.arguments)
    except ToolError:
        return {}  # what bad arguments become in a history


# endregion: plain
