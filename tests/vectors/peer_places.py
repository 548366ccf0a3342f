"""Where things stand in what a row expects, whichever of the five forms it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.vectors.peer_provider import whom
from tests.vectors.peer_row import Json

LISTS = ("messages", "input", "contents")
CALL_KEYS = {"toolCall": "id", "tool_use": "id", "function_call": "call_id"}
RESULT_KEYS = {"tool_result": "tool_use_id", "function_call_output": "call_id"}
NOT_OURS = ("tools", "arguments", "input_schema", "args", "response")
RESULT_ROLES = {"toolResult": "toolCallId", "tool": "tool_call_id"}


def items_of(expect: Json) -> tuple[str, list[Json]]:
    """The key of the list of messages, and the list; "" and [] if there is none."""
    for key in LISTS:
        if isinstance(expect.get(key), list):
            return key, expect[key]
    return "", []


def calls(value: Any) -> Iterator[tuple[Json, str]]:
    """Each call, and under which key it holds its id."""
    for each in _objects(value):
        if each.get("type") in CALL_KEYS:
            yield each, CALL_KEYS[each["type"]]
        elif each.get("type") == "function" and "id" in each:
            yield each, "id"
        elif "callId" in each:
            yield each, "callId"
        elif "functionCall" in each and "id" in each["functionCall"]:
            yield each["functionCall"], "id"


def results(value: Any) -> Iterator[tuple[Json, str]]:
    """Each result, and under which key it holds the id of its call."""
    for each in _objects(value):
        if each.get("type") in RESULT_KEYS:
            yield each, RESULT_KEYS[each["type"]]
        elif each.get("role") in RESULT_ROLES:
            yield each, RESULT_ROLES[each["role"]]
        elif "resultId" in each:
            yield each, "resultId"
        elif "functionResponse" in each and "id" in each["functionResponse"]:
            yield each["functionResponse"], "id"


def _objects(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
        for key, inner in value.items():
            if key not in NOT_OURS:
                yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)


def texts(value: Any, change: Callable[[str], str]) -> Any:
    """`value` with every text in it changed; the names of fields stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [texts(inner, change) for inner in value]
    if isinstance(value, dict):
        return {key: texts(inner, change) for key, inner in value.items()}
    return value


def by_the_model(item: Json) -> bool:
    """Whether an item is something that the model wrote."""
    return item.get("role") in ("assistant", "model") or item.get("type") in (
        "function_call",
        "reasoning",
    )


def blocks_of(item: Json) -> list[Json]:
    """The blocks of an item: of its content or its parts; [] if it is a text."""
    found = item.get("parts", item.get("content"))
    return found if isinstance(found, list) else []


def is_text(block: Json) -> bool:
    """Whether a block is something that was said, and not thought."""
    return "text" in block and not block.get("thought")


def is_thought(block: Json) -> bool:
    """Whether a block is thinking."""
    return block.get("type") in ("thinking", "redacted_thinking") or bool(block.get("thought"))


def replies(given: Json) -> list[Json]:
    """The replies of a row that are whole; the others go nowhere in either library."""
    return [
        message
        for message in given.get("messages", ())
        if message["role"] == "assistant" and message["stopReason"] not in ("error", "aborted")
    ]


def at_home(given: Json, reply: Json) -> bool:
    """Whether a reply was written by the model that the row's request is for."""
    return (reply["api"], reply["provider"], reply["model"]) == whom(given)


def blocks_given(message: Json) -> list[Json]:
    """The content of a message of a row as blocks."""
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def person_says(key: str, text: str) -> Json:
    """A user message in the form of the list under `key`."""
    if key == "contents":
        return {"role": "user", "parts": [{"text": text}]}
    if key == "input":
        return {"role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"role": "user", "content": text}
