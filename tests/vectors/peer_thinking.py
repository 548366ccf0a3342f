"""Our decision about thinking: never a text that the model said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.vectors import peer_places as places
from tests.vectors.peer_provider import compat_of, whom
from tests.vectors.peer_row import Json


def thinking_whole_or_not(given: Json, expect: Json) -> Json:
    """Thinking goes back to the model that thought it, as thinking, or stays here."""
    key, items = places.items_of(expect)
    position = 0
    for reply in places.replies(given):
        thoughts = [each["thinking"] for each in _spoken_thoughts(given, expect, reply)]
        if not thoughts:
            continue
        if whom(given)[0] == "openai-completions" and "inputMutated" not in expect:
            position = _say_less(given, items, reply, position)
        else:
            for thought in thoughts:
                position = _take_out(items, thought, position)
        expect[key] = [item for item in items if item.get("parts", item.get("content")) != []]
    return expect


def _spoken_thoughts(given: Json, expect: Json, reply: Json) -> Iterator[Json]:
    """The thoughts of a reply that the other library makes into text."""
    compat, on_the_wire = compat_of(given), "inputMutated" not in expect
    for block in places.blocks_given(reply):
        if block["type"] != "thinking" or block.get("redacted") or not block["thinking"].strip():
            continue
        if not places.at_home(given, reply):
            yield block
        elif not on_the_wire:
            continue
        elif whom(given)[0] == "anthropic-messages":
            signed = block.get("thinkingSignature") or compat.get("allowEmptySignature")
            if not signed:
                yield block
        elif whom(given)[0] == "openai-completions" and compat.get("requiresThinkingAsText"):
            yield block


def _take_out(items: list[Json], thought: str, position: int) -> int:
    for number in range(position, len(items)):
        blocks = _spoken(items[number])
        for block in blocks:
            if places.is_text(block) and block["text"] == thought:
                blocks.remove(block)
                return number
    return position


def _spoken(item: Json) -> list[Json]:
    return places.blocks_of(item) if places.by_the_model(item) else []


def _say_less(given: Json, items: list[Json], reply: Json, position: int) -> int:
    """In Chat Completions the thoughts are part of one text; what is left is what was said."""
    said = "".join(
        block["text"]
        for block in places.blocks_given(reply)
        if block["type"] == "text" and block["text"].strip()
    )
    empty = "" if compat_of(given).get("requiresAssistantAfterToolResult") else None
    for number in range(position, len(items)):
        item = items[number]
        if places.by_the_model(item) and str(_text_of(item)).endswith(said):
            if said or item.get("tool_calls"):
                item["content"] = said or empty
            else:
                item["content"] = []
            return number + 1
    return position


def _text_of(item: Json) -> Any:
    content = item.get("content")
    if isinstance(content, list):
        return "".join(block.get("text", "") for block in content)
    return content
