"""How the events of a provider end, by our rules: told from the events alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.vectors.peer_row import Json

INCOMPLETE = ("incomplete_stream", True)
WHOLE = ("stop", "tool_calls", "function_call", "end_turn", "stop_sequence", "tool_use", "STOP")
WORDS = {
    "length": "length",
    "max_tokens": "length",
    "MAX_TOKENS": "length",
    "model_context_window_exceeded": "length",
    "max_output_tokens": "length",
    "content_filter": "content_filter",
    "refusal": "refusal",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"),
        "content_filter",
    ),
}


def ending_of(given: Json, expect: Json) -> tuple[str, bool]:
    """Why a reply ended, and whether that is an error: then its kind."""
    chunks = [chunk for chunk in given["chunks"] if isinstance(chunk, dict)]
    if any(chunk.get("error") or chunk.get("type") == "error" for chunk in chunks):
        return "provider", True
    calls = any(block["type"] == "toolCall" for block in expect["content"])
    said = _READ[given["api"]](chunks)
    if isinstance(said, tuple):
        return said
    if said in WHOLE:
        return ("toolUse" if calls else "stop"), False
    return WORDS.get(said, "unknown"), False


def _chat(chunks: list[Json]) -> str | tuple[str, bool]:
    choices = [choice for chunk in chunks for choice in chunk.get("choices") or []]
    if any((choice.get("delta") or {}).get("refusal") for choice in choices):
        return "refusal"
    return _last(choice.get("finish_reason") for choice in choices)


def _anthropic(chunks: list[Json]) -> str | tuple[str, bool]:
    return _last(
        (chunk.get("delta") or {}).get("stop_reason")
        for chunk in chunks
        if chunk.get("type") == "message_delta"
    )


def _responses(chunks: list[Json]) -> str | tuple[str, bool]:
    for chunk in reversed(chunks):
        response: Json = chunk.get("response") or {}
        match chunk.get("type"):
            case "response.failed":
                return "provider", True
            case "response.incomplete":
                return str((response.get("incomplete_details") or {}).get("reason"))
            case "response.completed":
                refused = any("refusal" in str(each.get("type")) for each in chunks)
                status = response.get("status", "completed")
                return "refusal" if refused else "stop" if status == "completed" else status
    return INCOMPLETE


def _google(chunks: list[Json]) -> str | tuple[str, bool]:
    candidates = [each for chunk in chunks for each in chunk.get("candidates") or []]
    if not candidates and any(chunk.get("promptFeedback") for chunk in chunks):
        return "content_filter"
    return _last(candidate.get("finishReason") for candidate in candidates)


def _last(words: Iterator[Any]) -> str | tuple[str, bool]:
    found = [word for word in words if word]
    return found[-1] if found else INCOMPLETE


_READ: dict[str, Callable[[list[Json]], str | tuple[str, bool]]] = {
    "openai-completions": _chat,
    "openai-responses": _responses,
    "anthropic-messages": _anthropic,
    "google-generative-ai": _google,
}
