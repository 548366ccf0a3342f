"""Gemini's generateContent as JSON: contents, parts, and signatures that stay on their part."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chapters.ch01.chat_wire import clean
from chapters.ch01.openai_chat import MINTED
from chapters.ch04.chat import SEE_IMAGE
from chapters.ch04.gemini_reply import from_wire
from chapters.ch04.names_and_ids import wire_name
from chapters.ch04.provider import Target
from chapters.ch04.repair import Group
from chapters.ch04.wire import Json, Wire, arguments_object
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

IMAGES_FOLLOW = "Tool result image:"
BASE64 = re.compile(r"(?=(?:.{4})+\Z)([A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}")  # either alphabet


def path(target: Target) -> str:
    """Where a request goes: the model is part of the address."""
    model = target.model
    if not model.startswith(("models/", "tunedModels/")):
        model = f"models/{model}"
    return f"/v1beta/{model}:generateContent"


# region: tools
def tools_to_wire(specs: Sequence[ToolSpec], target: Target) -> Json:
    """The tools on offer: one entry that declares them all, each with its schema as it is."""
    limit = target.provider.name_limit
    declarations = [
        {
            "name": wire_name(spec.name, limit),
            "description": spec.description,
            "parametersJsonSchema": dict(spec.parameters),
        }
        for spec in specs
    ]
    return {"tools": [{"functionDeclarations": declarations}]}


# endregion: tools


# region: items
def items_to_wire(group: Group, target: Target) -> list[Json]:
    """One group of a repaired history as contents."""
    match group.messages[0]:
        case UserMessage() as said:
            return [user(said)]
        case AssistantMessage() as reply:
            return [assistant(reply, target)]
        case _:
            return results(group, target)


def user(message: UserMessage) -> Json:
    """What a person said."""
    said = message.content
    parts = [Text(said)] if isinstance(said, str) else said
    return {"role": "user", "parts": [part_of(part) for part in parts]}


def part_of(part: Text | Image) -> Json:
    """A piece of text, or a picture."""
    if isinstance(part, Text):
        return {"text": part.text}
    return {"inlineData": {"mimeType": part.media_type, "data": part.data}}


def assistant(reply: AssistantMessage, target: Target) -> Json:
    """A reply of the model, part by part. A signature stays on the part that it came with.

    The first call of a reply has to have one. If another model made it, a word stands for it.
    """
    stands_in = target.provider.foreign_signature if reply.origin != target.origin else ""
    parts: list[Json] = []
    for part in reply.content:
        match part:
            case Text():
                wire: Json = {"text": part.text}
            case Thinking() if target.provider.echo_reasoning:
                wire = {"text": part.text, "thought": True}
            case Thinking():
                continue
            case ToolCall():
                wire = {"functionCall": call_to_wire(part, target)}
        if BASE64.fullmatch(part.signature):
            wire["thoughtSignature"] = part.signature
        elif stands_in and isinstance(part, ToolCall):
            wire["thoughtSignature"], stands_in = stands_in, ""
        parts.append(wire)
    return {"role": "model", "parts": parts}


def call_to_wire(call: ToolCall, target: Target) -> Json:
    """One call. It has an id only where the provider gives its calls some."""
    wire: Json = {"name": call.name, "args": arguments_object(call)}
    return wire | own_id(call.id, target)


def results(group: Group, target: Target) -> list[Json]:
    """All results of a reply in one content: without ids, their order and number pair them."""
    parts: list[Json] = []
    images: list[Image] = []
    for result in group.messages:
        assert isinstance(result, ToolResult)
        response = response_to(result, target)
        if result.images and target.provider.result_images:
            response["parts"] = [part_of(image) for image in result.images]
        else:
            images += result.images
        parts.append({"functionResponse": response})
    contents: list[Json] = [{"role": "user", "parts": parts}]
    if images:
        shown = [part_of(Text(IMAGES_FOLLOW)), *map(part_of, images)]
        contents.append({"role": "user", "parts": shown})
    return contents


def response_to(result: ToolResult, target: Target) -> Json:
    """One result. Success and failure are told apart by a key."""
    text = result.text or (SEE_IMAGE if result.images else "")
    said = {"error" if result.code else "output": text}
    wire: Json = {"name": result.name, "response": said}
    return wire | own_id(result.call_id, target)


def own_id(call_id: str, target: Target) -> Json:
    """The id of a call, where calls have some. One that was made here goes to nobody: the part has
    to go back as it came, without.
    """
    made_here = MINTED.fullmatch(call_id) is not None
    return {"id": call_id} if call_id and target.provider.call_ids and not made_here else {}


# endregion: items


def fields(request: Request, target: Target) -> Json:
    """What a request says besides contents and tools."""
    wire: Json = {}
    if request.system:
        wire["systemInstruction"] = {"parts": [{"text": clean(request.system)}]}
    if target.provider.max_tokens:
        wire["generationConfig"] = {target.provider.token_limit_key: target.provider.max_tokens}
    return wire


GEMINI = Wire(
    key="contents",
    path=path,
    tools=tools_to_wire,
    items=items_to_wire,
    reply=from_wire,
    fields=fields,
    answer="a reply of Gemini",
    usually="ends in googleapis.com",
)
