"""A provider that answers as it is asked: in one piece, or in events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shared.provider_server import Answer, Received
from shared.provider_stream import EVENT_STREAM, sse, stream_of

Json = Mapping[str, Any]


def spoken(reply: Json) -> Callable[[Received], Answer]:
    """A reply, given as the JSON of an unstreamed one, for whichever request comes."""

    def answer(received: Received) -> Answer:
        if received.body.get("stream") or ":streamGenerateContent" in received.path:
            return Answer(b"".join(events_of(reply)), content_type=EVENT_STREAM)
        return Answer(reply)

    return answer


def events_of(reply: Json) -> list[bytes]:
    """The reply in events, as its API sends them."""
    if "choices" in reply:
        return stream_of(reply)
    if "candidates" in reply:
        return [sse(reply)]
    events = message_events(reply) if reply.get("type") == "message" else response_events(reply)
    return [f"event: {event['type']}\n".encode() + sse(event) for event in events]


def message_events(reply: Json) -> Iterator[dict[str, Any]]:
    """A message of Anthropic, each of its blocks in one piece."""
    begun = {**reply, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(reply["content"]):
        about = {"index": index}
        if block["type"] == "tool_use":
            said = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            empty = {**block, "input": {}}
        else:
            said = {"type": "text_delta", "text": block["text"]}
            empty = {**block, "text": ""}
        yield {"type": "content_block_start", **about, "content_block": empty}
        yield {"type": "content_block_delta", **about, "delta": said}
        yield {"type": "content_block_stop", **about}
    yield {"type": "message_delta", "delta": {"stop_reason": reply["stop_reason"]}}
    yield {"type": "message_stop"}


def response_events(reply: Json) -> Iterator[dict[str, Any]]:
    """A response of OpenAI, each of its items in one piece."""
    yield {"type": "response.created", "response": {**reply, "output": [], "status": "in_progress"}}
    for index, item in enumerate(reply["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": reply}
