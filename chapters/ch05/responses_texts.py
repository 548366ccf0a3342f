"""The texts that an item of a response holds, and whether two of them can be one."""

from __future__ import annotations

import json
from collections.abc import Iterator

from chapters.ch01.chat_wire import arguments_of
from chapters.ch04.wire import Json, objects, words

MESSAGE, REASONING = "message", "reasoning"
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}  # and where the arguments are
TEXTS = {"output_text": "text", "refusal": "refusal"}  # the kinds of content of a message
THOUGHTS = {"summary": "summary_text", "content": "reasoning_text"}  # lists of a reasoning item


def goes_on(before: str, after: str) -> bool:
    """Whether the second text is the first one and perhaps more, or the same JSON."""
    if after.startswith(before):
        return True
    try:
        one, other = [json.dumps(json.loads(text), sort_keys=True) for text in (before, after)]
    except (ValueError, RecursionError):
        return False
    return one == other


def texts_in(kind: str, item: Json) -> Iterator[tuple[str, int, str]]:
    """The texts that an item holds: where each stands, and what it says."""
    if kind in CALLS:
        yield CALLS[kind], 0, arguments_of(item.get(CALLS[kind]))
    elif kind == MESSAGE:
        for number, part in enumerate(objects(item, "content")):
            field = "refusal" if part.get("type") == "refusal" else "output_text"
            yield field, number, words(part, "text") or words(part, "refusal")
    elif kind == REASONING:
        field = "summary" if objects(item, "summary") else "content"
        for number, part in enumerate(objects(item, field)):
            yield field, number, words(part, "text")
