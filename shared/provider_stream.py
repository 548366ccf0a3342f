"""How a scripted provider streams: the events of OpenAI Chat Completions, for a reply as JSON.

Answer(InPieces(stream_of(completion(text="Hello"))), content_type=EVENT_STREAM)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shared.provider_server import Answer, Ending, InPieces

EVENT_STREAM = "text/event-stream"
DONE = b"data: [DONE]\n\n"


def sse(event: Any) -> bytes:
    """One event as it is sent."""
    return f"data: {json.dumps(event)}\n\n".encode()


def streamed(*pieces: Any, ending: Ending = Ending.WHOLE) -> Answer:
    """An answer of events. `pieces` are bytes, and functions to be called between them."""
    return Answer(InPieces(pieces), content_type=EVENT_STREAM, ending=ending)


def stream_of(reply: Mapping[str, Any], *, step: int = 8) -> list[bytes]:
    """The events of a reply that is given in one piece, as `completion` makes it.

    First all text and the arguments of all calls, `step` characters an event, then the finish
    reason, the usage, and the sign of the end: an event each.
    """
    choice = reply["choices"][0]
    deltas = [{"role": "assistant", "content": ""}, *deltas_of(choice["message"], step)]
    usage = {"choices": [], "usage": reply["usage"]}
    return [
        *(sse(chunk(delta)) for delta in deltas),
        sse(chunk({}, finish=choice["finish_reason"])),
        sse(chunk({}) | usage),
        DONE,
    ]


def deltas_of(message: Mapping[str, Any], step: int) -> Iterator[dict[str, Any]]:
    """What each event adds to a message."""
    for text in pieces_of(message["content"] or "", step):
        yield {"content": text}
    for index, call in enumerate(message.get("tool_calls", ())):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        begun = {**call, "function": {"name": name, "arguments": ""}}
        yield {"tool_calls": [{"index": index, **begun}]}
        for text in pieces_of(arguments, step):
            yield {"tool_calls": [{"index": index, "function": {"arguments": text}}]}


def pieces_of(text: str, step: int) -> Sequence[str]:
    """`text`, cut into pieces of `step` characters."""
    return [text[start : start + step] for start in range(0, len(text), step)]


def chunk(delta: Mapping[str, Any], *, finish: str | None = None) -> dict[str, Any]:
    """The JSON of one event."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1764000000,
        "model": "a-model",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
    }
