"""OpenAI Responses: what comes back, as a pure function."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from chapters.ch01.chat_wire import UnreadableReply, arguments_of
from chapters.ch04.provider import Target
from chapters.ch04.wire import Json, finished, objects, tokens, words
from shared.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall, Usage

CUT_OFF = {
    "max_output_tokens": StopReason.MAX_TOKENS,
    "max_messages": StopReason.MAX_TOKENS,
    "content_filter": StopReason.CONTENT_FILTER,
}


# region: reply
def from_wire(body: Any, target: Target) -> AssistantMessage:
    """The JSON of an answer as our message. Raises UnreadableReply if it is no response."""
    if not isinstance(body, dict) or "output" not in body:
        raise UnreadableReply("`output` is missing")
    items = objects(body, "output")
    content = tuple([part for item in items for part in parts_of(item)])
    stop, finish = ending(body)
    if any(refuses(item) for item in items):
        stop, finish = StopReason.REFUSAL, "refusal"
    return finished(AssistantMessage(content, stop, finish, usage(body)), target)


def parts_of(item: Json) -> Iterator[Text | Thinking | ToolCall]:
    """One item as ours; nothing for a kind that we did not ask for."""
    match item.get("type"):
        case "message":
            signature = signature_of(item)
            for part in objects(item, "content"):
                if text := words(part, "text") or words(part, "refusal"):
                    yield Text(text, signature)
        case "reasoning":
            thought = [words(part, "text") for part in objects(item, "summary")]
            thought = thought or [words(part, "text") for part in objects(item, "content")]
            yield Thinking("\n\n".join(thought), json.dumps(item))
        case "function_call":
            yield call_of(item, "arguments", words(item, "id"))
        case "custom_tool_call":  # none was offered, but it shall be answered like any other
            yield call_of(item, "input", "")


def call_of(item: Json, arguments: str, signature: str) -> ToolCall:
    """The call in an item, whose field `arguments` holds what it is called with."""
    called = words(item, "call_id"), words(item, "name"), arguments_of(item.get(arguments))
    return ToolCall(*called, signature)


def refuses(item: Json) -> bool:
    """Whether it is a message in which the model declines."""
    parts = objects(item, "content") if item.get("type") == "message" else []
    return any(part.get("type") == "refusal" for part in parts)


def signature_of(item: Json) -> str:
    """What a message has to have again when it goes back; "" if it has no id."""
    kept = {name: words(item, name) for name in ("id", "phase") if words(item, name)}
    return json.dumps(kept, ensure_ascii=False) if "id" in kept else ""


def ending(body: Json) -> tuple[StopReason, str]:
    """Why the reply ended, in our words and in the provider's."""
    status = words(body, "status")
    match status:
        case "":
            return StopReason.MISSING, ""
        case "completed":
            return StopReason.END_TURN, status
        case "incomplete":
            details = body.get("incomplete_details")
            reason = words(details, "reason") if isinstance(details, dict) else ""
            return CUT_OFF.get(reason, StopReason.UNKNOWN), reason or status
        case "failed":  # with an error beside it, nobody would have come here
            raise UnreadableReply("the provider says that it failed, and does not say why")
    return StopReason.UNKNOWN, status


def usage(body: Json) -> Usage | None:
    """The tokens. The number of those that were read holds the cached ones."""
    said = body.get("usage")
    if not isinstance(said, dict):
        return None
    return Usage(
        tokens(said, "input_tokens"),
        tokens(said, "output_tokens"),
        tokens(said, "input_tokens_details", "cached_tokens"),
        reasoning_tokens=tokens(said, "output_tokens_details", "reasoning_tokens"),
    )


# endregion: reply
