"""What servers refuse that speak one of the two APIs of OpenAI."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chapters.ch04.provider import Provider
from chapters.ch04.refusals.rules import (
    Json,
    arguments,
    each_once,
    identified,
    inside,
    named,
    objects,
    paired,
)

OUTPUT = "function_call_output"
UNPAIRED = "came with a reasoning item, which is missing"
"""What a server knows that has seen the item before. A model that does not reason makes none."""


# region: chat
def chat(body: Json, provider: Provider) -> Iterator[str]:
    """Chat Completions: each call is answered at once, by a message of its own."""
    messages = objects(body.get("messages"))
    if not messages:
        yield "messages: missing or empty"
    calls = [call for message in messages for call in objects(message.get("tool_calls"))]
    yield from each_once("messages", [call.get("id") for call in calls])
    for call in calls:
        function = inside(call, "function") or {}
        yield from identified("messages", call.get("id"), provider)
        yield from named("messages", function.get("name"), provider)
        yield from arguments("messages", function.get("arguments"))
    yield from _chat_results({}, messages, 0)
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        match message.get("role"):
            case "assistant":
                yield from _chat_reply(where, message, provider)
                yield from _chat_results(message, messages, index + 1)
            case "tool":
                yield from _chat_content(where, message, provider, provider.result_images)
                if provider.result_name and not message.get("name"):
                    yield f"{where}: a result without the name of its tool"
            case "user":
                yield from _chat_content(where, message, provider, provider.images)
                after = messages[index - 1].get("role") if index else ""
                if after == "tool" and provider.reply_after_results:
                    yield f"{where}: a user message directly after results"
                yield from _chat_results({}, messages, index + 1)
            case "system" | "developer" as role:
                if role != provider.system_role:
                    yield f"{where}: the role {role} is not known here"
                yield from _chat_results({}, messages, index + 1)
            case role:
                yield f"{where}: the role {role!r} is not known"


def _chat_results(asking: Json, messages: Sequence[Json], start: int) -> Iterator[str]:
    """The run of tool messages at `start` against the calls of the message before it."""
    end = start
    while end < len(messages) and messages[end].get("role") == "tool":
        end += 1
    asked = [call.get("id") for call in objects(asking.get("tool_calls"))]
    answered = [message.get("tool_call_id") for message in messages[start:end]]
    yield from paired(f"messages[{start}]", asked, answered)


def _chat_reply(where: str, message: Json, provider: Provider) -> Iterator[str]:
    content = message.get("content")
    if "tool_calls" in message and not message["tool_calls"]:
        yield f"{where}: tool_calls is empty; leave the key out"
    if content is not None and not isinstance(content, str):
        yield f"{where}: content has to be text"
    elif not content and not message.get("tool_calls"):
        yield f"{where}: neither content nor calls"
    elif not content and content != provider.empty_content:
        yield f"{where}: content without text has to be {provider.empty_content!r}"


def _chat_content(where: str, message: Json, provider: Provider, images: bool) -> Iterator[str]:
    content, role = message.get("content"), message.get("role")
    blank = role == "user" and not provider.blank_text
    if isinstance(content, str):
        if blank and not content.strip():
            yield f"{where}: content is blank"
        return
    parts = objects(content)
    if not parts or (role == "tool" and not images):
        yield f"{where}: content has to be text"
    for part in parts:
        if part.get("type") == "image_url" and not images:
            yield f"{where}: pictures are not taken"
        elif blank and part.get("type") == "text" and not str(part.get("text")).strip():
            yield f"{where}: a blank text"


# endregion: chat


# region: responses
def responses(body: Json, provider: Provider) -> Iterator[str]:
    """Responses: outputs belong to calls by `call_id`, and reasoning to the item behind it."""
    items = objects(body.get("input"))
    if not items and not isinstance(body.get("input"), str):
        yield "input: missing or empty"
    calls = [item for item in items if item.get("type") == "function_call"]
    yield from each_once("input", [call.get("call_id") for call in calls])
    own = [item["id"] for item in items if item.get("id")]
    yield from each_once("input", own)
    for call in calls:
        yield from identified("input", call.get("call_id"), provider)
        yield from named("input", call.get("name"), provider)
        yield from arguments("input", call.get("arguments"))
    outputs = [item.get("call_id") for item in items if item.get("type") == OUTPUT]
    yield from paired("input", [call.get("call_id") for call in calls], outputs)
    called, asked = {str(call.get("call_id")) for call in calls}, set[str]()
    thought = False  # a reasoning item came in this reply
    for index, item in enumerate(items):
        where, kind = f"input[{index}]", item.get("type", "message")
        following = items[index + 1] if index + 1 < len(items) else {}
        if kind == OUTPUT and str(item.get("call_id")) in called - asked:
            yield f"{where}: the output stands before its call"
        if kind == "reasoning" and not _of_model(following):
            yield f"{where}: reasoning without the item that it led to right behind it"
        if kind == "function_call":
            asked.add(str(item.get("call_id")))
            if item.get("id") and not thought:
                yield f"{where}: {item['id']!r} {UNPAIRED}"
        thought = kind == "reasoning" or (thought and _of_model(item))
        if kind == "message" and not item.get("content"):
            yield f"{where}: content is empty"


def _of_model(item: Json) -> bool:
    return item.get("role") == "assistant" or item.get("type") in ("reasoning", "function_call")


# endregion: responses
