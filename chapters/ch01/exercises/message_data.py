"""Messages as plain data, and back: the format of a recording, given to `record_replay`.

It holds what an agent of chapter 1 says and hears: text and tool calls.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from shared.messages import (
    AssistantMessage,
    Message,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)

KINDS = {AssistantMessage: "assistant", ToolResult: "result"}


def to_data(message: Message) -> dict[str, Any]:
    """The message as a dict of what JSON knows: its kind, then its fields by name."""
    if isinstance(message, UserMessage):
        return {"kind": "user", "text": message.text}
    return {"kind": KINDS[type(message)], **asdict(message)}


def from_data(data: Any) -> Message:
    """The message that `data` stands for. Raises ValueError if it stands for none."""
    match data:
        case {"kind": "user", "text": str(text)}:
            return UserMessage(text)
        case {
            "kind": "assistant",
            "content": list(parts),
            "stop": str(stop),
            "finish": str(finish),
            "usage": usage,
        }:
            content = tuple([_part(part) for part in parts])
            return AssistantMessage(content, StopReason(stop), finish, _usage(usage))
        case {
            "kind": "result",
            "call_id": str(call_id),
            "name": str(name),
            "text": str(text),
            "code": None | str() as code,
        }:
            return ToolResult(call_id, name, text, code)
    raise ValueError("not a message of a recording")


def _part(part: Any) -> Text | ToolCall:
    match part:
        case {"text": str(text)}:
            return Text(text)
        case {"id": str(call_id), "name": str(name), "arguments": str(arguments)}:
            return ToolCall(call_id, name, arguments)
    raise ValueError("a part of a reply that is neither text nor a call")


def _usage(usage: Any) -> Usage | None:
    match usage:
        case None:
            return None
        case {"input_tokens": int(sent), "output_tokens": int(received)}:
            return Usage(sent, received)
    raise ValueError("a usage that is not two numbers of tokens")
