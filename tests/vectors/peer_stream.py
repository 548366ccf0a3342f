"""What our accumulators make of the events of a provider, in another agent library's notation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from chapters.ch01.endpoint import Endpoint
from chapters.ch04.provider import Api
from chapters.ch05.adapters import stream_wire_of
from chapters.ch05.preview import Preview
from chapters.ch05.stream_errors import unreadable_event
from chapters.ch05.streaming import StreamingModel
from shared.errors import ProviderError
from shared.events import (
    Event,
    ReplyEnded,
    ReplyStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ThinkingDelta,
    ThinkingEnded,
    ThinkingStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallStarted,
)
from shared.messages import (
    AssistantMessage,
    Request,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    Usage,
    UserMessage,
)
from tests.vectors.peer_provider import target_of
from tests.vectors.peer_row import Json, Row

STOPS = {
    StopReason.END_TURN: "stop",
    StopReason.TOOL_USE: "toolUse",
    StopReason.MAX_TOKENS: "length",
}
MINTED = "<minted>"
REDACTED = "[Reasoning redacted]"
PROVIDERS = {
    "openai-completions": "openai",
    "openai-responses": "openai",
    "anthropic-messages": "anthropic",
    "google-generative-ai": "google",
}
BEGUN = {TextStarted: "text", ThinkingStarted: "thinking", ToolCallStarted: "toolcall"}


class Chunks:
    """A provider that sends these events. One that is text is JSON, of whatever kind."""

    endpoint = Endpoint("http://127.0.0.1/v1", "a-key", "a-model")

    def __init__(self, chunks: list[Any]) -> None:
        self._chunks = chunks

    @asynccontextmanager
    async def stream(self, content: bytes) -> AsyncGenerator[AsyncIterator[Json]]:
        """The events, whatever is asked."""
        yield self._events()

    async def _events(self) -> AsyncGenerator[Json]:
        for chunk in self._chunks:
            event = json.loads(chunk) if isinstance(chunk, str) else chunk
            if event is None:
                continue
            if not isinstance(event, dict):
                raise unreadable_event(self.endpoint, "an event of it is no JSON object")
            yield event

    async def aclose(self) -> None:
        """There is nothing to close."""


def outcome(row: Row, expect: Json) -> Json:
    """Events, content, stop reason and the rest, as the row would have them."""
    target = target_of({"provider": PROVIDERS.get(row.given["api"], "?"), **row.given})
    told: list[Event] = []
    model = StreamingModel(
        target,
        stream_wire_of(target.provider.api),
        Chunks(row.given["chunks"]),
        new_id=lambda: MINTED,
    )
    try:
        reply = asyncio.run(model.reply(Request((UserMessage("q"),)), told.append))
    except ProviderError:
        pass  # it is told as well
    else:
        assert told[-1] == ReplyEnded(reply, None)
    notation = Notation(target.provider.api)
    return notation.told(told, expect)


class Notation:
    """The other library's way to write down events and messages, for one API."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def told(self, events: list[Event], expect: Json) -> Json:
        """What was told, with the fields that a row expects."""
        last = events[-1]
        assert isinstance(last, ReplyEnded)
        told: Json = {"events": [self._event(event) for event in events]}
        if last.reply is None:
            error = last.error
            assert isinstance(error, ProviderError)
            told |= {"stopReason": "error", "errorMessage": error.kind}
            told["content"] = self._half(events)
        else:
            told |= self._message(last.reply)
        if "argumentsAfterEachDelta" in expect:
            told["argumentsAfterEachDelta"] = previews(events)
        wanted = {*expect, "events", "stopReason"} | (told.keys() & {"errorMessage"})
        return {name: told.get(name) for name in sorted(wanted)}

    def _event(self, event: Event) -> str:
        match event:
            case ReplyStarted():
                return "start"
            case TextStarted(part) | ThinkingStarted(part) | ToolCallStarted(part):
                return f"{BEGUN[type(event)]}_start@{part}"
            case TextDelta(part, text):
                return f"text_delta@{part}:{text}"
            case ThinkingDelta(part, text):
                return f"thinking_delta@{part}:{text}"
            case ToolCallDelta(part, arguments):
                return f"toolcall_delta@{part}:{self._piece(arguments)}"
            case TextEnded(part, text):
                return f"text_end@{part}:{text}"
            case ThinkingEnded(part, text):
                return f"thinking_end@{part}:{text}"
            case ToolCallEnded(part, call):
                arguments = json.dumps(read(call), separators=(",", ":"))
                return f"toolcall_end@{part}:{self._id(call)}:{call.name}:{arguments}"
            case ReplyEnded(reply, error):
                if reply is None:
                    assert isinstance(error, ProviderError)
                    return f"error:error:{error.kind}"
                return f"done:{STOPS.get(reply.stop, reply.stop)}"
        raise AssertionError(event)

    def _half(self, events: list[Event]) -> list[Json]:
        """What was shown of a reply that is none."""
        blocks: dict[int, Json] = {}
        arriving: dict[int, Preview] = {}
        for event in events:
            match event:
                case TextStarted(part):
                    blocks[part] = {"type": "text", "text": ""}
                case ThinkingStarted(part):
                    blocks[part] = {"type": "thinking", "thinking": ""}
                case ToolCallStarted(part, call_id, name):
                    blocks[part] = {"type": "toolCall", "id": call_id, "name": name}
                    arriving[part] = Preview()
                case TextDelta(part, text):
                    blocks[part]["text"] += text
                case ThinkingDelta(part, text):
                    blocks[part]["thinking"] += text
                case ToolCallDelta(part, arguments):
                    arriving[part].feed(arguments)
                case ToolCallEnded(part, call):
                    blocks[part] |= {"id": self._id(call), "name": call.name}
        for part, preview in arriving.items():
            blocks[part]["arguments"] = preview.whole()
        return [blocks[part] for part in sorted(blocks)]

    def _message(self, reply: AssistantMessage) -> Json:
        message: Json = {
            "content": [self._block(part) for part in reply.content],
            "stopReason": str(STOPS.get(reply.stop, reply.stop)),
        }
        if reply.usage:
            message["usage"] = self._usage(reply.usage)
        return message

    def _usage(self, usage: Usage) -> Json:
        return {
            "input": usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens,
            "output": usage.output_tokens,
            "cacheRead": usage.cached_tokens,
            "cacheWrite": usage.cache_write_tokens,
            "totalTokens": usage.input_tokens + usage.output_tokens,
        }

    def _block(self, part: Text | Thinking | ToolCall) -> Json:
        match part:
            case Text():
                return {"type": "text", "text": part.text} | self._signed("text", part.signature)
            case Thinking():
                block: Json = {"type": "thinking", "thinking": part.text}
                if part.redacted:
                    block |= {"thinking": REDACTED, "redacted": True}
                return block | self._signed("thinking", part.signature)
            case ToolCall():
                block = {
                    "type": "toolCall",
                    "id": self._id(part),
                    "name": part.name,
                    "arguments": read(part),
                }
                signature = "" if self._api is Api.RESPONSES else part.signature
                return block | self._signed("thought", signature)

    def _piece(self, arguments: str) -> str:
        """A piece of arguments. Where they come as an object, blanks are not the model's."""
        if self._api is not Api.GEMINI:
            return arguments
        return json.dumps(json.loads(arguments), separators=(",", ":"), ensure_ascii=False)

    def _id(self, call: ToolCall) -> str:
        """They keep two ids of Responses in one field."""
        composite = self._api is Api.RESPONSES and call.signature
        return f"{call.id}|{call.signature}" if composite else call.id

    def _signed(self, name: str, signature: str) -> Json:
        """A signature; a version stands in theirs of a text of Responses."""
        if not signature:
            return {}
        if self._api is Api.RESPONSES:
            version = {"v": 1} if name == "text" else {}
            signature = json.dumps({**version, **json.loads(signature)}, separators=(",", ":"))
        return {f"{name}Signature": signature}


def read(call: ToolCall) -> Any:
    """The arguments; as the text that they are, if they are no JSON."""
    try:
        return json.loads(call.arguments) if call.arguments.strip() else {}
    except ValueError:
        return call.arguments


def previews(events: list[Event]) -> list[Json]:
    """What could be shown of the arguments after each piece of them."""
    shown: list[Json] = []
    arriving: dict[int, Preview] = {}
    for event in events:
        if isinstance(event, ToolCallDelta):
            preview = arriving.setdefault(event.part, Preview())
            preview.feed(event.arguments)
            shown.append(json.loads(json.dumps(preview.whole())))
    return shown
