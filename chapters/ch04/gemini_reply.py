"""The answer of Gemini as our message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chapters.ch01.chat_wire import UnreadableReply, arguments_of
from chapters.ch04.provider import Target
from chapters.ch04.wire import Json, finished, objects, tokens, words
from shared.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall, Usage

BLOCKED = (
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER"),
)
STOP_REASONS = {
    "": StopReason.MISSING,
    "STOP": StopReason.END_TURN,  # beside calls too
    "MAX_TOKENS": StopReason.MAX_TOKENS,
    **dict.fromkeys(BLOCKED, StopReason.CONTENT_FILTER),
}


# region: reply
def from_wire(body: Any, target: Target) -> AssistantMessage:
    """The JSON of an answer as our message. Raises UnreadableReply if there is no candidate."""
    if not isinstance(body, dict):
        raise UnreadableReply("it is not a JSON object")
    candidates = objects(body, "candidates")
    if not candidates and (reason := blocked(body)):
        found = AssistantMessage((), StopReason.CONTENT_FILTER, reason, usage(body))
        return finished(found, target)
    if not candidates:
        raise UnreadableReply("`candidates` is missing or empty")
    said = words(candidates[0], "finishReason")
    stop = STOP_REASONS.get(said, StopReason.UNKNOWN)
    content = tuple([read for part in parts_of(candidates[0]) for read in reply_part(part)])
    return finished(AssistantMessage(content, stop, said, usage(body)), target)


def blocked(body: Json) -> str:
    """Why the prompt was not even answered; "" if that is not what happened."""
    feedback = body.get("promptFeedback")
    return words(feedback, "blockReason") if isinstance(feedback, dict) else ""


def parts_of(candidate: Json) -> list[Json]:
    """The parts of a candidate. One that was stopped at once has no content, or no parts."""
    content = candidate.get("content") or {}
    if not isinstance(content, dict):
        raise UnreadableReply("`content` is not an object")
    return objects(content, "parts")


def reply_part(part: Json) -> list[Text | Thinking | ToolCall]:
    """One part in our words: none for a part of a kind that nobody asked for."""
    signature = words(part, "thoughtSignature")
    call = part.get("functionCall")
    if call is not None:
        if not isinstance(call, Mapping):
            raise UnreadableReply("a function call is not an object")
        arguments = arguments_of(call.get("args")) or "{}"
        return [ToolCall(words(call, "id"), words(call, "name"), arguments, signature)]
    text = words(part, "text")
    if not text and not signature:
        return []
    return [Thinking(text, signature) if part.get("thought") else Text(text, signature)]


def usage(body: Json) -> Usage | None:
    """The tokens. Thoughts are not among those of the candidates, so they are added."""
    said = body.get("usageMetadata")
    if not isinstance(said, dict):
        return None
    thoughts = tokens(said, "thoughtsTokenCount")
    return Usage(
        tokens(said, "promptTokenCount") + tokens(said, "toolUsePromptTokenCount"),
        tokens(said, "candidatesTokenCount") + thoughts,
        tokens(said, "cachedContentTokenCount"),
        reasoning_tokens=thoughts,
    )


# endregion: reply
