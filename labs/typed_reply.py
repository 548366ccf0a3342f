"""From what a person types to a reply of a model: lines of text, and lines that are tool calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from shared.messages import AssistantMessage, StopReason, Text, ToolCall, ToolSpec

CALL = re.compile(r"(?P<name>[A-Za-z0-9_.-]{1,64})[ \t]*(?P<arguments>\{.*)", re.DOTALL)
WORD = re.compile(r"[A-Za-z0-9_-]+")


# region: parse
def parse_reply(lines: Sequence[str], new_id: Callable[[], str]) -> AssistantMessage:
    """The reply that `lines` spell: text and calls, in the order in which they were typed.

    A call is `name {"argument": "value"}` at the beginning of a line; its JSON may go on over
    several lines. The arguments are kept as they were typed, right or wrong: checking them is the
    dispatcher's work, as for any model. A line that begins with a space is always text.
    """
    content: list[Text | ToolCall] = []
    text: list[str] = []

    def end_text() -> None:
        if any(line.strip() for line in text):
            content.append(Text("\n".join(text)))
        text.clear()

    rest = list(lines)
    while rest:
        match = CALL.fullmatch(rest[0])
        if match is None:
            text.append(rest.pop(0))
            continue
        end_text()
        count = _lines_of_call(match["arguments"], rest)
        arguments = "\n".join([match["arguments"], *rest[1:count]]).rstrip()
        content.append(ToolCall(new_id(), match["name"], arguments))
        del rest[:count]
    end_text()
    asks = any(isinstance(part, ToolCall) for part in content)
    return AssistantMessage(tuple(content), StopReason.TOOL_USE if asks else StopReason.END_TURN)


def _lines_of_call(first: str, lines: Sequence[str]) -> int:
    """How many lines belong to the call in the first one: those that make its JSON whole."""
    text = first
    for count in range(1, len(lines) + 1):
        if is_json(text):
            return count
        if count == len(lines) or CALL.fullmatch(lines[count]):
            break
        text += "\n" + lines[count]
    # Broken JSON. The line alone is the call, unless nothing but JSON can have been meant.
    return 1 if _balanced(first) else count


# endregion: parse


def is_json(text: str) -> bool:
    """True if `text` is a whole JSON value."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _balanced(text: str) -> bool:
    return text.count("{") <= text.count("}")


def is_unfinished_call(lines: Sequence[str]) -> bool:
    """True if the last call typed still lacks the end of its JSON."""
    for index in range(len(lines) - 1, -1, -1):
        if match := CALL.fullmatch(lines[index]):
            text = "\n".join([match["arguments"], *lines[index + 1 :]])
            return not is_json(text) and not _balanced(text)
    return False


def forgotten_braces(line: str, names: Collection[str]) -> str | None:
    """The tool that a line of text names as if to call it, without the JSON a call needs."""
    word = WORD.match(line)
    if word is None or word[0] not in names or CALL.fullmatch(line):
        return None
    return word[0]


def example_call(spec: ToolSpec) -> str:
    """A call of a tool with its required arguments, as it would be typed."""
    properties: Mapping[str, Any] = spec.parameters.get("properties", {})
    required = spec.parameters.get("required", list(properties))
    values = {name: _example(properties.get(name, {})) for name in required}
    return f"{spec.name} {json.dumps(values, ensure_ascii=False)}"


def _example(schema: Mapping[str, Any]) -> object:
    by_type: dict[str, object] = {"integer": 1, "number": 1, "boolean": True, "array": []}
    return by_type.get(str(schema.get("type")), "…")
