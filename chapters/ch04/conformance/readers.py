"""The messages of a request as ours, one reader for each API: the way back, for comparing.

A reader takes what is wrong with a conversation as it is. To make it right is what the rows are
about.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from chapters.ch04.chat import THOUGHTS
from chapters.ch04.conformance.rows import Json
from chapters.ch04.provider import Api
from shared.messages import (
    AssistantMessage,
    Image,
    Message,
    Origin,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)

FAILED = "failed"  # the code of a result with a flag that says so
ERROR = "error"  # and of one that is called so

Part = Text | Thinking | ToolCall
Reader = Callable[[list[Json], Origin], list[Message]]


def read(api: Api, messages: Any, origin: Origin) -> list[Message]:
    """The messages, input items or contents of a request. Replies are those of `origin`."""
    entries = messages if isinstance(messages, list) else []
    return READERS[api]([entry for entry in entries if isinstance(entry, Mapping)], origin)


# region: chat
def chat(messages: list[Json], origin: Origin) -> list[Message]:
    """Chat Completions: one message each; the system prompt is not part of the conversation."""
    said: list[Message] = []
    for message in messages:
        content = message.get("content")
        match message.get("role"):
            case "user":
                said.append(user(content))
            case "assistant":
                thoughts = [
                    Thinking(str(message[name]), name) for name in THOUGHTS if name in message
                ]
                texts = [Text(text)] if (text := text_of(content)) else []
                calls = [chat_call(call) for call in message.get("tool_calls") or []]
                said.append(AssistantMessage((*thoughts, *texts, *calls), origin=origin))
            case "tool":
                said.append(ToolResult(str(message.get("tool_call_id")), "", text_of(content)))
    return said


def chat_call(call: Json) -> ToolCall:
    """One call."""
    function = call.get("function") or {}
    return ToolCall(
        str(call.get("id") or ""), str(function.get("name")), _json(function.get("arguments"))
    )


# endregion: chat


# region: responses
def responses(items: list[Json], origin: Origin) -> list[Message]:
    """Responses: the items of one reply belong together until somebody else's comes."""
    said: list[Message] = []
    parts: list[Part] = []

    def end_of_reply() -> None:
        if parts:
            said.append(AssistantMessage(tuple(parts), origin=origin))
            parts.clear()

    for item in items:
        match item.get("type", "message"):
            case "reasoning":
                parts.append(Thinking("", json.dumps(item, ensure_ascii=False)))
            case "function_call":
                call_id, name = str(item.get("call_id")), str(item.get("name"))
                signature = str(item.get("id") or "")
                parts.append(ToolCall(call_id, name, _json(item.get("arguments")), signature))
            case "function_call_output":
                end_of_reply()
                said.append(ToolResult(str(item.get("call_id")), "", text_of(item.get("output"))))
            case "message" if item.get("role") == "assistant":
                kept = {name: item[name] for name in ("id", "phase") if item.get(name)}
                signature = json.dumps(kept) if "id" in kept else ""
                parts.append(Text(text_of(item.get("content")), signature))
            case "message" if item.get("role") == "user":
                end_of_reply()
                said.append(user(item.get("content")))
    end_of_reply()
    return said


# endregion: responses


# region: anthropic
def anthropic(messages: list[Json], origin: Origin) -> list[Message]:
    """Anthropic Messages: a user message may hold results, and words around them."""
    said: list[Message] = []
    for message in messages:
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if message.get("role") == "assistant":
            parts = [part for each in blocks if (part := anthropic_part(each))]
            said.append(AssistantMessage(tuple(parts), origin=origin))
            continue
        for block in blocks:
            if block.get("type") == "tool_result":
                code = FAILED if block.get("is_error") else None
                text = text_of(block.get("content"))
                said.append(ToolResult(str(block.get("tool_use_id")), "", text, code))
            else:
                said.append(user([block]))
    return said


def anthropic_part(block: Json) -> Part | None:
    """One block of a reply."""
    match block.get("type"):
        case "text":
            return Text(str(block.get("text")))
        case "thinking":
            return Thinking(str(block.get("thinking")), str(block.get("signature") or ""))
        case "redacted_thinking":
            return Thinking("", str(block.get("data")), redacted=True)
        case "tool_use":
            return ToolCall(str(block.get("id")), str(block.get("name")), _json(block.get("input")))
    return None


# endregion: anthropic


# region: gemini
def gemini(contents: list[Json], origin: Origin) -> list[Message]:
    """Gemini: without ids, responses belong to the calls before them by name and order."""
    said: list[Message] = []
    numbers, waiting = count(), list[ToolCall]()
    for content in contents:
        parts = content.get("parts") or []
        if content.get("role") == "model":
            reply = [gemini_part(part, f"call_{next(numbers)}") for part in parts]
            waiting = [part for part in reply if isinstance(part, ToolCall)]
            said.append(AssistantMessage(tuple(reply), origin=origin))
            continue
        for part in parts:
            answer = part.get("functionResponse")
            if answer is None:
                said.append(user([part]))
                continue
            named = [call for call in waiting if call.name == answer.get("name")]
            call = next(iter(named or waiting), ToolCall("", "", ""))
            waiting = [other for other in waiting if other is not call]
            response = answer.get("response")
            failed = isinstance(response, Mapping) and "error" in response
            if isinstance(response, Mapping) and len(response) == 1:
                (response,) = response.values()
            said.append(ToolResult(call.id, call.name, _json(response), ERROR if failed else None))
    return said


def gemini_part(part: Json, call_id: str) -> Part:
    """One part of a reply, with its signature."""
    signature = str(part.get("thoughtSignature") or "")
    if "functionCall" in part:
        call = part["functionCall"]
        return ToolCall(call_id, str(call.get("name")), _json(call.get("args") or {}), signature)
    text = str(part.get("text") or "")
    return Thinking(text, signature) if part.get("thought") else Text(text, signature)


# endregion: gemini


def user(content: Any) -> UserMessage:
    """What a person says, in the shape of any of the APIs."""
    if isinstance(content, str):
        return UserMessage(content)
    return UserMessage(tuple([_picture_or_text(part) for part in content or []]))


def _picture_or_text(part: Json) -> Text | Image:
    text = part.get("text")
    return Text(text) if isinstance(text, str) else Image("", json.dumps(part, sort_keys=True))


def text_of(content: Any) -> str:
    """Content as text: all its parts that have some, joined."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(
        [str(part["text"]) for part in parts if isinstance(part, Mapping) and "text" in part]
    )


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


READERS: Mapping[Api, Reader] = {
    Api.CHAT: chat,
    Api.RESPONSES: responses,
    Api.ANTHROPIC: anthropic,
    Api.GEMINI: gemini,
}
