"""What servers refuse that speak the API of Anthropic or of Gemini, where messages hold blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from chapters.ch04.provider import Provider
from chapters.ch04.refusals.rules import Json, each_once, inside, named, objects, paired

SAMPLING = ("temperature", "top_p", "top_k")
STRICT_TOOLS, STRICT_OPTIONAL, STRICT_UNIONS = 20, 24, 16  # of Anthropic, in one request
RESULT = "tool_result"


# region: anthropic
def anthropic(body: Json, provider: Provider) -> Iterator[str]:
    """Anthropic Messages: all results of a reply lead the message behind it."""
    if type(body.get("max_tokens")) is not int or body["max_tokens"] < 1:
        yield "max_tokens: missing"
    yield from (f"{name}: not permitted" for name in SAMPLING if name in body)
    yield from _strict_budget(objects(body.get("tools")))
    messages = objects(body.get("messages"))
    if not messages or messages[0].get("role") != "user":
        yield "messages[0]: the first message has to come from the user"
    blocks = [_blocks(message) for message in messages]
    yield from each_once("messages", [use.get("id") for use in _of_type("tool_use", *blocks)])
    asked: list[Any] = []
    for index, (message, content) in enumerate(zip(messages, blocks, strict=True)):
        where, role = f"messages[{index}]", message.get("role")
        if role not in ("user", "assistant"):
            yield f"{where}: the role {role!r} is not known"
        if not content:
            yield f"{where}: content is empty"
        for block in content:
            yield from _block(where, block, provider)
        results = _of_type(RESULT, content)
        yield from paired(where, asked, [block.get("tool_use_id") for block in results])
        if results != content[: len(results)]:
            yield f"{where}: results have to come before everything else"
        if results and role != "user":
            yield f"{where}: results come from the user"
        asked = [use.get("id") for use in _of_type("tool_use", content)]
    yield from paired("messages", asked, [])


def _block(where: str, block: Json, provider: Provider) -> Iterator[str]:
    match block.get("type"):
        case "text" if not str(block.get("text") or "").strip():
            yield f"{where}: a text block is empty or blank"
        case "tool_use":
            call_id = block.get("id")
            if not isinstance(call_id, str) or not re.fullmatch("[a-zA-Z0-9_-]+", call_id):
                yield f"{where}: the id {call_id!r} is not legal"
            yield from named(where, block.get("name"), provider)
            if not isinstance(block.get("input"), Mapping):
                yield f"{where}: input has to be an object"
        case "thinking" if not block.get("signature"):
            yield f"{where}: thinking without its signature"
        case "tool_result" if not isinstance(block.get("content", ""), str):
            for inner in objects(block["content"]):
                yield from _block(where, inner, provider)


def _strict_budget(tools: Sequence[Json]) -> Iterator[str]:
    schemas = [inside(tool, "input_schema") or {} for tool in tools if tool.get("strict")]
    optional, unions = (
        map(sum, zip(*map(_optional_and_unions, schemas), strict=True)) if schemas else (0, 0)
    )
    for what, number, limit in (
        ("strict tools", len(schemas), STRICT_TOOLS),
        ("optional parameters", optional, STRICT_OPTIONAL),
        ("parameters of more than one type", unions, STRICT_UNIONS),
    ):
        if number > limit:
            yield f"tools: at most {limit} {what} where strict is on, got {number}"


def _optional_and_unions(schema: Any) -> tuple[int, int]:
    if not isinstance(schema, Mapping):
        return 0, 0
    properties = inside(schema, "properties") or {}
    optional = len(set(properties) - set(schema.get("required") or ()))
    unions = sum(_is_union(inner) for inner in properties.values())
    for inner in properties.values():
        deeper = _optional_and_unions(inner)
        optional, unions = optional + deeper[0], unions + deeper[1]
    return optional, unions


def _is_union(schema: Any) -> bool:
    return isinstance(schema, Mapping) and (
        "anyOf" in schema or isinstance(schema.get("type"), list)
    )


def _blocks(message: Json) -> list[Json]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


def _of_type(kind: str, *contents: Iterable[Json]) -> list[Json]:
    return [block for content in contents for block in content if block.get("type") == kind]


# endregion: anthropic


# region: gemini
def gemini(body: Json, provider: Provider) -> Iterator[str]:
    """Gemini: responses answer calls by their order, and signatures come back."""
    contents = objects(body.get("contents"))
    if not contents or contents[0].get("role") != "user":
        yield "contents[0]: the first content has to come from the user"
    asked: list[Any] = []
    for index, content in enumerate(contents):
        where, role, parts = (
            f"contents[{index}]",
            content.get("role"),
            objects(content.get("parts")),
        )
        if role not in ("user", "model"):
            yield f"{where}: the role {role!r} is not known"
        if not parts:
            yield f"{where}: parts are empty"
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        names = [inside({"": answer}, "") and answer.get("name") for answer in answers]
        if names != asked:
            yield f"{where}: responses have to answer {asked}, and answer {names}"
        for answer in answers:
            if not isinstance(inside({"": answer}, "") and answer.get("response"), Mapping):
                yield f"{where}: response has to be an object"
        calling = [part for part in parts if "functionCall" in part]
        if calling and not calling[0].get("thoughtSignature"):
            yield f"{where}: the first call is missing its thoughtSignature"
        asked = []
        for part in calling:
            call = inside(part, "functionCall") or {}
            asked.append(call.get("name"))
            yield from named(where, call.get("name"), provider)
            if not isinstance(call.get("args", {}), Mapping):
                yield f"{where}: args have to be an object"
    if asked:
        yield f"contents: the calls of {asked} have no responses"


# endregion: gemini
