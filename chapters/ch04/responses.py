"""OpenAI Responses: what is sent, as pure functions.

The conversation is a list of items: what was said, what was thought, calls, outputs. Nothing is
kept at the provider, so each item goes back as it came, thinking right before what it led to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chapters.ch01.chat_wire import clean
from chapters.ch04 import chat
from chapters.ch04.provider import Target
from chapters.ch04.repair import Group
from chapters.ch04.responses_reply import from_wire
from chapters.ch04.signatures import signed
from chapters.ch04.wire import Json, Wire, words
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


# region: tools
def tools_to_wire(specs: Sequence[ToolSpec], target: Target) -> Json:
    """The tools on offer, flat. The API insists on the word `strict`."""
    return {
        "tools": [
            {"type": "function", "strict": False, **chat.tool(spec, target)} for spec in specs
        ]
    }


# endregion: tools


# region: items
def items_to_wire(group: Group, target: Target) -> list[Json]:
    """One group of a repaired history as input items."""
    match group.messages[0]:
        case UserMessage() as said:
            parts = (Text(said.content),) if isinstance(said.content, str) else said.content
            return [{"role": "user", "content": [part_to_wire(part) for part in parts]}]
        case AssistantMessage() as reply:
            return assistant(reply, target)
        case _:
            return results(group, target)


def part_to_wire(part: Text | Image) -> Json:
    """A piece of text, or a picture as a data URL."""
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    return {"type": "input_image", "detail": "auto", "image_url": chat.data_url(part)}


def assistant(reply: AssistantMessage, target: Target) -> list[Json]:
    """The items of a reply. Thinking at its end led to nothing and would be refused."""
    items: list[Json] = []
    thoughts: list[Json] = []
    for part in reply.content:
        if not target.provider.echo_reasoning:
            part = replace(part, signature="")  # an item with an id wants its thinking beside it
        match part:
            case Thinking():
                thoughts += reasoning(part)
                continue
            case ToolCall():
                item = call_to_wire(part)
            case Text():
                item = said(part)
                if not thoughts and items and _same_message(items[-1], item):
                    items[-1]["content"] += item["content"]
                    continue
        items += [*thoughts, item]
        thoughts = []
    return items


def _same_message(one: Json, other: Json) -> bool:
    keys = ("type", "id")
    return "id" in other and all(one.get(key) == other[key] for key in keys)


def reasoning(part: Thinking) -> list[Json]:
    """The item that the thinking came in; nothing for thinking that came in none."""
    item = signed(part.signature)
    return [item] if item.get("type") == "reasoning" else []


def said(part: Text) -> Json:
    """Text as the item that it was part of, or without an id if it has none. None is invented."""
    signature = signed(part.signature)
    kept = {name: words(signature, name) for name in ("id", "phase") if words(signature, name)}
    if "id" not in kept:
        return {"role": "assistant", "content": part.text}
    content = [{"type": "output_text", "text": part.text, "annotations": []}]
    message = {"type": "message", "role": "assistant", "content": content}
    return {**message, "status": "completed", **kept}


def call_to_wire(call: ToolCall) -> Json:
    """One call. The id of its item is not the one that its output names."""
    item = {"id": call.signature} if call.signature else {}
    called = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
    return {"type": "function_call", **item, **called}


def results(group: Group, target: Target) -> list[Json]:
    """One item for each result. The API has no error flag: the text says what failed."""
    items: list[Json] = []
    images: list[Image] = []
    for result in group.messages:
        assert isinstance(result, ToolResult)
        output: str | list[Json] = chat.text_of(result)
        if result.images and target.provider.result_images:
            text = (Text(result.text),) if result.text else ()
            output = [part_to_wire(part) for part in (*text, *result.images)]
        else:
            images += result.images
        items.append({"type": "function_call_output", "call_id": result.call_id, "output": output})
    if images:
        parts: tuple[Text | Image, ...] = (Text(chat.IMAGES_FOLLOW), *images)
        items.append({"role": "user", "content": [part_to_wire(part) for part in parts]})
    return items


# endregion: items


def fields(request: Request, target: Target) -> Json:
    """What a request says besides items and tools. Thinking is to come whole: nobody keeps it."""
    provider = target.provider
    limit = {provider.token_limit_key: provider.max_tokens} if provider.max_tokens else {}
    instructions = {"instructions": clean(request.system)} if request.system else {}
    kept = {"store": False, "include": ["reasoning.encrypted_content"]}
    return {"model": target.model, **kept, **limit, **instructions}


RESPONSES = Wire(
    key="input",
    path=lambda target: "/responses",
    tools=tools_to_wire,
    items=items_to_wire,
    reply=from_wire,
    fields=fields,
    answer="a response",
)
