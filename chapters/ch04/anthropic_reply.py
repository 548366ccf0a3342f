"""Anthropic Messages: what comes back, as a pure function."""

from __future__ import annotations

from typing import Any

from chapters.ch01.chat_wire import UnreadableReply, arguments_of
from chapters.ch04.provider import Target
from chapters.ch04.wire import Json, finished, objects, tokens, words
from shared.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall, Usage

STOP_REASONS = {
    "end_turn": StopReason.END_TURN,
    "stop_sequence": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.MAX_TOKENS,
    "refusal": StopReason.REFUSAL,
    "": StopReason.MISSING,
}


# region: reply
def from_wire(body: Any, target: Target) -> AssistantMessage:
    """The JSON of an answer as our message. Raises UnreadableReply if it is no message."""
    if not isinstance(body, dict) or "content" not in body:
        raise UnreadableReply("`content` is missing")
    content = [part for each in objects(body, "content") if (part := part_of(each))]
    finish = words(body, "stop_reason")
    stop = STOP_REASONS.get(finish, StopReason.UNKNOWN)
    if stop is StopReason.REFUSAL and not any(isinstance(part, Text) for part in content):
        details = body.get("stop_details")
        why = words(details, "explanation") if isinstance(details, dict) else ""
        content += [Text(why)] if why else []
    return finished(AssistantMessage(tuple(content), stop, finish, usage(body)), target)


def part_of(wire: Json) -> Text | Thinking | ToolCall | None:
    """One block as ours; None for an empty one, and for a kind that we did not ask for."""
    match wire.get("type"):
        case "text" if text := words(wire, "text"):
            return Text(text)
        case "thinking" if words(wire, "thinking") or words(wire, "signature"):
            return Thinking(words(wire, "thinking"), words(wire, "signature"))
        case "redacted_thinking" if data := words(wire, "data"):
            return Thinking("", data, redacted=True)
        case "tool_use":
            arguments = arguments_of(wire.get("input"))
            return ToolCall(words(wire, "id"), words(wire, "name"), arguments)
    return None


def usage(body: Json) -> Usage | None:
    """The tokens. The API counts what it read from a cache, or put into one, apart."""
    said = body.get("usage")
    if not isinstance(said, dict):
        return None
    cached = tokens(said, "cache_read_input_tokens")
    written = tokens(said, "cache_creation_input_tokens")
    return Usage(
        tokens(said, "input_tokens") + cached + written,
        tokens(said, "output_tokens"),
        cached,
        written,
        tokens(said, "output_tokens_details", "thinking_tokens"),
    )


# endregion: reply
