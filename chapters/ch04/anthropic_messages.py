"""Anthropic Messages: what is sent, as pure functions.

Everything is a block in a message of one of two roles. Results of tools are blocks of a user
message, all results of a reply in one. The API can be told where to keep what it has read: a cache
mark stands on the system prompt, on the last tool and on the last block of the conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chapters.ch01.chat_wire import clean
from chapters.ch04.anthropic_reply import from_wire
from chapters.ch04.chat import SEE_IMAGE
from chapters.ch04.names_and_ids import wire_name
from chapters.ch04.provider import Cache, Strict, Target
from chapters.ch04.repair import Group
from chapters.ch04.strict_schema import strictness, unions
from chapters.ch04.wire import Json, Wire, arguments_object
from shared.errors import ConfigError
from shared.messages import (
    AssistantMessage,
    Image,
    Request,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)

# What one request may ask for. A third limit, on parameters that may be left out, is never met: a
# strict schema has none of them. It has unions with null in their place.
MAX_STRICT_TOOLS = 20
MAX_UNIONS = 16


# region: tools
def tools_to_wire(specs: Sequence[ToolSpec], target: Target) -> Json:
    """The tools on offer, the last of them with the cache mark, which covers them all."""
    tools = []
    for spec, (schema, strict) in zip(specs, schemas(specs, target.provider.strict), strict=True):
        tool: Json = {
            "name": wire_name(spec.name, target.provider.name_limit),
            "description": spec.description,
            "input_schema": {"properties": {}, "required": [], **schema, "type": "object"},
        }
        if target.provider.eager_input:
            tool["eager_input_streaming"] = True
        if strict:
            tool["strict"] = True
        tools.append(tool)
    tools[-1] |= cache_mark(target)
    return {"tools": tools}


def schemas(specs: Sequence[ToolSpec], strict: Strict) -> Iterator[tuple[Json, bool]]:
    """The schema to send for each tool, and whether it is a strict one.

    The first tools are strict, as far as the limits of a request reach.
    """
    tools_left, unions_left = MAX_STRICT_TOOLS, MAX_UNIONS
    for spec in specs:
        schema, said = strictness(spec, strict)
        needed = unions(schema)
        if said.get("strict") and tools_left and needed <= unions_left:
            tools_left, unions_left = tools_left - 1, unions_left - needed
            yield schema, True
        else:
            yield dict(spec.parameters), False


def cache_mark(target: Target) -> Json:
    """What a block carries up to which the provider shall keep what it has read."""
    match target.provider.cache:
        case Cache.NONE:
            return {}
        case Cache.SHORT:
            return {"cache_control": {"type": "ephemeral"}}
        case Cache.LONG:
            return {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


# endregion: tools


# region: items
def items_to_wire(group: Group, target: Target) -> list[Json]:
    """One group of a repaired history: always one message."""
    match group.messages[0]:
        case UserMessage() as said:
            content = said.content
            blocks = content if isinstance(content, str) else [block(part) for part in content]
            return [{"role": "user", "content": blocks}]
        case AssistantMessage() as reply:
            return [{"role": "assistant", "content": list(reply_blocks(reply, target))}]
        case _:
            return [{"role": "user", "content": results(group, target)}]


def block(part: Text | Image) -> Json:
    """A piece of text or a picture."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    source = {"type": "base64", "media_type": part.media_type, "data": part.data}
    return {"type": "image", "source": source}


def reply_blocks(reply: AssistantMessage, target: Target) -> Iterator[Json]:
    """The parts of a reply, one block for each."""
    for part in reply.content:
        match part:
            case Text():
                yield block(part)
            case ToolCall():
                called = {"name": part.name, "input": arguments_object(part)}
                yield {"type": "tool_use", "id": part.id, **called}
            case Thinking() if target.provider.echo_reasoning:
                yield from thinking(part, target)


def thinking(part: Thinking, target: Target) -> list[Json]:
    """Thinking as it came. What nobody signed is refused by most servers, so it stays here."""
    if part.redacted:
        return [{"type": "redacted_thinking", "data": part.signature}] if part.signature else []
    if not (part.signature or target.provider.unsigned_thinking):
        return []
    return [{"type": "thinking", "thinking": part.text, "signature": part.signature}]


def results(group: Group, target: Target) -> list[Json]:
    """One block for each result, first of all, then the pictures that cannot stand in a result."""
    blocks: list[Json] = []
    images: list[Json] = []
    for result in group.messages:
        assert isinstance(result, ToolResult)
        text = result.text if result.text.strip() else ""  # white space alone is refused
        content: str | list[Json] = text
        shown = [block(image) for image in result.images]
        if shown and target.provider.result_images:
            content = [block(Text(text or SEE_IMAGE)), *shown]
        elif shown:
            content = text or SEE_IMAGE
            images += shown
        blocks.append(
            {
                "type": "tool_result",
                "tool_use_id": result.call_id,
                "content": content,
                "is_error": result.code is not None,
            }
        )
    return blocks + images


def closing(items: list[Json], target: Target) -> list[Json]:
    """The last messages with the cache mark at their end, if a user message is last."""
    mark, last = cache_mark(target), items[-1]
    if not mark or last["role"] != "user":
        return items
    content = last["content"]
    blocks = [block(Text(content))] if isinstance(content, str) else content
    marked = [*blocks[:-1], blocks[-1] | mark]
    return [*items[:-1], last | {"content": marked}]


# endregion: items


def fields(request: Request, target: Target) -> Json:
    """What a request says besides messages and tools. The system prompt is one of these fields."""
    provider = target.provider
    if provider.max_tokens is None:
        raise ConfigError(
            f"{provider.name} has to be told how long a reply may be. Give WORKBOOK_MAX_TOKENS a "
            "number, such as 16000, or leave it out."
        )
    said: Json = {"model": target.model, provider.token_limit_key: provider.max_tokens}
    if request.system.strip():
        said["system"] = [block(Text(clean(request.system))) | cache_mark(target)]
    return said


ANTHROPIC = Wire(
    key="messages",
    path=lambda target: "/v1/messages",
    tools=tools_to_wire,
    items=items_to_wire,
    reply=from_wire,
    fields=fields,
    closing=closing,
    answer="a message",
    usually="looks like https://api.anthropic.com",
)
