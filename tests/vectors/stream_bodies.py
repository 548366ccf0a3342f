"""Bodies of streamed answers, written event by event: one builder for each API."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


def sse(*events: Any, name: str = "") -> str:
    """Events as they are on the wire; text stands as it is. `name` is the field with the name."""
    lines = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event)
        head = f"event: {event[name]}\n" if name and isinstance(event, dict) else ""
        lines.append(f"{head}data: {data}\n\n")
    return "".join(lines)


# Chat Completions


def delta(finish: str | None = None, **fields: Any) -> Json:
    """A chunk with one choice."""
    return {"id": "c", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def piece(arguments: Any = None, name: Any = None, **fields: Any) -> Json:
    """A chunk with a piece of a call; `index` and `id` only if they are given."""
    function = {"name": name, "arguments": arguments}
    present = {key: value for key, value in function.items() if value is not None}
    return delta(tool_calls=[{**fields, "function": present}])


def chat(*chunks: Any, finish: str | None = "tool_calls", done: bool = True) -> bytes:
    """A whole answer; without `finish` nobody says why it ended."""
    ending = [delta(finish)] if finish else []
    return sse(*chunks, *ending, *(["[DONE]"] if done else [])).encode()


# Responses


def responses(*events: Json, response: Json | None = None, end: str = "completed") -> bytes:
    """Events between `response.created` and the last one; without an `end` there is none."""
    ended = {"type": f"response.{end}", "response": {"status": end, **(response or {})}}
    last = [ended] if end else []
    created = {"type": "response.created", "response": {"status": "in_progress", "output": []}}
    return sse(created, *events, *last, name="type").encode()


def added(number: int, **item: Any) -> Json:
    """An item begins."""
    return {"type": "response.output_item.added", "output_index": number, "item": item}


def done(number: int, **item: Any) -> Json:
    """An item is whole."""
    return {"type": "response.output_item.done", "output_index": number, "item": item}


def more(kind: str, number: int, text: str, **fields: Any) -> Json:
    """More of an item."""
    told = {"output_index": number, "content_index": 0, "delta": text}
    return {"type": f"response.{kind}.delta", **told, **fields}


def function(number: int, arguments: str, name: str = "get_time", call: str = "call_1") -> Json:
    """A call as an item, keyword arguments of `added` and `done`."""
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": call,
        "name": name,
        "arguments": arguments,
    }


# Anthropic Messages

MESSAGE: Json = {"type": "message", "role": "assistant", "content": [], "stop_reason": None}
READ = {"input_tokens": 11, "output_tokens": 1}


def anthropic(
    *events: Any, stop: str | None = "end_turn", usage: Any = READ, **fields: Any
) -> bytes:
    """Events between `message_start` and the last two; without a `stop` these are missing."""
    start = {"type": "message_start", "message": {**MESSAGE, "usage": usage}}
    ending: list[Json] = []
    if stop:
        told = {"stop_reason": stop, "stop_sequence": None, **fields}
        ending = [
            {"type": "message_delta", "delta": told, "usage": {"output_tokens": 7}},
            {"type": "message_stop"},
        ]
    return sse(start, *events, *ending, name="type").encode()


def block(index: int, *deltas: Json, **content: Any) -> list[Json]:
    """A whole block: its start, its pieces, its stop."""
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *[{"type": "content_block_delta", "index": index, "delta": each} for each in deltas],
        {"type": "content_block_stop", "index": index},
    ]


def said(index: int, *texts: str) -> list[Json]:
    """A block of text."""
    pieces = [{"type": "text_delta", "text": text} for text in texts]
    return block(index, *pieces, type="text", text="")


def used(index: int, *pieces: str, name: str = "get_time", id: str = "toolu_1") -> list[Json]:  # noqa: A002
    """A block with a call."""
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, *deltas, type="tool_use", id=id, name=name, input={})


# Gemini


def gemini(*chunks: Json) -> bytes:
    """A whole answer."""
    return sse(*chunks).encode()


def parts(*parts: Json, finish: str | None = None, **fields: Any) -> Json:
    """A chunk with parts of the one candidate."""
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **fields}


def calling(name: str, args: Any = None, **fields: Any) -> Json:
    """A part with a call, which comes whole."""
    called = {"name": name} | ({} if args is None else {"args": args})
    return {"functionCall": {**called, **fields}}
