"""OpenAI Chat Completions, as every compatible server speaks it: three pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chapters.ch01.chat_wire import reply_of
from chapters.ch04.names_and_ids import wire_name
from chapters.ch04.provider import Target
from chapters.ch04.repair import Group
from chapters.ch04.strict_schema import strictness
from chapters.ch04.wire import Json, Wire, finished, tokens, words
from shared.messages import (
    AssistantMessage,
    Image,
    Request,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)

NO_OUTPUT = "(no tool output)"
SEE_IMAGE = "(see attached image)"
IMAGES_FOLLOW = "Attached image(s) from tool result:"
BETWEEN = "I have processed the tool results."
THOUGHTS = ("reasoning_content", "reasoning", "reasoning_text")  # servers do not agree on a name


# region: tools
def tools_to_wire(specs: Sequence[ToolSpec], target: Target) -> Json:
    """The tools on offer."""
    return {"tools": [{"type": "function", "function": tool(spec, target)} for spec in specs]}


def tool(spec: ToolSpec, target: Target) -> Json:
    """One tool as both APIs of OpenAI describe it: its name, what it is for, its schema."""
    parameters, strict = strictness(spec, target.provider.strict)
    return {
        "name": wire_name(spec.name, target.provider.name_limit),
        "description": spec.description,
        "parameters": parameters,
        **strict,
    }


# endregion: tools


# region: items
def items_to_wire(group: Group, target: Target) -> list[Json]:
    """One group of a repaired history as messages."""
    match group.messages[0]:
        case UserMessage() as said:
            return [*between(group.after_results, target), user(said)]
        case AssistantMessage() as reply:
            return [assistant(reply, target)]
        case _:
            return results(group, target)


def user(message: UserMessage) -> Json:
    """What a person said: text as it is, pictures as parts of a list."""
    if isinstance(message.content, str):
        return {"role": "user", "content": message.content}
    return {"role": "user", "content": [part_of(part) for part in message.content]}


def part_of(part: Text | Image) -> Json:
    """A piece of text, or a picture as a data URL."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {"type": "image_url", "image_url": {"url": data_url(part)}}


def data_url(image: Image) -> str:
    """A picture as a URL that holds it."""
    return f"data:{image.media_type};base64,{image.data}"


def assistant(reply: AssistantMessage, target: Target) -> Json:
    """A reply of the model. Its thinking goes back under the name under which it came."""
    wire: Json = {"role": "assistant", "content": reply.text or target.provider.empty_content}
    thoughts = [part for part in reply.content if isinstance(part, Thinking)]
    if thoughts and target.provider.echo_reasoning and thoughts[0].signature in THOUGHTS:
        wire[thoughts[0].signature] = "\n".join(part.text for part in thoughts)
    if reply.calls:
        wire["tool_calls"] = [call_to_wire(call) for call in reply.calls]
    return wire


def call_to_wire(call: ToolCall) -> Json:
    """One call. Its arguments stay the text that the model wrote."""
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def results(group: Group, target: Target) -> list[Json]:
    """One message for each result. The API has no error flag: the text says what failed."""
    messages: list[Json] = []
    images: list[Image] = []
    for result in group.messages:
        assert isinstance(result, ToolResult)
        wire: Json = {"role": "tool", "tool_call_id": result.call_id, "content": text_of(result)}
        if target.provider.result_name:
            wire["name"] = result.name
        if result.images and target.provider.result_images:
            shown = [part_of(Text(result.text))] if result.text else []
            wire["content"] = shown + [part_of(image) for image in result.images]
        else:
            images += result.images
        messages.append(wire)
    if images:
        parts = [part_of(Text(IMAGES_FOLLOW)), *map(part_of, images)]
        messages += [*between(True, target), {"role": "user", "content": parts}]
    return messages


def text_of(result: ToolResult) -> str:
    """The text of a result, or what stands for it: an empty one looks like a fault."""
    return result.text or (SEE_IMAGE if result.images else NO_OUTPUT)


def between(after_results: bool, target: Target) -> list[Json]:
    """A reply to put between results and a person's words, where a server insists on one."""
    if after_results and target.provider.reply_after_results:
        return [{"role": "assistant", "content": BETWEEN}]
    return []


# endregion: items


# region: reply
def from_wire(body: Any, target: Target) -> AssistantMessage:
    """The JSON of an answer as our message. Raises UnreadableReply if it is no chat completion."""
    reply = reply_of(body)
    message = body["choices"][0]["message"]
    name = next((name for name in THOUGHTS if words(message, name)), None)
    thinking = (Thinking(words(message, name), name),) if name else ()
    return finished(replace(reply, content=(*thinking, *reply.content), usage=usage(body)), target)


def usage(body: Json) -> Usage | None:
    """The tokens. The prompt's number holds the cached ones, so they are not added."""
    said = body.get("usage")
    if not isinstance(said, dict):
        return None
    return Usage(
        tokens(said, "prompt_tokens"),
        tokens(said, "completion_tokens"),
        tokens(said, "prompt_tokens_details", "cached_tokens")
        or tokens(said, "prompt_cache_hit_tokens"),
        tokens(said, "prompt_tokens_details", "cache_write_tokens"),
        tokens(said, "completion_tokens_details", "reasoning_tokens"),
    )


# endregion: reply


def fields(request: Request, target: Target) -> Json:
    """What a request says besides messages and tools."""
    provider = target.provider
    limit = {provider.token_limit_key: provider.max_tokens} if provider.max_tokens else {}
    return {"model": target.model, **limit}


def opening(request: Request, target: Target) -> list[Json]:
    """The system prompt is the first message."""
    if not request.system:
        return []
    return [{"role": target.provider.system_role, "content": words({"": request.system}, "")}]


CHAT = Wire(
    key="messages",
    path=lambda target: "/chat/completions",
    tools=tools_to_wire,
    items=items_to_wire,
    reply=from_wire,
    fields=fields,
    opening=opening,
    answer="a chat completion",
)
