"""Where calls and results stand in the JSON of a request, for each wire format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from chapters.ch04.provider import Api

LONGEST = 34  # characters of a text that is shown


@dataclass(frozen=True, slots=True)
class Item:
    """A call or a result as it is sent. `key` is what pairs the two: an id, or else a name."""

    json: Any
    key: str


def calls_in(api: Api, body: Any) -> list[Item]:
    """The calls of a request, in order."""
    match api:
        case Api.CHAT:
            found = [call for said in body["messages"] for call in said.get("tool_calls", ())]
            return [Item(call, call["id"]) for call in found]
        case Api.RESPONSES:
            return [Item(each, each["call_id"]) for each in _items(body, "function_call")]
        case Api.ANTHROPIC:
            return [Item(block, block["id"]) for block in _blocks(body, "tool_use")]
        case Api.GEMINI:
            return [Item(each, each["functionCall"]["name"]) for each in _parts(body, "Call")]


def results_in(api: Api, body: Any) -> list[Item]:
    """The results of a request, in order."""
    match api:
        case Api.CHAT:
            found = [said for said in body["messages"] if said["role"] == "tool"]
            return [Item(said, said["tool_call_id"]) for said in found]
        case Api.RESPONSES:
            return [Item(each, each["call_id"]) for each in _items(body, "function_call_output")]
        case Api.ANTHROPIC:
            return [Item(block, block["tool_use_id"]) for block in _blocks(body, "tool_result")]
        case Api.GEMINI:
            parts = _parts(body, "Response")
            return [Item(part, part["functionResponse"]["name"]) for part in parts]


def holding(value: Any, words: str) -> list[Any]:
    """The innermost objects that hold `words` in one of their texts, wherever they are."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and any(isinstance(v, str) and words in v for v in inner):
        return [value]
    return [found for each in inner for found in holding(each, words)]


def brief(item: Any) -> str:
    """JSON on one line, with the end of every long text left out."""
    return json.dumps(_shortened(item), ensure_ascii=False)


def _items(body: Any, kind: str) -> list[Any]:
    return [item for item in body["input"] if item.get("type") == kind]


def _blocks(body: Any, kind: str) -> Iterator[Any]:
    for said in body["messages"]:
        if isinstance(said["content"], list):
            yield from [block for block in said["content"] if block["type"] == kind]


def _parts(body: Any, kind: str) -> list[Any]:
    parts = [part for content in body["contents"] for part in content["parts"]]
    return [part for part in parts if f"function{kind}" in part]


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…"
    if isinstance(value, dict):
        return {name: _shortened(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_shortened(inner) for inner in value]
    return value
